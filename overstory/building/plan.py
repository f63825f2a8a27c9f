"""A plan: the build's own steps up to its first call, without a write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from overstory.building.cluster_plan import PLACEHOLDER, plan_clusters
from overstory.building.context import BuildContext
from overstory.building.document_summaries import lower_targets
from overstory.building.documents import Scan, compare, extracted
from overstory.building.leaves import CutRequest, Cutter
from overstory.building.report import StageReport
from overstory.building.summaries import (
    BATCH_TARGETS,
    Material,
    Work,
    key_of,
    material,
    outstanding,
    recipes_of,
    request_for,
)
from overstory.freshness import Cause, judge
from overstory.identity import DocumentId, NodeId, content_hash, version_id
from overstory.nodes import NodeKind, NodeState
from overstory.parallel import map_batches
from overstory.planning import Action, Plan, priced
from overstory.ports import SummaryRequest
from overstory.record import CutVersion, DocumentTree, ScannedDocument, StoredSummary
from overstory.sizes import base_tokens
from overstory.tree import LeafRange, Target, document_target

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

    scanned: list[ScannedDocument] = field(default_factory=list)
    """New and changed documents; in place of a text that would be cut stands an empty one."""
    paths: dict[DocumentId, str] = field(default_factory=dict)
    """Of documents that would be cut."""
    actions: list[Action] = field(default_factory=list)
    embeddings: Counter[str] = field(default_factory=Counter)
    embedding_tokens: int = 0
    local_tokens: int = 0
    asked: set[tuple[str, str]] = field(default_factory=set)
    """Answers that would be paid for: other summaries over the same texts are free."""
    rewritten: set[DocumentId] = field(default_factory=set)
    """Documents whose own summary would be written."""
    documents: int = 0
    report: StageReport = field(default_factory=lambda: StageReport("plan"))


@dataclass(frozen=True, slots=True)
class Item:
    """A summary that would be written, and its document."""

    prospect: Prospect
    work: Work


def plan(ctx: BuildContext) -> Plan:
    """What a build of the whole dataset would do now, and what it would cost."""
    scan = compare(ctx)
    outlook = Outlook()
    prospects = _prospects(ctx, scan, outlook)
    while batch := list(islice(prospects, BATCH_TARGETS)):
        _plan_documents(ctx, batch, outlook)
    _plan_embedder(ctx, outlook)
    estimate = plan_clusters(ctx, outlook.rewritten, {row.id for row in scan.gone}, outlook.documents)
    calls = sum(action.price.calls for action in outlook.actions) + estimate.expected.calls
    return Plan(
        dataset=ctx.name,
        documents=_documents(scan, outlook.scanned),
        actions=tuple(outlook.actions),
        clusters=estimate,
        embeddings=dict(outlook.embeddings),
        embedding_tokens=outlook.embedding_tokens,
        embedding_usd=_embedding_usd(ctx, outlook.embedding_tokens),
        seconds=calls * ctx.dataset.prices.seconds_per_call / ctx.summarizer.concurrency
        + outlook.local_tokens / LOCAL_TOKENS_PER_SECOND,
        paid=ctx.summarizer.paid,
        problems=_problems(scan, outlook),
        notes=tuple(scan.notes),
    )


def _prospects(ctx: BuildContext, scan: Scan, outlook: Outlook) -> Iterator[Prospect]:
    """All documents as they would be: those that would be cut, then those that stay as the record has them."""
    cutter = Cutter(ctx.dataset.chunking, ctx.tokenizer)
    with_leaves = ctx.dataset.summaries.chunk
    stored = {tree.document_id: tree for tree in ctx.record.summaries.trees(ctx.name, with_leaves=with_leaves)}
    requests = _cut_requests(ctx, scan, cutter.recipe, outlook)
    for cut in map_batches(cutter, requests, workers=ctx.workers):
        known = ctx.record.leaves.known([version.document_id for version in cut])
        for version in cut:
            document = version.document_id
            yield _prospect(version, stored.pop(document, None), outlook.paths[document], known)
    gone = {row.id for row in scan.gone}
    yield from (Prospect(tree) for tree in stored.values() if tree.document_id not in gone)


def _cut_requests(ctx: BuildContext, scan: Scan, recipe: str, outlook: Outlook) -> Iterator[list[CutRequest]]:
    """What a build would cut, in batches: changed texts, and versions whose leaves are not current."""
    for batch in extracted(ctx, scan):
        changed = [item for item in batch if item.text is not None]
        outlook.scanned += [item if item.text is None else replace(item, text="") for item in batch]
        outlook.paths |= {item.row.id: item.row.path for item in changed}
        numbered = ((item.row.id, item.row.last_number + 1, item.text or "") for item in changed)
        yield [CutRequest(document, version_id(document, number), text) for document, number, text in numbered]
    besides = {row.id for row in scan.gone} | outlook.paths.keys()
    waiting = [p for p in ctx.record.documents.pending(ctx.name, recipe) if p.document_id not in besides]
    outlook.paths |= {version.document_id: scan.moves.get(version.document_id, version.path) for version in waiting}
    for start in range(0, len(waiting), BATCH_TARGETS):
        batch_of = waiting[start : start + BATCH_TARGETS]
        texts = ctx.record.documents.texts([version.version_id for version in batch_of])
        yield [CutRequest(p.document_id, p.version_id, texts[p.version_id]) for p in batch_of]


def _prospect(version: CutVersion, former: DocumentTree | None, path: str, known: set[NodeId]) -> Prospect:
    new = [leaf for leaf in version.leaves if leaf.id not in known]
    replaced = former is not None and former.version_id != version.version_id
    number = former.version_number + replaced if former else 1
    tree = DocumentTree(
        document_id=version.document_id,
        path=path,
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
    lower: dict[DocumentId, list[Item]] = {}
    for prospect in batch:
        _count_leaves(prospect, outlook)
        targets = lower_targets([prospect.tree], recipes, with_chunks=ctx.dataset.summaries.chunk)
        work = outstanding(targets, prospect.tree.stored, outlook.report)
        lower[prospect.tree.document_id] = [Item(prospect, one) for one in work]
    known = _price(ctx, [item for items in lower.values() for item in items], {}, outlook)
    upper: list[Item] = []
    for prospect in batch:
        tree = prospect.tree
        sections = [i.work.target for i in lower[tree.document_id] if i.work.target.kind is NodeKind.SECTION_SUMMARY]
        stored = {**tree.stored, **{t.id: _stored(t, known[t.id]) for t in sections if t.id in known}}
        target = document_target(tree, recipes, stored)
        if all(section.id in known for section in sections):
            upper += [Item(prospect, one) for one in outstanding([target], tree.stored, outlook.report)]
        else:
            _price_over_sections(ctx, prospect, target, outlook)
    _price(ctx, upper, known, outlook)


def _stored(target: Target, text: str) -> StoredSummary:
    """A summary that is known before it is written."""
    child_hash, recipe = key_of(target)
    return StoredSummary(target.id, target.kind, target.ordinal, child_hash, recipe, content_hash(text), None)


def _count_leaves(prospect: Prospect, outlook: Outlook) -> None:
    if not prospect.new_leaves:
        return
    cause = Cause.EDITED if prospect.tree.version_number > 1 else Cause.NEW
    outlook.embeddings[cause] += prospect.new_leaves
    outlook.embedding_tokens += prospect.new_tokens
    outlook.local_tokens += prospect.new_tokens


def _price(
    ctx: BuildContext, items: Sequence[Item], known: Mapping[NodeId, str], outlook: Outlook
) -> dict[NodeId, str]:
    """Price summaries whose children's texts exist; returns the texts of those that cost no call and are known.

    Args:
        ctx: Of the plan.
        items: The summaries.
        known: Texts of children that are known though they are not written yet.
        outlook: Takes the prices.
    """
    keys = {key_of(item.work.target) for item in items}
    answers = ctx.record.summaries.answers(ctx.name, keys) if ctx.summarizer.paid and keys else {}
    free: dict[NodeId, str] = {}
    for item, one in zip(items, _materials(ctx, items, known), strict=True):
        target, key = item.work.target, key_of(item.work.target)
        request = request_for(one, ctx)
        if target.single or key in answers:
            free[target.id] = one.parts[0].strip() if target.single else answers[key]
        costs = target.id not in free and key not in outlook.asked
        calls, tokens_in = ctx.summarizer.prompt_tokens(request) if costs else (0, 0)
        outlook.asked.add(key)
        _add(ctx, item.prospect, item.work, calls, tokens_in, request.target_tokens, outlook)
    return free


def _materials(ctx: BuildContext, items: Sequence[Item], known: Mapping[NodeId, str]) -> list[Material]:
    """The summaries with the texts of their children, as they would be cut, as known, or from the record."""
    recorded = [item.work.target.children for item in items if item.prospect.leaves is None]
    leaves = ctx.record.leaves.readable({c.version_id for c in recorded if isinstance(c, LeafRange)})
    nodes = {n for i in items if not isinstance(i.work.target.children, LeafRange) for n in i.work.target.children}
    texts = {**ctx.record.summaries.texts(nodes - known.keys()), **known}
    found = []
    for item in items:
        children = item.work.target.children
        if isinstance(children, LeafRange):
            held = item.prospect.leaves or leaves[children.version_id]
            parts = tuple(held[children.first : children.last + 1])
        else:
            parts = tuple(texts[node] for node in children)
        found.append(material(item.work, parts))
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
    counts = Counter(unchanged=len(scan.unchanged), moved=len(scan.moves), deleted=len(scan.gone))
    for item in scanned:
        if item.row.failure:
            counts["failed"] += 1
        elif item.text is not None:
            counts["edited" if item.row.last_number else "new"] += 1
        elif item.row.id not in scan.moves:
            counts["unchanged"] += 1
    return {what: count for what, count in counts.items() if count}


def _problems(scan: Scan, outlook: Outlook) -> tuple[str, ...]:
    rows = [*(item.row for item in outlook.scanned), *scan.unchanged]
    unread = [f"{row.path}: {row.failure}" for row in rows if row.failure]
    return (*unread, *(problem.reason for problem in outlook.report.problems))
