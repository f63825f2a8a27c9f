"""Vectors of texts, and the ledger of what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from overstory.building.context import BuildContext
from overstory.ports import Metered

if TYPE_CHECKING:
    from overstory.ports import Vectors


def embed(ctx: BuildContext, texts: Sequence[str]) -> Vectors:
    """The vectors of texts; calls to an endpoint go into the ledger, failed ones too."""
    try:
        return ctx.embedder.embed(texts)
    finally:
        if isinstance(ctx.embedder, Metered) and (calls := ctx.embedder.take_calls()):
            ctx.record.ledger.add(ctx.name, ctx.run_id, calls)
