"""Leaves: purge what described the old text, cut the new one, and switch to it in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from overstory.building.context import BuildContext, timed
from overstory.building.embedding import embed
from overstory.building.report import StageReport
from overstory.chunking import chunk, leaves, sections
from overstory.identity import SHARDS, DocumentId, VersionId, digest, ordered_child_hash
from overstory.nodes import NodeKind
from overstory.parallel import map_batches
from overstory.ports import Tokenizer
from overstory.record import CutVersion, PendingVersion, SectionRow, VectorRow
from overstory.relocation import ensure_dataset
from overstory.settings import Chunking

BATCH_DOCUMENTS = 64
BATCH_TEXTS = 1024
SHARDS_AT_ONCE = 8
"""Whose full text is indexed anew in one transaction."""

STAGE = "leaves"

CHUNKER_VERSION = "1"
"""Raised when the same text and settings would be cut differently: every document is then cut anew."""


@dataclass(frozen=True, slots=True)
class CutRequest:
    """A text to be cut."""

    document_id: DocumentId
    version_id: VersionId
    text: str


@dataclass(frozen=True, slots=True)
class Cutter:
    """Cuts texts into leaves and sections; picklable, for use in other processes."""

    settings: Chunking
    tokenizer: Tokenizer

    @property
    def recipe(self) -> str:
        """Changes when the same text would be cut differently."""
        rule = f"{self.settings.leaf_tokens} {self.settings.overlap_tokens} {self.settings.section_tokens}"
        return digest("chunking", CHUNKER_VERSION, rule, self.tokenizer.name)

    def __call__(self, requests: Sequence[CutRequest]) -> list[CutVersion]:
        """The texts as versions with leaves and sections."""
        return [self.cut(request) for request in requests]

    def cut(self, request: CutRequest) -> CutVersion:
        """One text as a version with leaves and sections."""
        chunks = chunk(
            request.text,
            self.tokenizer,
            cap_tokens=self.settings.leaf_tokens,
            overlap_tokens=self.settings.overlap_tokens,
        )
        made = leaves(request.document_id, request.text, chunks)
        hashes = [leaf.content_hash for leaf in made]
        found = sections(chunks, max_tokens=self.settings.section_tokens)
        return CutVersion(
            document_id=request.document_id,
            version_id=request.version_id,
            leaves=tuple(made),
            sections=tuple(
                SectionRow(
                    ordinal, part.first, part.last, part.heading, ordered_child_hash(hashes[part.first : part.last + 1])
                )
                for ordinal, part in enumerate(found)
            ),
            child_hash=ordered_child_hash(hashes),
            chunk_recipe=self.recipe,
            tokens=sum(leaf.tokens for leaf in made),
        )


@timed
def cut_leaves(ctx: BuildContext, shards: Collection[int] | None = None) -> StageReport:
    """Cut every version that is not current, embed its new leaves, and switch to it."""
    report = StageReport(STAGE)
    ensure_dataset(ctx.record, ctx.dataset)
    _index_words(ctx)
    cutter = Cutter(ctx.dataset.chunking, ctx.tokenizer)
    pending = [p for p in ctx.record.documents.pending(ctx.name, cutter.recipe, shards) if ctx.chosen(p.document_id)]
    trees = ctx.record.summaries.trees(ctx.name, shards)
    ctx.record.vectors.prepare(ctx.name, ctx.embedder.embedding_hash, ctx.embedder.dimension)
    purge(ctx, pending)
    waiting = {item.document_id for item in pending}
    for tree in trees:
        if tree.document_id not in waiting:
            report.shards[tree.shard].unchanged += tree.leaf_count
    shard = _shards(ctx, shards)
    done = 0
    for cut in map_batches(cutter, _requests(ctx, pending), workers=ctx.workers):
        _switch(ctx, cut, shard, report)
        done += len(cut)
        ctx.progress(STAGE, done, len(pending))
    restore_vectors(ctx, shards, report, shard)
    serve(ctx)
    return report


def _index_words(ctx: BuildContext) -> None:
    """Bring the full text of the whole dataset to the language of the settings: a query has one language for all."""
    language = ctx.dataset.retrieval.language
    if ctx.record.leaves.language(ctx.name) == language:
        return
    indexed = 0
    for start in range(0, SHARDS, SHARDS_AT_ONCE):
        indexed += ctx.record.leaves.index_words(ctx.name, language, range(start, start + SHARDS_AT_ONCE))
        if indexed:
            ctx.progress("full text", start + SHARDS_AT_ONCE, SHARDS)
    ctx.record.leaves.set_language(ctx.name, language)


def purge(ctx: BuildContext, pending: Sequence[PendingVersion]) -> None:
    """Delete the summaries of versions that are about to be replaced, before anything is built."""
    replaced = [item.document_id for item in pending if item.replaces]
    if not replaced:
        return
    with ctx.record.transaction() as record:
        nodes = record.summaries.purge(replaced)
        record.vectors.delete(ctx.name, nodes)


def _shards(ctx: BuildContext, shards: Collection[int] | None) -> dict[DocumentId, int]:
    return {row.id: row.shard for row in ctx.record.documents.rows(ctx.name, shards)}


def _requests(ctx: BuildContext, pending: Sequence[PendingVersion]) -> Iterator[list[CutRequest]]:
    for start in range(0, len(pending), BATCH_DOCUMENTS):
        batch = pending[start : start + BATCH_DOCUMENTS]
        texts = ctx.record.documents.texts([item.version_id for item in batch])
        yield [CutRequest(item.document_id, item.version_id, texts[item.version_id]) for item in batch]


def _switch(ctx: BuildContext, cut: Sequence[CutVersion], shard: dict[DocumentId, int], report: StageReport) -> None:
    """Embed the leaves that are new and make the versions current, all in one transaction."""
    known = ctx.record.leaves.known([version.document_id for version in cut])
    new = {leaf.id: (version, leaf) for version in cut for leaf in version.leaves if leaf.id not in known}
    rows = [VectorRow(leaf, NodeKind.LEAF, 0, version.document_id) for leaf, (version, _) in new.items()]
    vectors = embed(ctx, [leaf.readable for _, leaf in new.values()])
    with ctx.record.transaction() as record:
        dropped = record.leaves.make_current(cut, set(new), ctx.dataset.retrieval.language)
        record.vectors.delete(ctx.name, [leaf for leaf, _ in dropped])
        record.vectors.upsert(ctx.name, ctx.embedder.embedding_hash, rows, vectors)
    for version in cut:
        tally = report.shards[shard[version.document_id]]
        written = sum(leaf.id in new for leaf in version.leaves)
        tally.written += written
        tally.embedded += written
        tally.unchanged += len(version.leaves) - written
    for _, document in dropped:
        report.shards[shard[document]].deleted += 1


def restore_vectors(
    ctx: BuildContext, shards: Collection[int] | None, report: StageReport, shard: dict[DocumentId, int]
) -> None:
    """Embed what lacks a vector: after a change of embedder, or where a store lost some."""
    embedding = ctx.embedder.embedding_hash
    if not ctx.record.vectors.lacking(ctx.name, embedding):
        return
    for number in range(SHARDS) if shards is None else sorted(shards):
        # One shard at a time: after a change of embedder these are all texts of the dataset.
        missing = list(ctx.record.vectors.without_vector(ctx.name, embedding, {number}))
        for start in range(0, len(missing), BATCH_TEXTS):
            batch = missing[start : start + BATCH_TEXTS]
            vectors = embed(ctx, [text for _, text in batch])
            ctx.record.vectors.upsert(ctx.name, embedding, [row for row, _ in batch], vectors)
            for row, _ in batch:
                report.shards[shard[row.document_id] if row.document_id else number].embedded += 1
            ctx.progress("vectors", start + len(batch), len(missing))


def serve(ctx: BuildContext) -> None:
    """Let searches use this embedding once nothing lacks a vector of it."""
    embedding = ctx.embedder.embedding_hash
    serving = ctx.record.vectors.serving(ctx.name)
    if serving == embedding or not ctx.record.vectors.lacking(ctx.name, embedding):
        ctx.record.vectors.finish_load(ctx.name, embedding)
