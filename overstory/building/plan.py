"""A plan: the build's own steps up to its first call, without a write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from overstory.building.cluster_plan import PLACEHOLDER, plan_clusters
from overstory.building.context import BuildContext
from overstory.building.documents import Scan, compare, extracted
from overstory.building.leaves import CutRequest, Cutter
from overstory.building.report import StageReport
from overstory.building.summaries import (
    BATCH_TARGETS,
    Material,
    Work,
    load,
    material,
    outstanding,
    recipes_of,
    request_for,
)
from overstory.freshness import Cause, judge
from overstory.identity import DocumentId, NodeId, version_id
from overstory.nodes import NodeKind, NodeState
from overstory.parallel import map_batches
from overstory.planning import Action, Plan, priced
from overstory.ports import SummaryRequest
from overstory.record import CutVersion, DocumentTree, ScannedDocument
from overstory.sizes import base_tokens
from overstory.tree import LeafRange, Target, chunk_targets, document_target, section_targets

LOCAL_TOKENS_PER_SECOND = 60_000
"""Tokens of source that extraction, cutting, embedding and extractive summaries get through on two cores
(benchmarks/full_build.py)."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """A document as it would be after the build."""

    tree: DocumentTree
    leaves: tuple[str, ...] | None = None
    """Readable texts of its leaves where the record does not hold them yet."""
    new_leaves: int = 0
    new_tokens: int = 0


@dataclass(slots=True)
class Outlook:
    """What the documents' part of a plan adds up to."""

    actions: list[Action] = field(default_factory=list)
    embeddings: Counter[str] = field(default_factory=Counter)
    embedding_tokens: int = 0
    local_tokens: int = 0
    rewritten: set[DocumentId] = field(default_factory=set)
    """Documents whose own summary would be written."""
    documents: int = 0
    report: StageReport = field(default_factory=lambda: StageReport("plan"))


def plan(ctx: BuildContext) -> Plan:
    """What a build of the whole dataset would do now, and what it would cost."""
    scan = compare(ctx)
    scanned = [item for batch in extracted(ctx, scan) for item in batch]
    outlook = Outlook()
    batch: list[Prospect] = []
    for prospect in _prospects(ctx, scan, scanned):
        batch.append(prospect)
        if len(batch) == BATCH_TARGETS:
            _plan_documents(ctx, batch, outlook)
            batch = []
    _plan_documents(ctx, batch, outlook)
    _plan_embedder(ctx, outlook)
    estimate = plan_clusters(ctx, outlook.rewritten, {row.id for row in scan.gone}, outlook.documents)
    calls = sum(action.price.calls for action in outlook.actions) + estimate.expected.calls
    return Plan(
        dataset=ctx.name,
        documents=_documents(scan, scanned),
        actions=tuple(outlook.actions),
        clusters=estimate,
        embeddings=dict(outlook.embeddings),
        embedding_tokens=outlook.embedding_tokens,
        embedding_usd=_embedding_usd(ctx, outlook.embedding_tokens),
        seconds=calls * ctx.dataset.prices.seconds_per_call / ctx.summarizer.concurrency
        + outlook.local_tokens / LOCAL_TOKENS_PER_SECOND,
        paid=ctx.summarizer.paid,
        problems=_problems(scan, scanned, outlook.report),
        notes=tuple(scan.notes),
    )


def _prospects(ctx: BuildContext, scan: Scan, scanned: Sequence[ScannedDocument]) -> Iterator[Prospect]:
    """All documents as they would be: those that stay as the record has them, then those that would be cut."""
    cutter = Cutter(ctx.dataset.chunking, ctx.tokenizer)
    gone = {row.id for row in scan.gone}
    with_leaves = ctx.dataset.summaries.chunk
    stored = {tree.document_id: tree for tree in ctx.record.summaries.trees(ctx.name, with_leaves=with_leaves)}
    requests = list(_cut_requests(ctx, scanned, cutter.recipe, gone))
    waiting = {request.document_id for request in requests}
    yield from (Prospect(tree) for tree in stored.values() if tree.document_id not in waiting | gone)
    paths = {item.row.id: item.row.path for item in scanned}
    batches = [requests[i : i + BATCH_TARGETS] for i in range(0, len(requests), BATCH_TARGETS)]
    for cut in map_batches(cutter, batches, workers=ctx.workers):
        known = ctx.record.leaves.known([version.document_id for version in cut])
        for version in cut:
            document = version.document_id
            yield _prospect(version, stored.get(document), paths.get(document, ""), known)


