"""A plan: the build's own steps up to its first call, without a write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from overstory import facts
from overstory.building.cluster_foresight import Changes, Written
from overstory.building.cluster_plan import plan_clusters
from overstory.building.cluster_pricing import distinct_facts, placeholder, room_for_facts
from overstory.building.context import BuildContext
from overstory.building.document_summaries import lower_targets
from overstory.building.comparing import Scan, compare
from overstory.building.prospects import Prospect, Seen, all_prospects
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
from overstory.building.vector_plan import Restored, Staying, plan_vectors
from overstory.facts import Fact
from overstory.freshness import Cause, judge
from overstory.identity import DocumentId, NodeId, content_hash
from overstory.nodes import NodeKind
from overstory.planning import Action, Plan, priced
from overstory.record import ScannedDocument, StoredSummary
from overstory.tree import LeafRange, Target, document_target, edited

LOCAL_TOKENS_PER_SECOND = 60_000
"""Tokens of source that extraction, cutting, embedding and extractive summaries get through on two cores
(benchmarks/full_build.py)."""


@dataclass(slots=True)
class Outlook:
    """What the documents' part of a plan adds up to."""

    actions: list[Action] = field(default_factory=list)
    embeddings: Counter[str] = field(default_factory=Counter)
    embedding_tokens: int = 0
    local_tokens: int = 0
    asked: set[tuple[str, str]] = field(default_factory=set)
    """Answers that would be paid for: other summaries over the same texts are free."""
    changes: Changes = field(default_factory=Changes)
    """Of document summaries, for the clusters above."""
    staying: Staying = field(default_factory=Staying)
    documents: int = 0
    removed: int = 0
    report: StageReport = field(default_factory=lambda: StageReport("plan"))


@dataclass(frozen=True, slots=True)
class Item:
    """A summary that would be written, and its document."""

    prospect: Prospect
    work: Work


def plan(ctx: BuildContext) -> Plan:
    """What a build of the whole dataset would do now, and what it would cost."""
    scan = compare(ctx)
    outlook, seen = Outlook(), Seen()
    outlook.changes.gone = frozenset(row.id for row in scan.gone)
    outlook.staying.gone = outlook.changes.gone
    prospects = all_prospects(ctx, scan, seen)
    while batch := list(islice(prospects, BATCH_TARGETS)):
        _plan_documents(ctx, batch, outlook)
        ctx.progress("plan", outlook.documents, max(outlook.documents, len(scan.paths)))
    _restore(plan_vectors(ctx, outlook.staying), outlook)
    estimate, notes = plan_clusters(ctx, outlook.changes, outlook.asked)
    outlook.embedding_tokens += estimate.embedding_tokens
    calls = sum(action.price.calls for action in outlook.actions) + estimate.expected.calls
    call_seconds = ctx.dataset.prices.seconds_per_call / ctx.summarizer.concurrency if ctx.summarizer.paid else 0.0
    return Plan(
        dataset=ctx.name,
        documents=_documents(scan, seen.scanned),
        actions=tuple(outlook.actions),
        clusters=estimate,
        embeddings=dict(outlook.embeddings),
        embedding_tokens=outlook.embedding_tokens,
        embedding_usd=_embedding_usd(ctx, outlook.embedding_tokens),
        call_seconds=call_seconds,
        seconds=calls * call_seconds + outlook.local_tokens / LOCAL_TOKENS_PER_SECOND,
        paid=ctx.summarizer.paid,
        problems=_problems(scan, seen, outlook),
        notes=(*scan.notes, *notes),
        removed=outlook.removed,
    )


def _plan_documents(ctx: BuildContext, batch: Sequence[Prospect], outlook: Outlook) -> None:
    """Price the chunk, section and document summaries of a batch of documents."""
    recipes = recipes_of(ctx)
    outlook.documents += len(batch)
    lower: dict[DocumentId, list[Item]] = {}
    for prospect in batch:
        _count_leaves(prospect, outlook)
        targets = lower_targets([prospect.tree], recipes, with_chunks=ctx.dataset.summaries.chunk)
        _keep_count(prospect, targets, outlook)
        work = outstanding(targets, prospect.tree.stored, outlook.report)
        lower[prospect.tree.document_id] = [Item(prospect, one) for one in work]
    made = _price(ctx, [item for items in lower.values() for item in items], {}, outlook)
    upper: list[Item] = []
    for prospect in batch:
        tree = prospect.tree
        sections = [i.work.target for i in lower[tree.document_id] if i.work.target.kind is NodeKind.SECTION_SUMMARY]
        stored = {**tree.stored, **{target.id: _stored(target, made[target.id].text) for target in sections}}
        target = document_target(tree, recipes, stored)
        if all(made[section.id].known for section in sections):
            upper += [Item(prospect, one) for one in outstanding([target], tree.stored, outlook.report)]
        else:
            # Some of its sections are not written yet: it is not fresh whatever they will say.
            verdict = judge(tree.stored.get(target.id), replace(target.desired, child_hash=None), edited=target.edited)
            upper.append(Item(prospect, Work(target, verdict.cause or Cause.CHILDREN)))
    _price(ctx, upper, made, outlook)


def _keep_count(prospect: Prospect, targets: Sequence[Target], outlook: Outlook) -> None:
    """Note what of a document stays until its summaries are made, and what is then asked for no more."""
    tree = prospect.tree
    if prospect.cut:
        outlook.staying.cut[tree.document_id] = prospect.kept
        if not tree.stored:
            outlook.staying.purged.add(tree.document_id)
    wanted = {target.id for target in targets}
    lower = (node for node, summary in tree.stored.items() if summary.kind is not NodeKind.DOCUMENT_SUMMARY)
    outlook.removed += sum(node not in wanted for node in lower)


