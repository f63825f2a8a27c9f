"""The invariants as checks of quality see them; the core states and tests them."""

from __future__ import annotations

from overstory.building.invariants import Invariant, Violation, violations

__all__ = ["Invariant", "Violation", "violations"]
