"""Summaries: make those that are not fresh, check their facts, and store text, vector and price together."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from overstory import facts
from overstory.building.budget import Reservations, exhausted
from overstory.building.context import BuildContext
from overstory.building.embedding import embed
from overstory.building.report import Problem, StageReport
from overstory.errors import BuildInterrupted, ModelError
from overstory.failures import explain
from overstory.freshness import Cause, judge
from overstory.identity import NodeId, content_hash, with_parameters
from overstory.nodes import NodeKind, NodeState
from overstory.ports import Metered, SummaryOutcome, SummaryRequest
from overstory.record import DocumentTree, StoredSummary, SummaryRow, VectorRow
from overstory.sizes import parameters, size
from overstory.tree import LeafRange, Recipes, Target

BATCH_TARGETS = 64


@dataclass(frozen=True, slots=True)
class Work:
    """A summary to be made, and why."""

    target: Target
    cause: Cause
    stale: bool = False
    """A summary of the same document or cluster stands, and stays, shown stale, if this one fails."""


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
        former = stored.get(target.id)
        verdict = judge(former, target.desired, edited=target.edited)
        if verdict.state is NodeState.FRESH:
            report.shards[target.shard].unchanged += 1
        elif target.desired.child_hash is None:
            report.fail(target.shard, target.owner, target.blocked, f"{target.kind}: no usable child", node=target.kind)
        else:
            # What described another version of a document is gone by now (leaves.purge).
            stale = former is not None and former.failure is None
            work.append(Work(target, verdict.cause or Cause.NEW, stale))
    return work


def key_of(target: Target) -> tuple[str, str]:
    """What an answer is remembered by: the children's hash and the recipe."""
    return target.desired.child_hash or "", target.desired.recipe_hash


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
    _asked: deque[Material] = field(default_factory=deque)
    """What the summarizer is to be asked next."""
    _keys: set[tuple[str, str]] = field(default_factory=set)
    """What it has been asked."""
    _twins: list[Work] = field(default_factory=list)
    """Work over the same texts as another: it waits for that answer."""
    _total: int = 0
    _label: str = ""
    """What is being made, for who watches: sections and documents are counted apart."""
    _done: int = 0
    _held: list[SummaryOutcome] = field(default_factory=list)
    """Summaries that took no call, and whose embedding the budget does not cover before the flight is paid."""
    _reserved: Reservations = field(init=False)

    def __post_init__(self) -> None:
        self._reserved = Reservations(self.ctx)

    def make(self, work: Sequence[Work]) -> dict[NodeId, StoredSummary]:
        """Store a summary, or a failure, for every piece of work.

        Raises:
            BudgetExhausted: The next call may pass the budget; what was made is stored.
            QuotaExhausted: The endpoint's account is empty; what was made is stored.
            ModelRefusedAccess: The endpoint refuses every call.
        """
        self._total = len(work)
        self._label = " and ".join(sorted({item.target.kind.value.replace("_summary", "_summaries") for item in work}))
        remaining = iter(work)
        while True:
            try:
                self.ctx.summarizer.summarize_many(self._requests(remaining), self.store)
            except (ModelError, BuildInterrupted, KeyboardInterrupt):
                self._keep_lost_calls()
                raise
            if self._held:
                free, self._held = self._held, []
                self.store(free)
                continue
            if not self._asked:
                if not self._twins:
                    return self.made
                remaining, self._twins = iter(self._twins), []
                self._keys.clear()
                continue
            # The budget did not cover what was in flight and this one; by now the flight has been paid.
            price = self._reserved.dearest(request_for(self._asked[0], self.ctx))
            if not self._reserved.covers(price):
                raise exhausted(self.ctx, price)

    def _keep_lost_calls(self) -> None:
        """Enter calls that end without an outcome, such as the one that was refused, into the ledger."""
        calls = self.ctx.summarizer.take_calls() if isinstance(self.ctx.summarizer, Metered) else []
        if calls:
            self.ctx.record.ledger.add(self.ctx.name, self.ctx.run_id, calls)

    def _requests(self, remaining: Iterator[Work]) -> Iterator[SummaryRequest]:
        """Requests that need the summarizer and that the budget covers."""
        while True:
            while not self._asked:
                batch = list(islice(remaining, BATCH_TARGETS))
                if not batch:
                    return
                self._prepare(batch)
                if self._held:
                    return
            request = request_for(self._asked[0], self.ctx)
            if not self._reserved.covers(self._reserved.dearest(request)):
                return
            self._asked.popleft()
            self._reserved.hold(request)
            yield request

    def _prepare(self, batch: Sequence[Work]) -> None:
        """Store single children and remembered answers; the summarizer is to be asked for the others."""
        free: list[SummaryOutcome] = []
        answers = self.ctx.record.summaries.answers(self.ctx.name, {key_of(work.target) for work in batch})
        for item in load(self.ctx, batch):
            target = item.work.target
            key = key_of(target)
            if target.single:
                text = item.parts[0].strip()
                free.append(SummaryOutcome(target.id, text, "" if text else "its only child holds no words"))
            elif key in answers:
                self.report.shards[target.shard].remembered += 1
                free.append(SummaryOutcome(target.id, answers[key]))
            elif key in self._keys and self.ctx.summarizer.paid:
                self._twins.append(item.work)
                continue
            else:
                self._keys.add(key)
                self._asked.append(item)
            self._waiting[target.id] = item
        if not self._reserved.covers(sum(self._reserved.embedding(outcome.text) for outcome in free)):
            self._held = free
        elif free:
            self.store(free)

    def store(self, outcomes: Sequence[SummaryOutcome]) -> None:
        """Keep what was paid for first; then the summaries with their vectors in one transaction."""
        self._keep_paid(outcomes)
        rows = [self._row(outcome) for outcome in outcomes]
        usable = [row for row in rows if row.failure is None]
        failed = [row for row in rows if row.failure is not None and not self._waiting[row.id].work.stale]
        vectors = embed(self.ctx, [row.text for row in usable])
        places = [VectorRow(row.id, row.kind, row.level, row.document_id) for row in usable]
        with self.ctx.record.transaction() as record:
            record.summaries.save(self.ctx.name, usable + failed, self.ctx.dataset.retrieval.language)
            record.vectors.delete(self.ctx.name, [row.id for row in failed])
            record.vectors.upsert(self.ctx.name, self.ctx.embedder.embedding_hash, places, vectors)
        for row in usable + failed:
            self.made[row.id] = StoredSummary(
                row.id, row.kind, row.ordinal, row.child_hash, row.recipe_hash, row.text_hash, row.failure
            )
        for row, outcome in zip(rows, outcomes, strict=True):
            self._count(row, outcome)
        self.ctx.progress(self._label, self._done, self._total)

    def _keep_paid(self, outcomes: Sequence[SummaryOutcome]) -> None:
        paid = [outcome for outcome in outcomes if outcome.calls]
        if not paid:
            return
        calls = [call for outcome in paid for call in outcome.calls]
        answers, owners = {}, {}
        for outcome in paid:
            target = self._waiting[NodeId(outcome.key)].work.target
            key = key_of(target)
            if outcome.text:
                answers[key], owners[key] = outcome.text, target.owner
        with self.ctx.record.transaction() as record:
            record.ledger.add(self.ctx.name, self.ctx.run_id, calls)
            record.summaries.remember(self.ctx.name, answers, owners)

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
        self._reserved.release(row.id)
        self._done += 1
        tally = self.report.shards[target.shard]
        tally.add_calls(outcome.calls)
        if row.failure is None:
            tally.written += 1
            tally.embedded += 1
        else:
            # A reason may quote what an endpoint answered; the outcome of the last call is one of a few words.
            kind = outcome.calls[-1].outcome if outcome.calls else outcome.failure
            self.report.fail(
                target.shard,
                target.owner,
                explain(row.failure),
                f"{row.kind}: {kind}",
                node=row.kind,
                ordinal=row.ordinal,
            )


