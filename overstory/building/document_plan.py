"""The documents' part of a plan: every summary up to the document, priced as the build would ask for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from overstory import facts
from overstory.building.cluster_foresight import Changes, Written
from overstory.building.cluster_pricing import distinct_facts, placeholder, room_for_facts
from overstory.building.context import BuildContext
from overstory.building.document_summaries import lower_targets
from overstory.building.prospects import Prospect
from overstory.building.report import StageReport
from overstory.building.summaries import (
    Material,
    Work,
    key_of,
    material,
    outstanding,
    recipes_of,
    request_for,
)
from overstory.building.vector_plan import Staying
from overstory.facts import Fact
from overstory.freshness import Cause, judge
from overstory.identity import DocumentId, NodeId, content_hash, digest
from overstory.nodes import NodeKind
from overstory.planning import Action, priced
from overstory.record import StoredSummary
from overstory.tree import LeafRange, Target, document_target, edited


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


def plan_documents(ctx: BuildContext, batch: Sequence[Prospect], outlook: Outlook) -> None:
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
        stored = {**tree.stored, **{target.id: _stored(target, made[target.id]) for target in sections}}
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


def _stored(target: Target, foreseen: Foreseen) -> StoredSummary:
    """A summary before it is written."""
    child_hash, recipe = key_of(target)
    # Texts that are not known yet are equal where they are made from equal ones, and not where their lengths are.
    said = content_hash(foreseen.text) if foreseen.known else digest("foreseen", child_hash, recipe)
    return StoredSummary(target.id, target.kind, target.ordinal, child_hash, recipe, said, None)


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
