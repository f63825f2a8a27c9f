"""Documents: compare the source with the record, and keep what changed as new versions."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from overstory.building.context import BuildContext, timed
from overstory.building.report import Problem, StageReport
from overstory.deletions import note, withheld
from overstory.errors import ExtractionError
from overstory.extraction import Extracted, Extractor, extract_document, extraction_recipe
from overstory.freshness import Cause
from overstory.identity import DocumentId, content_hash, document_id, shard_of
from overstory.parallel import map_batches
from overstory.ports import ClosedFolder
from overstory.record import DocumentRow, ScannedDocument
from overstory.relocation import ensure_dataset

BATCH_DOCUMENTS = 16
"""Of a large build 64 batches of bytes are in memory at once (``parallel``)."""

STAGE = "documents"
UNREADABLE = "document: unreadable"
UNLISTED = "folder: cannot be listed"


@dataclass(slots=True)
class Scan:
    """What differs between the source and the record, found without writing."""

    rows: dict[str, DocumentRow]
    """Known documents of the shards, by path."""
    paths: list[str] = field(default_factory=list)
    """Paths of the source that belong to the shards."""
    moves: dict[DocumentId, str] = field(default_factory=dict)
    gone: list[DocumentRow] = field(default_factory=list)
    changed: list[DocumentRow] = field(default_factory=list)
    """New, edited, moved, no longer readable or to be read by another extractor; each is read when it is its turn."""
    unchanged: list[DocumentRow] = field(default_factory=list)
    reread: list[DocumentRow] = field(default_factory=list)
    """Those of the changed whose bytes are the same: another extractor may make another text of them."""
    withheld: frozenset[DocumentId] = frozenset()
    """Missing documents of the dataset, whatever the shards, that are to be noted as such and not deleted."""
    closed: tuple[ClosedFolder, ...] = ()
    notes: list[str] = field(default_factory=list)


@timed
def sync_documents(ctx: BuildContext, shards: Collection[int] | None = None) -> StageReport:
    """Bring the record's documents in line with the source; texts that changed become new versions."""
    report = StageReport(STAGE)
    scan = compare(ctx, shards)
    ensure_dataset(ctx.record, ctx.dataset)
    report.notes += scan.notes
    report.problems += [Problem(ctx.name, _closed(folder), UNLISTED) for folder in scan.closed]
    _remove(ctx, scan.gone, report)
    if scan.withheld != ctx.record.documents.withheld(ctx.name).keys():
        ctx.record.documents.withhold(ctx.name, scan.withheld)
    if scan.moves:
        ctx.record.documents.move(scan.moves)
    done = 0
    for batch in extracted(ctx, scan):
        differing = [item for item in batch if item.text is not None or item.row != scan.rows.get(item.row.path)]
        if differing:
            with ctx.record.transaction() as record:
                record.documents.save_scan(ctx.name, differing)
        done += len(batch)
        ctx.progress(STAGE, done, len(scan.changed))
        for item in batch:
            _count(report, item)
    for row in scan.unchanged:
        if row.failure:
            report.fail(row.shard, row.id, row.failure, UNREADABLE)
        else:
            report.shards[row.shard].unchanged += 1
    return report


def _count(report: StageReport, item: ScannedDocument) -> None:
    if item.row.failure:
        report.fail(item.row.shard, item.row.id, item.row.failure, UNREADABLE)
    elif item.text is None:
        report.shards[item.row.shard].unchanged += 1
    else:
        report.shards[item.row.shard].written += 1


@dataclass(frozen=True, slots=True)
class Identified:
    """Which document each path of the source is, whatever shards or documents a build is limited to."""

    rows: dict[str, DocumentRow]
    """By path of the source; a moved document under its new path, an unknown one with the id that it will have."""
    known: dict[DocumentId, DocumentRow]
    """As the record has them."""
    missing: tuple[DocumentRow, ...]
    """Known documents whose path is gone and whose bytes stand nowhere else."""
    closed: tuple[ClosedFolder, ...]
    """Documents known beneath these are in ``rows``: they cannot be read, and nobody knows that they are gone."""


