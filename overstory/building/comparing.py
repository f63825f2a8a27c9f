"""What differs between a source and the record: found by the bytes or by size and time, without writing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from overstory.building.context import BuildContext
from overstory.deletions import note, withheld
from overstory.errors import ExtractionError
from overstory.extraction import extraction_recipe
from overstory.freshness import Cause
from overstory.identity import DocumentId, document_id, shard_of
from overstory.moves import owners
from overstory.ports import ClosedFolder, FileState, SourceFile
from overstory.purges import left_out, place_of
from overstory.record import DocumentRow

Hashes = dict[tuple[str, FileState], str]
"""Hashes of bytes that were read, by path, size and time."""


@dataclass(slots=True)
class Scan:
    """What differs between the source and the record."""

    rows: dict[str, DocumentRow]
    """Known documents of the shards, by path."""
    paths: list[str] = field(default_factory=list)
    """Paths of the source that belong to the shards."""
    moves: dict[DocumentId, str] = field(default_factory=dict)
    gone: list[DocumentRow] = field(default_factory=list)
    changed: list[DocumentRow] = field(default_factory=list)
    """New, edited, moved, no longer readable or to be read by another extractor; each is read when it is its turn."""
    unchanged: list[DocumentRow] = field(default_factory=list)
    emptied: list[DocumentRow] = field(default_factory=list)
    """Those of the changed in which no text is left: known once they are read."""
    reread: list[DocumentRow] = field(default_factory=list)
    """Those of the changed whose bytes are the same: another extractor may make another text of them."""
    touched: list[DocumentRow] = field(default_factory=list)
    """Those of the unchanged whose size or time is not the one in the record."""
    withheld: frozenset[DocumentId] = frozenset()
    """Missing documents of the dataset, whatever the shards, that are to be noted as such and not deleted."""
    closed: tuple[ClosedFolder, ...] = ()
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Identified:
    """Which document each path of the source is, whatever shards or documents a build is limited to."""

    rows: dict[str, DocumentRow]
    """By path of the source; with its hash and file as they are now, a moved document under its new path, an unknown
    one with the id that it will have."""
    known: dict[DocumentId, DocumentRow]
    """As the record has them."""
    missing: tuple[DocumentRow, ...]
    """Known documents whose path is gone and whose bytes stand nowhere else."""
    closed: tuple[ClosedFolder, ...]
    """Documents known beneath these are in ``rows``: they cannot be read, and nobody knows that they are gone."""
    purged: int = 0
    """Files of the source that are not looked at, since their documents were purged."""


def compare(
    ctx: BuildContext, shards: Collection[int] | None = None, *, trusting: bool = False, hashes: Hashes | None = None
) -> Scan:
    """What differs between the source and the record; reads bytes, writes nothing.

    Args:
        ctx: Of the dataset.
        shards: Only their documents; all of them by default.
        trusting: Take a file of the same size and time for the same bytes, as a sensor does between full scans.
        hashes: Of bytes read before, so that a file that was only touched is read once; more are added.
    """
    wanted = None if shards is None else set(shards)

    def concerned(row: DocumentRow) -> bool:
        return (wanted is None or row.shard in wanted) and ctx.chosen(row.id)

    found = identify(ctx, trusting=trusting, hashes=hashes)
    scan = Scan({row.path: row for row in found.known.values() if concerned(row)})
    _sort_missing(ctx, scan, found, concerned)
    for path, row in found.rows.items():
        if concerned(row):
            scan.paths.append(path)
            _sort(ctx, scan, row, found.known.get(row.id))
    _note(ctx, scan, found.purged)
    return scan


def identify(ctx: BuildContext, *, trusting: bool = True, hashes: Hashes | None = None) -> Identified:
    """Which document each path of the source is; reads the bytes of files whose size or time has changed.

    Args:
        ctx: Of the dataset.
        trusting: Read these only, not all files.
        hashes: Of bytes read before; more are added.
    """
    listed, closed = ctx.source.files(), tuple(ctx.source.closed_folders())
    purged = {document.place for document in ctx.record.purges.all(ctx.name)}
    files = [file for file in listed if not purged or place_of(ctx.name, file.path) not in purged]
    known = {row.id: row for row in ctx.record.documents.rows(ctx.name)}
    by_path = {row.path: row for row in known.values()}
    remembered = {} if hashes is None else hashes
    looked = {file.path: _look(ctx, file, by_path.get(file.path), remembered, trusting=trusting) for file in files}
    beneath = tuple(f"{folder.path}/" for folder in closed)
    looked |= {path: _read(ctx, path, row.file) for path, row in by_path.items() if path.startswith(beneath)}
    placed = owners(
        {path: (row.id, row.raw_hash) for path, row in by_path.items()},
        {path: look.raw_hash for path, look in looked.items()},
    )
    rows = {}
    for path, look in sorted(looked.items()):
        row = known[placed[path]] if path in placed else _new_row(ctx.name, path, known)
        rows[path] = replace(row, path=path, raw_hash=look.raw_hash, failure=look.failure, file=look.file)
    here = {row.id for row in rows.values()}
    missing = tuple(row for row in by_path.values() if row.id not in here)
    return Identified(rows, known, missing, closed, len(listed) - len(files))


@dataclass(frozen=True, slots=True)
class _Look:
    """What is at a path."""

    file: FileState | None
    raw_hash: str
    """Empty where the bytes cannot be had, so that they are tried again in every build."""
    failure: str | None = None


def _look(ctx: BuildContext, file: SourceFile, stored: DocumentRow | None, hashes: Hashes, *, trusting: bool) -> _Look:
    if trusting and stored is not None and stored.file == file.state and stored.raw_hash:
        return _Look(file.state, stored.raw_hash, stored.failure)
    if trusting and (file.path, file.state) in hashes:
        return _Look(file.state, hashes[file.path, file.state])
    return _read(ctx, file.path, file.state, hashes)


def _read(ctx: BuildContext, path: str, state: FileState | None, hashes: Hashes | None = None) -> _Look:
    try:
        raw_hash = hash_bytes(ctx.source.read(path))
    except ExtractionError as error:
        return _Look(state, "", str(error))
    if hashes is not None and state is not None:
        hashes[path, state] = raw_hash
    return _Look(state, raw_hash)


def hash_bytes(raw: bytes) -> str:
    """SHA-256 of a file's bytes, in hexadecimal digits."""
    return hashlib.sha256(raw).hexdigest()