def _cut_requests(
    ctx: BuildContext, scanned: Sequence[ScannedDocument], recipe: str, gone: set[DocumentId]
) -> Iterator[CutRequest]:
    """What a build would cut: changed texts, and versions whose leaves are not current."""
    changed = {item.row.id: item for item in scanned if item.text is not None}
    for item in changed.values():
        yield CutRequest(item.row.id, version_id(item.row.id, item.row.last_number + 1), item.text or "")
    pending = ctx.record.documents.pending(ctx.name, recipe)
    waiting = [p for p in pending if p.document_id not in changed and p.document_id not in gone]
    texts = ctx.record.documents.texts([p.version_id for p in waiting])
    for version in waiting:
        yield CutRequest(version.document_id, version.version_id, texts[version.version_id])


def _prospect(version: CutVersion, former: DocumentTree | None, path: str, known: set[NodeId]) -> Prospect:
    new = [leaf for leaf in version.leaves if leaf.id not in known]
    replaced = former is not None and former.version_id != version.version_id
    number = former.version_number + replaced if former else 1
    tree = DocumentTree(
        document_id=version.document_id,
        path=former.path if former else path,
        title="",
        shard=0,
        version_id=version.version_id,
        version_number=number,
        child_hash=version.child_hash,
        leaf_count=len(version.leaves),
        sections=version.sections,
        leaves=tuple((leaf.id, leaf.content_hash) for leaf in version.leaves),
        # A new text loses its summaries before anything is built; the same text cut anew keeps them for comparison.
        stored={} if replaced or former is None else former.stored,
    )
    texts = tuple(leaf.readable for leaf in version.leaves)
    return Prospect(tree, texts, len(new), sum(leaf.tokens for leaf in new))


def _plan_documents(ctx: BuildContext, batch: Sequence[Prospect], outlook: Outlook) -> None:
    """Price the chunk, section and document summaries of a batch of documents."""
    recipes = recipes_of(ctx)
    outlook.documents += len(batch)
    for prospect in batch:
        tree = prospect.tree
        _count_leaves(prospect, outlook)
        lower = [
            *(chunk_targets(tree, recipes) if ctx.dataset.summaries.chunk else ()),
            *section_targets(tree, recipes),
        ]
        work = outstanding(lower, tree.stored, outlook.report)
        _price(ctx, prospect, work, outlook)
        target = document_target(tree, recipes, tree.stored)
        if any(item.target.kind is NodeKind.SECTION_SUMMARY for item in work):
            _price_over_sections(ctx, prospect, target, outlook)
        else:
            _price(ctx, prospect, outstanding([target], tree.stored, outlook.report), outlook)


def _count_leaves(prospect: Prospect, outlook: Outlook) -> None:
    if not prospect.new_leaves:
        return
    cause = Cause.EDITED if prospect.tree.version_number > 1 else Cause.NEW
    outlook.embeddings[cause] += prospect.new_leaves
    outlook.embedding_tokens += prospect.new_tokens
    outlook.local_tokens += prospect.new_tokens


def _price(ctx: BuildContext, prospect: Prospect, work: Sequence[Work], outlook: Outlook) -> None:
    """Price work whose children's texts exist, remembered answers and single children being free."""
    keys = {_key(item) for item in work}
    answers = ctx.record.summaries.answers(ctx.name, keys) if ctx.summarizer.paid and keys else {}
    for item in _materials(ctx, prospect, work):
        request = request_for(item, ctx)
        free = item.work.target.single or _key(item.work) in answers
        calls, tokens_in = (0, 0) if free else ctx.summarizer.prompt_tokens(request)
        _add(ctx, prospect, item.work, calls, tokens_in, request.target_tokens, outlook)


