"""Documents: compare the source with the record, and keep what changed as new versions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

from overstory.building.comparing import Scan, compare, hash_bytes, identify
from overstory.building.context import BuildContext, timed
from overstory.building.report import Problem, StageReport
from overstory.errors import ExtractionError
from overstory.extraction import Extracted, Extractor, extract_document, extraction_recipe
from overstory.identity import DocumentId, content_hash
from overstory.parallel import map_batches
from overstory.ports import ClosedFolder
from overstory.record import DocumentRow, Record, ScannedDocument
from overstory.relocation import ensure_dataset

BATCH_DOCUMENTS = 16
"""Of a large build 64 batches of bytes are in memory at once (``parallel``)."""

STAGE = "documents"
UNREADABLE = "document: unreadable"
UNLISTED = "folder: cannot be listed"


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
    if scan.touched:
        ctx.record.documents.note_files(scan.touched)
    done = 0
    for batch in extracted(ctx, scan):
        differing = [item for item in batch if item.text is not None or item.row != scan.rows.get(item.row.path)]
        if differing:
            with ctx.record.transaction() as record:
                _clear(ctx, record, [item.row.id for item in differing if item.emptied])
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


def _clear(ctx: BuildContext, record: Record, emptied: list[DocumentId]) -> None:
    """Take away all that is known of documents whose new bytes hold no text: what they said before is no longer so."""
    if emptied:
        nodes = [*record.leaves.known(emptied), *record.summaries.purge(emptied)]
        record.vectors.delete(ctx.name, [*nodes, *record.documents.clear(emptied)])


def _count(report: StageReport, item: ScannedDocument) -> None:
    if item.row.failure:
        report.fail(item.row.shard, item.row.id, item.row.failure, UNREADABLE)
    elif item.text is None:
        report.shards[item.row.shard].unchanged += 1
    else:
        report.shards[item.row.shard].written += 1


def confirm_deletions(ctx: BuildContext) -> int:
    """Approve of the deletion of every document that the source no longer lists; returns their number.

    The next build deletes them, unless they are back by then.
    """
    missing = [row.id for row in identify(ctx).missing]
    ctx.record.documents.withhold(ctx.name, missing, approved=True)
    return len(missing)


def _closed(folder: ClosedFolder) -> str:
    return f"The folder '{folder.path}' cannot be listed: {folder.reason}. Mend its permissions"


def _unread(row: DocumentRow, error: ExtractionError) -> DocumentRow:
    """A document whose bytes cannot be had: no hash, so that it is tried again in every build."""
    return replace(row, raw_hash="", failure=str(error))


def extracted(ctx: BuildContext, scan: Scan) -> Iterator[list[ScannedDocument]]:
    """The changed documents with their texts, in batches; failures become the document's state."""
    extract = partial(_extract_batch, extractor=ctx.extractor, max_bytes=ctx.dataset.max_document_bytes)
    former = {row.id: row.raw_hash for row in scan.rows.values()}
    for results in map_batches(extract, _batches(ctx, scan.changed), workers=ctx.workers):
        batch = [_scanned(row, result, ctx.extractor, former.get(row.id)) for row, result in results]
        scan.emptied += [item.row for item in batch if item.emptied]
        yield batch


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
    return replace(row, raw_hash=hash_bytes(raw), failure=None), raw


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
        # Bytes that cannot be had may be the same as before; others that hold no text are not.
        emptied = row.content_hash is not None and bool(row.raw_hash) and row.raw_hash != former
        kept = replace(row, content_hash=None, last_number=0, current_version=None) if emptied else row
        return ScannedDocument(replace(kept, failure=result), None, emptied=emptied)
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
