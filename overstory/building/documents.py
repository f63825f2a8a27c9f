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
    ctx.record.ensure_dataset(ctx.name, ctx.dataset.source)
    scan = compare(ctx, shards)
    report.notes += scan.notes
    _remove(ctx, scan.gone, report)
    if scan.moves:
        ctx.record.documents.move(scan.moves)
    done = 0
    for batch in extracted(ctx, scan):
        with ctx.record.transaction() as record:
            record.documents.save_scan(ctx.name, batch)
        done += len(batch)
        ctx.progress(STAGE, done, len(scan.changed))
        for item in batch:
            _count(report, item)
    for row in scan.unchanged:
        if row.failure:
            report.fail(row.shard, row.id, f"{row.path}: {row.failure}", UNREADABLE)
        else:
            report.shards[row.shard].unchanged += 1
    return report


def _count(report: StageReport, item: ScannedDocument) -> None:
    if item.row.failure:
        report.fail(item.row.shard, item.row.id, f"{item.row.path}: {item.row.failure}", UNREADABLE)
    elif item.text is None:
        report.shards[item.row.shard].unchanged += 1
    else:
        report.shards[item.row.shard].written += 1


def compare(ctx: BuildContext, shards: Collection[int] | None = None) -> Scan:
    """What differs between the source and the record; reads bytes, writes nothing."""
    files = ctx.source.files()
    known = ctx.record.documents.rows(ctx.name)
    wanted = None if shards is None else set(shards)
    scan = Scan({row.path: row for row in known if wanted is None or row.shard in wanted})
    ids = {row.id for row in known}
    elsewhere = {row.path for row in known} - set(scan.rows)
    present = {file.path for file in files}
    missing = [row for path, row in scan.rows.items() if path not in present and ctx.chosen(row.id)]
    if missing and not files:
        scan.notes.append(f"The source lists no document at all: {len(missing)} deletions were withheld")
        missing = []
    by_bytes: dict[str, list[DocumentRow]] = defaultdict(list)
    for row in missing:
        by_bytes[row.raw_hash].append(row)
    for file in files:
        if file.path in elsewhere:
            continue
        row = scan.rows.get(file.path) or _new_row(ctx.name, file.path, ids)
        if (wanted is None or row.shard in wanted) and ctx.chosen(row.id):
            scan.paths.append(file.path)
            _compare_file(ctx, scan, row, by_bytes)
    scan.gone = [row for row in missing if row.id not in scan.moves]
    return scan


def _compare_file(ctx: BuildContext, scan: Scan, row: DocumentRow, by_bytes: dict[str, list[DocumentRow]]) -> None:
    """Sort one file into the scan: unchanged, moved from a missing path, or changed."""
    try:
        raw_hash = _hash(ctx.source.read(row.path))
    except ExtractionError as error:
        unread = _unread(row, error)
        (scan.unchanged if unread == row else scan.changed).append(unread)
        return
    if row.raw_hash == raw_hash:
        scan.unchanged.append(row)
    elif row.path not in scan.rows and by_bytes.get(raw_hash):
        former = by_bytes[raw_hash].pop(0)
        scan.moves[former.id] = row.path
        scan.changed.append(replace(former, path=row.path))
    else:
        scan.changed.append(replace(row, raw_hash=raw_hash, failure=None))


def _hash(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _unread(row: DocumentRow, error: ExtractionError) -> DocumentRow:
    """A document whose bytes cannot be had: no hash, so that it is tried again in every build."""
    return replace(row, raw_hash="", failure=str(error))


def _new_row(dataset: str, path: str, ids: set[DocumentId]) -> DocumentRow:
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
    """Take documents out of every store, vectors first named, in one transaction."""
    if not rows:
        return
    ids = [row.id for row in rows]
    with ctx.record.transaction() as record:
        nodes = [*record.leaves.known(ids), *record.summaries.purge(ids)]
        record.vectors.delete(ctx.name, nodes)
        record.documents.delete(ids)
    for row in rows:
        report.shards[row.shard].deleted += 1
