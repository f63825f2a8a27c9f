"""Summaries: make those that are not fresh, check their facts, and store text, vector and price together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from overstory import facts
from overstory.building.context import BuildContext
from overstory.building.report import StageReport
from overstory.errors import BudgetExhausted
from overstory.freshness import Cause, judge
from overstory.identity import NodeId, content_hash, with_parameters
from overstory.nodes import NodeState
from overstory.ports import SummaryOutcome, SummaryRequest
from overstory.record import StoredSummary, SummaryRow, VectorRow
from overstory.sizes import parameters, size
from overstory.tree import LeafRange, Recipes, Target

BATCH_TARGETS = 64


@dataclass(frozen=True, slots=True)
class Work:
    """A summary to be made, and why."""

    target: Target
    cause: Cause


@dataclass(frozen=True, slots=True)
class Material:
    """A summary to be made, with the texts and facts of its children."""

    work: Work
    parts: tuple[str, ...]
    facts: tuple[facts.Fact, ...]


def recipes_of(ctx: BuildContext) -> Recipes:
    """The recipe of each kind: the summarizer's, and the lengths that the settings ask for."""
    return lambda kind: with_parameters(ctx.summarizer.recipe_hash(kind), parameters(kind, ctx.dataset.summaries))


def outstanding(targets: Sequence[Target], stored: Mapping[NodeId, StoredSummary], report: StageReport) -> list[Work]:
    """The targets that are not fresh and can be made; the others are counted."""
    work = []
    for target in targets:
        verdict = judge(stored.get(target.id), target.desired, edited=target.edited)
        if verdict.state is NodeState.FRESH:
            report.shards[target.shard].unchanged += 1
        elif target.desired.child_hash is None:
            report.fail(target.shard, target.owner, target.blocked, f"{target.kind}: no usable child")
        else:
            work.append(Work(target, verdict.cause or Cause.NEW))
    return work


def request_for(material: Material, ctx: BuildContext) -> SummaryRequest:
    """The request that a plan prices and a build sends."""
    target = material.work.target
    distinct = len({(fact.kind, fact.value) for fact in material.facts if fact.kind in facts.GATED_KINDS})
    length = size(target.kind, distinct, ctx.dataset.summaries)
    return SummaryRequest(
        key=target.id,
        kind=target.kind,
        parts=material.parts,
        target_tokens=length.target_tokens,
        max_tokens=length.max_tokens,
        cause=material.work.cause,
    )


def load(ctx: BuildContext, batch: Sequence[Work]) -> list[Material]:
    """A batch of work with its children's texts."""
    children = [work.target.children for work in batch]
    leaves = ctx.record.leaves.readable({c.version_id for c in children if isinstance(c, LeafRange)})
    nodes = ctx.record.summaries.texts({n for c in children if not isinstance(c, LeafRange) for n in c})
    loaded = []
    for work, child in zip(batch, children, strict=True):
        if isinstance(child, LeafRange):
            parts = tuple(leaves[child.version_id][child.first : child.last + 1])
        else:
            parts = tuple(nodes[node] for node in child)
        loaded.append(material(work, parts))
    return loaded


def material(work: Work, parts: tuple[str, ...]) -> Material:
    """Work with the facts that its children state."""
    return Material(work, parts, tuple(fact for part in parts for fact in facts.extract(part)))