def identify(ctx: BuildContext) -> Identified:
    """Which document each path of the source is.

    A path that is gone while its bytes turned up under an unknown path is a move; only then are bytes read here.
    """
    files, closed = ctx.source.files(), tuple(ctx.source.closed_folders())
    known = {row.id: row for row in ctx.record.documents.rows(ctx.name)}
    by_path = {row.path: row for row in known.values()}
    beneath = tuple(f"{folder.path}/" for folder in closed)
    present = {file.path for file in files} | {path for path in by_path if path.startswith(beneath)}
    lost = {path: row for path, row in by_path.items() if path not in present}
    by_bytes: dict[str, list[DocumentRow]] = defaultdict(list)
    for row in lost.values():
        by_bytes[row.raw_hash].append(row)
    rows: dict[str, DocumentRow] = {}
    for path in sorted(present):
        owner = by_path.get(path) or (_moved_here(ctx, path, by_bytes) if lost else None)
        rows[path] = replace(owner, path=path) if owner else _new_row(ctx.name, path, known)
    placed = {row.id for row in rows.values()}
    return Identified(rows, known, tuple(row for row in lost.values() if row.id not in placed), closed)


def _moved_here(ctx: BuildContext, path: str, by_bytes: dict[str, list[DocumentRow]]) -> DocumentRow | None:
    """The missing document with the bytes that now stand at an unknown path."""
    try:
        former = by_bytes.get(_hash(ctx.source.read(path)))
    except ExtractionError:
        return None  # Comes up again, as a failure, when the document itself is compared.
    return former.pop(0) if former else None


def compare(ctx: BuildContext, shards: Collection[int] | None = None) -> Scan:
    """What differs between the source and the record; reads bytes, writes nothing."""
    wanted = None if shards is None else set(shards)

    def concerned(row: DocumentRow) -> bool:
        return (wanted is None or row.shard in wanted) and ctx.chosen(row.id)

    found = identify(ctx)
    scan = Scan({row.path: row for row in found.known.values() if concerned(row)})
    _sort_missing(ctx, scan, found, concerned)
    for path, row in found.rows.items():
        if concerned(row):
            scan.paths.append(path)
            _compare_file(ctx, scan, row, found.known.get(row.id))
    spoken, wanted_language = ctx.record.leaves.language(ctx.name), ctx.dataset.retrieval.language
    if spoken not in (None, wanted_language):
        scan.notes.append(f"new language: full text in '{spoken}' is indexed in '{wanted_language}', without a call")
    if scan.reread:
        recipes = sorted({extraction_recipe(row.media_type, ctx.extractor) for row in scan.reread})
        scan.notes.append(
            f"{Cause.NEW_EXTRACTOR} ({', '.join(recipes)}): {len(scan.reread):,} documents are read again"
        )
    return scan


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


def confirm_deletions(ctx: BuildContext) -> int:
    """Approve of the deletion of every document that the source no longer lists; returns their number.

    The next build deletes them, unless they are back by then.
    """
    missing = [row.id for row in identify(ctx).missing]
    ctx.record.documents.withhold(ctx.name, missing, approved=True)
    return len(missing)


def _closed(folder: ClosedFolder) -> str:
    return f"The folder '{folder.path}' cannot be listed: {folder.reason}. Mend its permissions"


def _compare_file(ctx: BuildContext, scan: Scan, row: DocumentRow, stored: DocumentRow | None) -> None:
    """Sort one file into the scan; one that failed before is tried again."""
    if stored is not None and stored.path != row.path:
        scan.moves[row.id] = row.path
    try:
        row = replace(row, raw_hash=_hash(ctx.source.read(row.path)), failure=None)
    except ExtractionError as error:
        row = _unread(row, error)
    if row != stored:
        scan.changed.append(row)
    elif row.failure is None and row.extraction_recipe != extraction_recipe(row.media_type, ctx.extractor):
        scan.changed.append(row)
        scan.reread.append(row)
    else:
        scan.unchanged.append(row)