def _sort(ctx: BuildContext, scan: Scan, row: DocumentRow, stored: DocumentRow | None) -> None:
    """Sort one file into the scan; one whose bytes could not be had, or made no text, is tried again."""
    if stored is not None and stored.path != row.path:
        scan.moves[row.id] = row.path
    if stored is None or row != stored:
        scan.changed.append(row)
    elif row.failure is None and row.extraction_recipe != extraction_recipe(row.media_type, ctx.extractor):
        scan.changed.append(row)
        scan.reread.append(row)
    else:
        scan.unchanged.append(row)
        if row.file != stored.file:
            scan.touched.append(row)


def _sort_missing(ctx: BuildContext, scan: Scan, found: Identified, concerned: Callable[[DocumentRow], bool]) -> None:
    """Sort missing documents into those that go and those that stay, and tell of what stays."""
    missing = {row.id for row in found.missing}
    noted = ctx.record.documents.withheld(ctx.name)
    approved = {document for document, yes in noted.items() if yes}
    known, listed = len(found.known), len(found.rows)
    kept = withheld(missing, noted, approved, known=known, listed=listed, settings=ctx.dataset.deletions)
    scan.gone = [row for row in found.missing if row.id not in kept and concerned(row)]
    scan.withheld = kept | ((approved & missing) - {row.id for row in scan.gone})
    scan.closed = found.closed
    if kept:
        scan.notes.append(note(len(kept), known))
    if found.closed:
        scan.notes.append(f"{len(found.closed):,} folders cannot be listed: what is known beneath them stays")


def _note(ctx: BuildContext, scan: Scan, purged: int) -> None:
    """Tell what is left out, what is made again without an edit, and which patterns of the settings choose nothing."""
    if purged:
        scan.notes.append(left_out(purged))
    scan.notes += [f"pattern '{pattern}' matches nothing in the source" for pattern in ctx.source.unused_patterns()]
    spoken, wanted_language = ctx.record.leaves.language(ctx.name), ctx.dataset.retrieval.language
    if spoken not in (None, wanted_language):
        scan.notes.append(f"new language: full text in '{spoken}' is indexed in '{wanted_language}', without a call")
    if scan.reread:
        recipes = sorted({extraction_recipe(row.media_type, ctx.extractor) for row in scan.reread})
        scan.notes.append(
            f"{Cause.NEW_EXTRACTOR} ({', '.join(recipes)}): {len(scan.reread):,} documents are read again"
        )


def _new_row(dataset: str, path: str, ids: Collection[DocumentId]) -> DocumentRow:
    """A document never seen; the id of a path whose first owner moved away is salted."""
    salt = 0
    new = document_id(dataset, path)
    while new in ids:
        salt += 1
        new = document_id(dataset, path, str(salt))
    return DocumentRow(new, path, shard_of(new), "", None, None, None, 0)
