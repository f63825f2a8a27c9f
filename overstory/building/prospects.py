"""Documents as a build would leave them, found without a write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from overstory.building.comparing import Scan
from overstory.building.context import BuildContext
from overstory.building.documents import extracted
from overstory.building.leaves import BATCH_DOCUMENTS, CutRequest, Cutter
from overstory.identity import DocumentId, NodeId, version_id
from overstory.parallel import map_batches
from overstory.record import CutVersion, DocumentTree, ScannedDocument


@dataclass(frozen=True, slots=True)
class Prospect:
    """A document as it would be after the build."""

    tree: DocumentTree
    leaves: tuple[str, ...] | None = None
    """Readable texts of its leaves where the record does not hold them yet."""
    new_leaves: int = 0
    new_tokens: int = 0
    kept: frozenset[NodeId] = frozenset()
    """Of a document that would be cut: its leaves that the record holds already."""

    @property
    def cut(self) -> bool:
        """Whether it would be cut."""
        return self.leaves is not None


@dataclass(slots=True)
class Seen:
    """What was found on the way."""

    scanned: list[ScannedDocument] = field(default_factory=list)
    """New and changed documents; in place of a text that would be cut stands an empty one."""
    paths: dict[DocumentId, str] = field(default_factory=dict)
    """Of documents that would be cut."""
    numbers: dict[DocumentId, int] = field(default_factory=dict)
    """Of their versions."""
    reextracted: set[DocumentId] = field(default_factory=set)
    """Those whose bytes are the same, read by another extractor."""


def all_prospects(ctx: BuildContext, scan: Scan, seen: Seen) -> Iterator[Prospect]:
    """All documents as they would be: those that would be cut, then those that stay as the record has them."""
    cutter = Cutter(ctx.dataset.chunking, ctx.tokenizer)
    with_leaves = ctx.dataset.summaries.chunk
    stored = {tree.document_id: tree for tree in ctx.record.summaries.trees(ctx.name, with_leaves=with_leaves)}
    requests = _cut_requests(ctx, scan, cutter.recipe, seen)
    for cut in map_batches(cutter, requests, workers=ctx.workers):
        known = ctx.record.leaves.known([version.document_id for version in cut])
        for version in cut:
            document = version.document_id
            yield _prospect(version, stored.pop(document, None), seen, known)
    gone = {row.id for row in (*scan.gone, *scan.emptied)}
    yield from (Prospect(tree) for tree in stored.values() if tree.document_id not in gone)


def _cut_requests(ctx: BuildContext, scan: Scan, recipe: str, seen: Seen) -> Iterator[list[CutRequest]]:
    """What a build would cut, in batches: changed texts, and versions whose leaves are not current."""
    for batch in extracted(ctx, scan):
        changed = [item for item in batch if item.text is not None]
        seen.scanned += [item if item.text is None else replace(item, text="") for item in batch]
        seen.paths |= {item.row.id: item.row.path for item in changed}
        seen.numbers |= {item.row.id: item.row.last_number + 1 for item in changed}
        seen.reextracted |= {item.row.id for item in changed if item.reextracted}
        texts = ((item.row.id, item.text or "") for item in changed)
        yield [CutRequest(document, version_id(document, seen.numbers[document]), text) for document, text in texts]
    besides = {row.id for row in (*scan.gone, *scan.emptied)} | seen.paths.keys()
    waiting = [p for p in ctx.record.documents.pending(ctx.name, recipe) if p.document_id not in besides]
    newest = {row.id: row.last_number for row in scan.rows.values()}
    seen.numbers |= {version.document_id: newest[version.document_id] for version in waiting}
    seen.paths |= {version.document_id: scan.moves.get(version.document_id, version.path) for version in waiting}
    for start in range(0, len(waiting), BATCH_DOCUMENTS):
        batch_of = waiting[start : start + BATCH_DOCUMENTS]
        held = ctx.record.documents.texts([version.version_id for version in batch_of])
        yield [CutRequest(p.document_id, p.version_id, held[p.version_id]) for p in batch_of]


def _prospect(version: CutVersion, former: DocumentTree | None, seen: Seen, known: set[NodeId]) -> Prospect:
    new = [leaf for leaf in version.leaves if leaf.id not in known]
    replaced = former is not None and former.version_id != version.version_id
    document = version.document_id
    tree = DocumentTree(
        document_id=document,
        path=seen.paths[document],
        title="",
        shard=0,
        version_id=version.version_id,
        version_number=seen.numbers[document],
        child_hash=version.child_hash,
        leaf_count=len(version.leaves),
        sections=version.sections,
        leaves=tuple((leaf.id, leaf.content_hash) for leaf in version.leaves),
        # A new text loses its summaries before anything is built; the same text cut anew keeps them for comparison.
        stored={} if replaced or former is None else former.stored,
        reextracted=document in seen.reextracted or (former is not None and not replaced and former.reextracted),
    )
    texts = tuple(leaf.readable for leaf in version.leaves)
    kept = frozenset(leaf.id for leaf in version.leaves if leaf.id in known)
    return Prospect(tree, texts, len(new), sum(leaf.tokens for leaf in new), kept)
