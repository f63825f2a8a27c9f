"""Stores of vector indexes by name: whatever installed packages offer in the group ``overstory.vector_indexes``."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

from overstory.errors import SettingsError
from overstory.vector_index import Opening, VectorIndexes

GROUP = "overstory.vector_indexes"


def open_vector_indexes(name: str, opening: Opening, points: Iterable[EntryPoint] | None = None) -> VectorIndexes:
    """The store called ``name``; ``points`` are by default those of all installed packages.

    Raises:
        SettingsError: No package, or more than one, offers a store of that name, or it cannot be imported.
        StoreUnavailable: The store does not answer.
    """
    offered = list(entry_points(group=GROUP) if points is None else points)
    named = {point.value: point for point in offered if point.name == name}
    if len(named) != 1:
        known = ", ".join(sorted({point.name for point in offered})) or "none"
        count = "No package offers" if not named else "Several packages offer"
        raise SettingsError(f"{count} a vector index called '{name[:80]}'", hint=f"Known are: {known}")
    (point,) = named.values()
    try:
        opener = point.load()
    except (ImportError, AttributeError) as error:
        raise SettingsError(
            f"The vector index '{name}' cannot be loaded: {error}", hint="Install the package that it needs"
        ) from error
    opened: VectorIndexes = opener(opening)
    return opened
