"""Whether a dataset's folder is the one that it was built from: moved along with its settings, or another one."""

from __future__ import annotations

from pathlib import Path, PurePath

from overstory.errors import SettingsError
from overstory.record import Record
from overstory.settings import Dataset


def followed(known: PurePath, relative: str | None) -> bool:
    """Whether a relative source could have been ``known``, when ``overstory.toml`` lay elsewhere.

    Args:
        known: The folder that the dataset was built from.
        relative: The source as ``overstory.toml`` spells it; None where it is no path relative to that file.
    """
    if relative is None:
        return False
    parts: list[str] = []
    for part in PurePath(relative).parts:
        if part == ".." and parts:
            parts.pop()
        elif part != "..":
            parts.append(part)
    return not parts or known.parts[-len(parts) :] == tuple(parts)


def settle_source(record: Record, dataset: Dataset) -> str | None:
    """The folder that the dataset has moved from along with its settings; None if the record has it where it is.

    Raises:
        SettingsError: The record has the dataset from another folder.
    """
    known = record.source(dataset.name)
    if known is None or known == dataset.source:
        return None
    if followed(PurePath(known), dataset.relative_source) and _gone(Path(known)):
        return known
    raise SettingsError(
        f"Dataset '{dataset.name}' is built from {known}, not from {dataset.source}",
        hint=f"If that folder has moved here: overstory build {dataset.source} --dataset {dataset.name} --moved; "
        "if it is another one, give it another name with --dataset"
        if Path(dataset.source).exists()
        else f"There is nothing at {dataset.source}: correct 'source' in overstory.toml, or name the right folder",
    )


def ensure_dataset(record: Record, dataset: Dataset) -> None:
    """Make the dataset in the record, or follow it to the place that it has moved to along with its settings.

    Raises:
        SettingsError: The record has the dataset from another folder.
    """
    if settle_source(record, dataset) is not None:
        record.relocate(dataset.name, dataset.source)
    record.ensure_dataset(dataset.name, dataset.source)


def _gone(folder: Path) -> bool:
    """Whether nothing is there; a folder that is closed to this user may well be there."""
    try:
        folder.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