def _stored(target: Target, text: str) -> StoredSummary:
    """A summary that is known before it is written."""
    child_hash, recipe = key_of(target)
    return StoredSummary(target.id, target.kind, target.ordinal, child_hash, recipe, content_hash(text), None)


def _count_leaves(prospect: Prospect, outlook: Outlook) -> None:
    if not prospect.new_leaves:
        return
    cause = edited(prospect.tree) or Cause.NEW
    outlook.embeddings[cause] += prospect.new_leaves
    outlook.embedding_tokens += prospect.new_tokens
    outlook.local_tokens += prospect.new_tokens


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A summary before it is written."""

    text: str
    """Where it is not known, any of the length that will be asked for."""
    facts: tuple[Fact, ...]
    """Where its text is not known, those of its children: most of them are to be kept."""
    known: bool


def _price(
    ctx: BuildContext, items: Sequence[Item], foreseen: Mapping[NodeId, Foreseen], outlook: Outlook
) -> dict[NodeId, Foreseen]:
    """Price summaries and say what they will be like.

    Args:
        ctx: Of the plan.
        items: The summaries.
        foreseen: Children that are not written yet.
        outlook: Takes the prices.
    """
    keys = {key_of(item.work.target) for item in items}
    answers = ctx.record.summaries.answers(ctx.name, keys) if ctx.summarizer.paid and keys else {}
    made: dict[NodeId, Foreseen] = {}
    for item, one in zip(items, _materials(ctx, items, foreseen), strict=True):
        target, key = item.work.target, key_of(item.work.target)
        request = request_for(one, ctx)
        made[target.id] = _foresee(target, one, answers.get(key), request.target_tokens)
        costs = not made[target.id].known and key not in outlook.asked
        calls, tokens_in = ctx.summarizer.prompt_tokens(request) if costs else (0, 0)
        outlook.asked.add(key)
        if target.kind is NodeKind.DOCUMENT_SUMMARY:
            written = _written(ctx, made[target.id], request.target_tokens)
            outlook.changes.rewritten[item.prospect.tree.document_id] = written
        _add(ctx, item.prospect, item.work, calls, tokens_in, request.target_tokens, outlook)
    return made


def _foresee(target: Target, children: Material, answer: str | None, target_tokens: int) -> Foreseen:
    if target.single:
        answer = children.parts[0].strip()
    if answer is None:
        return Foreseen(placeholder(target_tokens), children.facts, known=False)
    return Foreseen(answer, _facts(answer), known=True)


def _written(ctx: BuildContext, foreseen: Foreseen, target_tokens: int) -> Written:
    """A document's summary as its clusters will read it."""
    if foreseen.known:
        return Written(ctx.tokenizer.count(foreseen.text), distinct_facts([foreseen.text]), foreseen.text)
    distinct = len({(fact.kind, fact.value) for fact in foreseen.facts if fact.kind in facts.GATED_KINDS})
    room = room_for_facts(NodeKind.DOCUMENT_SUMMARY, target_tokens, distinct, ctx.dataset.summaries)
    return Written(target_tokens, room)


def _materials(ctx: BuildContext, items: Sequence[Item], foreseen: Mapping[NodeId, Foreseen]) -> list[Material]:
    """The summaries with the texts of their children: as they would be cut, as foreseen, or from the record."""
    recorded = [item.work.target.children for item in items if item.prospect.leaves is None]
    leaves = ctx.record.leaves.readable({c.version_id for c in recorded if isinstance(c, LeafRange)})
    nodes = {n for i in items if not isinstance(i.work.target.children, LeafRange) for n in i.work.target.children}
    texts = ctx.record.summaries.texts(nodes - foreseen.keys())
    found = []
    for item in items:
        children = item.work.target.children
        if isinstance(children, LeafRange):
            held = item.prospect.leaves or leaves[children.version_id]
            found.append(material(item.work, tuple(held[children.first : children.last + 1])))
        else:
            parts = [foreseen.get(node) or Foreseen(texts[node], _facts(texts[node]), known=True) for node in children]
            stated = tuple(fact for part in parts for fact in part.facts)
            found.append(Material(item.work, tuple(part.text for part in parts), stated))
    return found


def _facts(text: str) -> tuple[Fact, ...]:
    return tuple(facts.extract(text))


def _add(
    ctx: BuildContext, prospect: Prospect, work: Work, calls: int, tokens_in: int, tokens_out: int, outlook: Outlook
) -> None:
    target = work.target
    price = priced(calls, tokens_in, calls * tokens_out, ctx.dataset.prices)
    outlook.actions.append(Action(target.id, target.kind, target.level, prospect.tree.path, work.cause, price))
    outlook.embeddings[work.cause] += 1
    outlook.embedding_tokens += tokens_out


def _restore(restored: Restored, outlook: Outlook) -> None:
    """Count the texts that would be embedded as they stand."""
    if restored.nodes:
        outlook.embeddings[restored.cause] += restored.nodes
    outlook.embedding_tokens += restored.tokens
    outlook.local_tokens += restored.tokens
    outlook.changes.lost = restored.summaries


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
            edit = "reread" if item.reextracted else "edited"
            counts[edit if item.row.last_number else "new"] += 1
        elif item.row.id not in scan.moves:
            counts["unchanged"] += 1
    return {what: count for what, count in counts.items() if count}


def _problems(scan: Scan, seen: Seen, outlook: Outlook) -> tuple[str, ...]:
    rows = [*(item.row for item in seen.scanned), *scan.unchanged]
    unread = [f"{row.path}: {row.failure}" for row in rows if row.failure]
    return (*unread, *(problem.reason for problem in outlook.report.problems))