def _key(work: Work) -> tuple[str, str]:
    return work.target.desired.child_hash or "", work.target.desired.recipe_hash


def _materials(ctx: BuildContext, prospect: Prospect, work: Sequence[Work]) -> list[Material]:
    if prospect.leaves is None:
        return load(ctx, work)
    found = []
    for item in work:
        children = item.target.children
        if isinstance(children, LeafRange):
            found.append(material(item, prospect.leaves[children.first : children.last + 1]))
    return found


def _price_over_sections(ctx: BuildContext, prospect: Prospect, target: Target, outlook: Outlook) -> None:
    """Price a document summary over section summaries that are not written yet: each as long as its target."""
    stored = prospect.tree.stored.get(target.id)
    verdict = judge(stored, target.desired, edited=target.edited)
    if verdict.state is NodeState.FRESH:
        return
    kind = NodeKind.DOCUMENT_SUMMARY
    sections = len(prospect.tree.sections) * base_tokens(NodeKind.SECTION_SUMMARY, ctx.dataset.summaries)
    length = base_tokens(kind, ctx.dataset.summaries)
    calls, overhead = ctx.summarizer.prompt_tokens(SummaryRequest(target.id, kind, (PLACEHOLDER,), length, length))
    work = Work(target, verdict.cause or Cause.CHILDREN)
    _add(ctx, prospect, work, calls, (overhead + sections) if calls else 0, length, outlook)


def _add(
    ctx: BuildContext, prospect: Prospect, work: Work, calls: int, tokens_in: int, tokens_out: int, outlook: Outlook
) -> None:
    target = work.target
    price = priced(calls, tokens_in, calls * tokens_out, ctx.dataset.prices)
    outlook.actions.append(Action(target.id, target.kind, target.level, prospect.tree.path, work.cause, price))
    outlook.embeddings[work.cause] += 1
    outlook.embedding_tokens += tokens_out
    if target.kind is NodeKind.DOCUMENT_SUMMARY:
        outlook.rewritten.add(prospect.tree.document_id)


def _plan_embedder(ctx: BuildContext, outlook: Outlook) -> None:
    """Count the texts that another embedder would have to embed again."""
    serving = ctx.record.vectors.serving(ctx.name)
    if serving is None or serving == ctx.embedder.embedding_hash:
        return
    nodes, tokens = ctx.record.vectors.stored(ctx.name, serving)
    outlook.embeddings[Cause.NEW_EMBEDDER] += nodes
    outlook.embedding_tokens += tokens


def _embedding_usd(ctx: BuildContext, tokens: int) -> float:
    if not ctx.embedder.paid:
        return 0.0
    return tokens * ctx.dataset.prices.usd_per_mtok_embedding / 1_000_000


def _documents(scan: Scan, scanned: Sequence[ScannedDocument]) -> dict[str, int]:
    """Documents by what would happen to them."""
    counts: Counter[str] = Counter(unchanged=len(scan.unchanged) - len(scan.moves))
    counts["moved"] = len(scan.moves)
    counts["deleted"] = len(scan.gone)
    for item in scanned:
        if item.row.failure:
            counts["failed"] += 1
        elif item.text is None:
            counts["unchanged"] += 1
        else:
            counts["edited" if item.row.last_number else "new"] += 1
    return {what: count for what, count in counts.items() if count}


def _problems(scan: Scan, scanned: Sequence[ScannedDocument], report: StageReport) -> tuple[str, ...]:
    rows = [*(item.row for item in scanned), *scan.unchanged]
    unread = [f"{row.path}: {row.failure}" for row in rows if row.failure]
    return (*unread, *(problem.reason for problem in report.problems))