@dataclass(slots=True)
class Maker:
    """Makes summaries and stores them as they come; what is stored is never lost or paid for again."""

    ctx: BuildContext
    report: StageReport
    made: dict[NodeId, StoredSummary] = field(default_factory=dict)
    _waiting: dict[NodeId, Material] = field(default_factory=dict)
    _total: int = 0
    _spent: float = 0.0
    _promised: float = 0.0
    _over_budget: bool = False

    def make(self, work: Sequence[Work]) -> dict[NodeId, StoredSummary]:
        """Store a summary, or a failure, for every piece of work.

        Raises:
            BudgetExhausted: The next call would pass the budget; what was made is stored.
            QuotaExhausted: The endpoint's account is empty; what was made is stored.
            ModelRefusedAccess: The endpoint refuses every call.
        """
        self._total = len(work)
        self._spent = self.ctx.record.ledger.spent(self.ctx.name, self.ctx.run_id).usd
        self.ctx.summarizer.summarize_many(self._requests(work), self.store)
        if self._over_budget:
            raise BudgetExhausted(
                f"The budget of {self.ctx.dataset.budget.usd} USD would be passed by the next call",
                hint="Raise budget.usd and build again: what was made is kept",
            )
        return self.made

    def _requests(self, work: Sequence[Work]) -> Iterator[SummaryRequest]:
        """Requests that need the summarizer; single children and remembered answers are stored on the way."""
        remaining = iter(work)
        while batch := list(islice(remaining, BATCH_TARGETS)):
            free: list[SummaryOutcome] = []
            asked: list[Material] = []
            keys = {(w.target.desired.child_hash or "", w.target.desired.recipe_hash) for w in batch}
            answers = self.ctx.record.summaries.answers(self.ctx.name, keys)
            for item in load(self.ctx, batch):
                target = item.work.target
                self._waiting[target.id] = item
                answer = answers.get((target.desired.child_hash or "", target.desired.recipe_hash))
                if target.single:
                    free.append(SummaryOutcome(target.id, item.parts[0].strip()))
                elif answer is not None:
                    self.report.shards[target.shard].remembered += 1
                    free.append(SummaryOutcome(target.id, answer))
                else:
                    asked.append(item)
            if free:
                self.store(free)
            for item in asked:
                request = request_for(item, self.ctx)
                if not self._affordable(request):
                    return
                yield request

    def _affordable(self, request: SummaryRequest) -> bool:
        """Whether the budget covers the request at its full length, on top of all that is promised already."""
        limit = self.ctx.dataset.budget.usd
        if limit is None:
            return True
        self._promised += self._price(request)
        self._over_budget = self._spent + self._promised > limit
        return not self._over_budget

    def _price(self, request: SummaryRequest) -> float:
        calls, tokens_in = self.ctx.summarizer.prompt_tokens(request)
        prices = self.ctx.dataset.prices
        tokens_out = calls * request.max_tokens
        return (tokens_in * prices.usd_per_mtok_in + tokens_out * prices.usd_per_mtok_out) / 1_000_000

    def store(self, outcomes: Sequence[SummaryOutcome]) -> None:
        """Keep what was paid for first; then the summaries with their vectors in one transaction."""
        rows = [self._row(outcome) for outcome in outcomes]
        usable = [row for row in rows if row.failure is None]
        self._keep_paid(outcomes)
        vectors = self.ctx.embedder.embed([row.text for row in usable])
        places = [VectorRow(row.id, row.kind, row.level, row.document_id) for row in usable]
        with self.ctx.record.transaction() as record:
            record.summaries.save(self.ctx.name, rows, self.ctx.dataset.retrieval.language)
            record.vectors.delete(self.ctx.name, [row.id for row in rows if row.failure is not None])
            record.vectors.upsert(self.ctx.name, self.ctx.embedder.embedding_hash, places, vectors)
        for row, outcome in zip(rows, outcomes, strict=True):
            self._count(row, outcome)
        self.ctx.progress(self.report.stage, len(self.made), self._total)

    def _keep_paid(self, outcomes: Sequence[SummaryOutcome]) -> None:
        paid = [outcome for outcome in outcomes if outcome.calls]
        if not paid:
            return
        answers = {}
        for outcome in paid:
            desired = self._waiting[NodeId(outcome.key)].work.target.desired
            if outcome.text and desired.child_hash:
                answers[(desired.child_hash, desired.recipe_hash)] = outcome.text
        with self.ctx.record.transaction() as record:
            record.ledger.add(self.ctx.name, self.ctx.run_id, [call for outcome in paid for call in outcome.calls])
            record.summaries.remember(self.ctx.name, answers)

    def _row(self, outcome: SummaryOutcome) -> SummaryRow:
        item = self._waiting[NodeId(outcome.key)]
        target = item.work.target
        check = facts.check(item.facts, facts.extract(outcome.text)) if outcome.text else None
        return SummaryRow(
            id=target.id,
            kind=target.kind,
            level=target.level,
            document_id=target.document_id,
            cluster_id=target.cluster_id,
            ordinal=target.ordinal,
            text=outcome.text,
            text_hash=content_hash(outcome.text),
            child_hash=target.desired.child_hash or "",
            recipe_hash=target.desired.recipe_hash,
            failure=outcome.failure or None,
            tokens=self.ctx.tokenizer.count(outcome.text),
            fact_check=check.to_json() if check else None,
        )

    def _count(self, row: SummaryRow, outcome: SummaryOutcome) -> None:
        target = self._waiting.pop(row.id).work.target
        tally = self.report.shards[target.shard]
        tally.add_calls(outcome.calls)
        if row.failure is None:
            tally.written += 1
            tally.embedded += 1
        else:
            # A reason may quote what an endpoint answered; the outcome of the last call is one of a few words.
            kind = outcome.calls[-1].outcome if outcome.calls else outcome.failure
            self.report.fail(target.shard, target.owner, f"{row.kind}: {row.failure}", f"{row.kind}: {kind}")
        self.made[row.id] = StoredSummary(
            row.id, row.kind, row.ordinal, row.child_hash, row.recipe_hash, row.text_hash, row.failure
        )


def remove_surplus(
    ctx: BuildContext, stored: Mapping[NodeId, StoredSummary], wanted: set[NodeId], shard: int, report: StageReport
) -> None:
    """Remove summaries that nothing asks for any more."""
    surplus = [node for node in stored if node not in wanted]
    if not surplus:
        return
    with ctx.record.transaction() as record:
        record.vectors.delete(ctx.name, surplus)
        record.summaries.delete(surplus)
    report.shards[shard].deleted += len(surplus)
