"""Replays commits through the use cases, and keeps what was seen after each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from overstory.building.documents import sync_documents
from overstory.building.leaves import cut_leaves
from overstory.building.report import Tally
from overstory.planning import Plan
from overstory.record import DocumentRow
from tests.scenarios.history import Commit, History, lay_out
from tests.scenarios.workbench import DATASET, Built, Workbench

Leaves = Mapping[str, Sequence[tuple[int, str, str]]]
"""Place, text and hash of every leaf, by path."""


@dataclass(frozen=True, slots=True)
class Step:
    """What was seen after a commit had been built."""

    commit: Commit
    plan: Plan
    """Of the build, made before it."""
    built: Built
    again: Tally
    """What a second build did."""
    embedded: int
    called: Counter[str]
    """Calls by node, failed ones too."""
    reworked: frozenset[str]
    """Summaries whose children are not what they were before, new ones too."""
    violations: tuple[str, ...]
    unfresh: int
    """Nodes that are not fresh."""
    outdated: tuple[str, ...]
    """Nodes that hold a removed value which no document beneath them has."""
    leaves: Leaves


@dataclass(slots=True)
class Replay:
    """An index that is brought from commit to commit."""

    bench: Workbench
    history: History
    removed: set[str] = field(default_factory=set)
    """Values that commits took away, up to the present one."""
    tree: Mapping[str, str] = field(default_factory=dict)
    """The documents built last, by path."""

    def steps(self, numbers: Collection[int]) -> Iterator[Step]:
        """Each of these commits, built over an index of the tree just before it."""
        for commit, before, after in self.history.trees():
            self.removed |= {squeeze(value) for values in commit.removed.values() for value in values}
            if commit.number in numbers:
                if self.tree != before:
                    self.bring_to(before)
                yield self._step(commit, after)

    def bring_to(self, tree: Mapping[str, str]) -> Built:
        """Build a tree."""
        self.tree = tree
        lay_out(self.bench, tree)
        return self.bench.build()

    def _step(self, commit: Commit, after: Mapping[str, str]) -> Step:
        former = self._child_hashes()
        lay_out(self.bench, after)
        plan = self.bench.plan()
        assert self.bench.embedder is not None
        self.bench.embedder.texts.clear()
        built = self.bring_to(after)
        embedded, called = len(self.bench.embedder.texts), self._called()
        return Step(
            commit=commit,
            plan=plan,
            built=built,
            again=self.bench.build().total,
            embedded=embedded,
            called=called,
            reworked=frozenset(
                node for node, made_from in self._child_hashes().items() if former.get(node) != made_from
            ),
            violations=tuple(self.bench.violations()),
            unfresh=len(self.bench.health().unfresh),
            outdated=tuple(outdated(self.bench, after, self.removed)),
            leaves=leaves(self.bench),
        )

    def _child_hashes(self) -> dict[str, str]:
        return {summary.id: summary.child_hash for summary in self.bench.inspection.summaries(DATASET)}

    def _called(self) -> Counter[str]:
        run = f"run {self.bench.runs}"
        return Counter(node for (node,) in self.bench.sql("select node_id::text from ledger where run_id = :r", r=run))


def squeeze(text: str) -> str:
    """A text with single spaces."""
    return " ".join(text.split())


def outdated(bench: Workbench, tree: Mapping[str, str], removed: Collection[str]) -> Iterator[str]:
    """Nodes that hold one of the values although no document beneath them does."""
    texts = {str(row.id): squeeze(tree[row.path]) for row in _rows(bench)}
    for kind, text, documents in _nodes(bench):
        held = squeeze(text)
        for value in removed:
            if value in held and not any(value in texts[document] for document in documents):
                yield f"{kind} over {sorted(documents)} holds {value}"


def leaves(bench: Workbench) -> Leaves:
    """The leaves of all documents."""
    paths = {str(row.id): row.path for row in _rows(bench)}
    found: dict[str, list[tuple[int, str, str]]] = {path: [] for path in paths.values()}
    for leaf in bench.inspection.leaves(DATASET):
        found[paths[leaf.document_id]].append((leaf.ordinal, leaf.readable, leaf.content_hash))
    return found


def cut_afresh(bench: Workbench) -> Leaves:
    """The leaves that a build makes in an empty record."""
    ctx = bench.context()
    sync_documents(ctx)
    cut_leaves(ctx)
    return leaves(bench)


def _rows(bench: Workbench) -> Sequence[DocumentRow]:
    return bench.record.documents.rows(DATASET)


def _nodes(bench: Workbench) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Every node: its kind, its text, and the documents beneath it."""
    for leaf in bench.inspection.leaves(DATASET):
        yield "leaf", leaf.readable, frozenset({leaf.document_id})
    members = {cluster: {member for member, _ in held} for cluster, held in bench.memberships().items()}
    for summary in bench.inspection.summaries(DATASET):
        beneath = {summary.document_id or summary.cluster_id or ""}
        while clusters := beneath & members.keys():
            beneath = (beneath - clusters).union(*(members[cluster] for cluster in clusters))
        yield summary.kind, summary.text, frozenset(beneath)