def _hash(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _unread(row: DocumentRow, error: ExtractionError) -> DocumentRow:
    """A document whose bytes cannot be had: no hash, so that it is tried again in every build."""
    return replace(row, raw_hash="", failure=str(error))


def _new_row(dataset: str, path: str, ids: Collection[DocumentId]) -> DocumentRow:
    """A document never seen; the id of a path whose first owner moved away is salted."""
    salt = 0
    new = document_id(dataset, path)
    while new in ids:
        salt += 1
        new = document_id(dataset, path, str(salt))
    return DocumentRow(new, path, shard_of(new), "", None, None, None, 0)


def extracted(ctx: BuildContext, scan: Scan) -> Iterator[list[ScannedDocument]]:
    """The changed documents with their texts, in batches; failures become the document's state."""
    extract = partial(_extract_batch, extractor=ctx.extractor, max_bytes=ctx.dataset.max_document_bytes)
    former = {row.id: row.raw_hash for row in scan.rows.values()}
    for results in map_batches(extract, _batches(ctx, scan.changed), workers=ctx.workers):
        yield [_scanned(row, result, ctx.extractor, former.get(row.id)) for row, result in results]


def _batches(ctx: BuildContext, changed: Sequence[DocumentRow]) -> Iterator[list[tuple[DocumentRow, bytes]]]:
    for start in range(0, len(changed), BATCH_DOCUMENTS):
        yield [_with_bytes(ctx, row) for row in changed[start : start + BATCH_DOCUMENTS]]


def _with_bytes(ctx: BuildContext, row: DocumentRow) -> tuple[DocumentRow, bytes]:
    """A document with the bytes that it has by now."""
    if not row.raw_hash:
        return row, b""
    try:
        raw = ctx.source.read(row.path)
    except ExtractionError as error:
        return _unread(row, error), b""
    return replace(row, raw_hash=_hash(raw), failure=None), raw


def _extract_batch(
    batch: list[tuple[DocumentRow, bytes]], *, extractor: Extractor, max_bytes: int
) -> list[tuple[DocumentRow, Extracted | str]]:
    return [(row, row.failure or _extract(row.path, raw, extractor, max_bytes)) for row, raw in batch]


def _extract(path: str, raw: bytes, extractor: Extractor, max_bytes: int) -> Extracted | str:
    try:
        return extract_document(path, raw, extractor=extractor, max_bytes=max_bytes)
    except ExtractionError as error:
        return str(error)


def _scanned(row: DocumentRow, result: Extracted | str, extractor: Extractor, former: str | None) -> ScannedDocument:
    """What a document's text has become; ``former`` is the hash of the bytes that it had before."""
    if isinstance(result, str):
        return ScannedDocument(replace(row, failure=result), None)
    new_hash = content_hash(result.text)
    same = new_hash == row.content_hash
    row = replace(
        row,
        content_hash=new_hash,
        title=result.title,
        media_type=result.media_type,
        extraction_recipe=extraction_recipe(result.media_type, extractor),
    )
    return ScannedDocument(row, None) if same else ScannedDocument(row, result.text, row.raw_hash == former)


def _remove(ctx: BuildContext, rows: list[DocumentRow], report: StageReport) -> None:
    """Take documents out of every store in one transaction, with the clusters that are left empty."""
    if not rows:
        return
    ids = [row.id for row in rows]
    with ctx.record.transaction() as record:
        nodes = [*record.leaves.known(ids), *record.summaries.purge(ids)]
        record.vectors.delete(ctx.name, [*nodes, *record.documents.delete(ids)])
    for row in rows:
        report.shards[row.shard].deleted += 1