def named(ctx: BuildContext, problems: Sequence[Problem], trees: Sequence[DocumentTree] = ()) -> list[Problem]:
    """The problems with what a person knows documents, sections and clusters by."""
    rows = ctx.record.documents.rows(ctx.name) if problems else []
    return name_problems(problems, {str(row.id): row.path for row in rows}, trees)


def name_problems(
    problems: Sequence[Problem], paths: Mapping[str, str], trees: Sequence[DocumentTree]
) -> list[Problem]:
    """The problems named by ``paths`` of documents and the headings of the sections of ``trees``."""
    headings = {(str(tree.document_id), row.ordinal): row.heading for tree in trees for row in tree.sections}
    return [_named(problem, paths, headings) for problem in problems]


def _named(problem: Problem, paths: Mapping[str, str], headings: Mapping[tuple[str, int], str]) -> Problem:
    path = paths.get(problem.subject, "")
    if problem.node is NodeKind.CLUSTER_SUMMARY:
        where = f"cluster {problem.subject}"
    elif problem.node is NodeKind.SECTION_SUMMARY:
        heading = headings.get((problem.subject, problem.ordinal), "")
        where = f"{path}, section {problem.ordinal + 1}" + (f" '{heading}'" if heading else "")
    elif problem.node is NodeKind.CHUNK_SUMMARY:
        where = f"{path}, chunk {problem.ordinal + 1}"
    else:
        where = path
    return replace(problem, reason=f"{where}: {problem.reason}", path=path)


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
