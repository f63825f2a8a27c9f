"""Documents: compare the source with the record, and keep what changed as new versions."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from overstory.building.context import BuildContext, timed
from overstory.building.report import StageReport
from overstory.errors import ExtractionError
from overstory.extraction import Extracted, Extractor, extract_document
from overstory.identity import DocumentId, content_hash, document_id, shard_of
from overstory.parallel import map_batches
from overstory.record import DocumentRow, ScannedDocument
from overstory.relocation import ensure_dataset

BATCH_DOCUMENTS = 16
"""Of a large build 64 batches of bytes are in memory at once (``parallel``)."""

STAGE = "documents"
UNREADABLE = "document: unreadable"


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
    """New, edited, moved or no longer readable; their bytes are read again when it is their turn."""
    unchanged: list[DocumentRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@timed
def sync_documents(ctx: BuildContext, shards: Collection[int] | None = None) -> StageReport:
    """Bring the record's documents in line with the source; texts that changed become new versions."""
    report = StageReport(STAGE)
    scan = compare(ctx, shards)
    ensure_dataset(ctx.record, ctx.dataset)
    report.notes += scan.notes
    _remove(ctx, scan.gone, report)
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


def identify(ctx: BuildContext) -> Identified:
    """Which document each path of the source is.

    A path that is gone while its bytes turned up under an unknown path is a move; only then are bytes read here.
    """
    files = ctx.source.files()
    known = {row.id: row for row in ctx.record.documents.rows(ctx.name)}
    by_path = {row.path: row for row in known.values()}
    present = {file.path for file in files}
    lost = {path: row for path, row in by_path.items() if path not in present}
    by_bytes: dict[str, list[DocumentRow]] = defaultdict(list)
    for row in lost.values():
        by_bytes[row.raw_hash].append(row)
    rows: dict[str, DocumentRow] = {}
    for file in files:
        owner = by_path.get(file.path) or (_moved_here(ctx, file.path, by_bytes) if lost else None)
        rows[file.path] = replace(owner, path=file.path) if owner else _new_row(ctx.name, file.path, known)
    placed = {row.id for row in rows.values()}
    return Identified(rows, known, tuple(row for row in lost.values() if row.id not in placed))


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
    scan.gone = [row for row in found.missing if concerned(row)]
    if scan.gone and not found.rows:
        scan.notes.append(f"The source lists no document at all: {len(scan.gone)} deletions were withheld")
        scan.gone = []
    for path, row in found.rows.items():
        if concerned(row):
            scan.paths.append(path)
            _compare_file(ctx, scan, row, found.known.get(row.id))
    return scan


def _compare_file(ctx: BuildContext, scan: Scan, row: DocumentRow, stored: DocumentRow | None) -> None:
    """Sort one file into the scan; one that failed before is tried again."""
    if stored is not None and stored.path != row.path:
        scan.moves[row.id] = row.path
    try:
        row = replace(row, raw_hash=_hash(ctx.source.read(row.path)), failure=None)
    except ExtractionError as error:
        row = _unread(row, error)
    (scan.unchanged if row == stored else scan.changed).append(row)


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
    for results in map_batches(extract, _batches(ctx, scan.changed), workers=ctx.workers):
        yield [_scanned(row, result) for row, result in results]


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


def _scanned(row: DocumentRow, result: Extracted | str) -> ScannedDocument:
    if isinstance(result, str):
        return ScannedDocument(replace(row, failure=result), None)
    new_hash = content_hash(result.text)
    same = new_hash == row.content_hash
    row = replace(row, content_hash=new_hash, title=result.title, media_type=result.media_type)
    return ScannedDocument(row, None if same else result.text)


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
