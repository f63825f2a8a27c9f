"""What a build would do and what it would cost: pure values and the arithmetic over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce

from overstory.identity import NodeId
from overstory.nodes import NodeKind
from overstory.settings import Prices


@dataclass(frozen=True, slots=True)
class Price:
    """Calls, tokens and dollars."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0

    def __add__(self, other: Price) -> Price:
        """The sum of two prices."""
        return Price(
            self.calls + other.calls,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.usd + other.usd,
        )

    def times(self, number: float) -> Price:
        """So many of it."""
        calls, tokens_in, tokens_out = (round(number * part) for part in (self.calls, self.tokens_in, self.tokens_out))
        return Price(calls, tokens_in, tokens_out, number * self.usd)


def total(prices: Iterable[Price]) -> Price:
    """The sum of prices; nothing for none."""
    return sum(prices, Price())


def priced(calls: int, tokens_in: int, tokens_out: int, prices: Prices) -> Price:
    """Calls with their tokens, in dollars; free where there is no call."""
    if not calls:
        return Price()
    usd = (tokens_in * prices.usd_per_mtok_in + tokens_out * prices.usd_per_mtok_out) / 1_000_000
    return Price(calls, tokens_in, tokens_out, usd)


@dataclass(frozen=True, slots=True)
class Action:
    """One summary to be made."""

    node_id: NodeId
    kind: NodeKind
    level: int
    document: str
    """Path of its document; empty for a cluster."""
    cause: str
    price: Price


Bounds = tuple[int, int, int]
"""Least, expected and most."""


@dataclass(frozen=True, slots=True)
class LevelEstimate:
    """Cluster summaries of one level to be written for one cause."""

    level: int
    cause: str
    summaries: Bounds
    least: Price
    expected: Price
    most: Price

    def __add__(self, other: LevelEstimate) -> LevelEstimate:
        """Both together, of the same level and cause."""
        return LevelEstimate(
            self.level,
            self.cause,
            _added(self.summaries, other.summaries),
            self.least + other.least,
            self.expected + other.expected,
            self.most + other.most,
        )


def _added(one: Bounds, other: Bounds) -> Bounds:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What depends on texts that are not written yet: bounds and the value to expect."""

    summaries: Bounds
    """Summaries to write; each is embedded."""
    least: Price
    expected: Price
    most: Price
    levels: tuple[LevelEstimate, ...] = ()
    """The same by level and cause."""
    embedding_tokens: int = 0
    """Of the expected summaries."""
    reshaped: int = 0
    """Clusters whose members change, as far as known."""
    removed: int = 0
    """Clusters that go, as far as known."""


def summed(levels: Iterable[LevelEstimate], *, embedding_tokens: int, reshaped: int, removed: int) -> Estimate:
    """The estimate of all levels and causes, each once; those of nothing are left out."""
    found: dict[tuple[int, str], LevelEstimate] = {}
    for level in levels:
        key = level.level, level.cause
        if level.summaries[2]:
            found[key] = found[key] + level if key in found else level
    parts = tuple(found[key] for key in sorted(found))
    return Estimate(
        reduce(_added, (part.summaries for part in parts), (0, 0, 0)),
        total(part.least for part in parts),
        total(part.expected for part in parts),
        total(part.most for part in parts),
        parts,
        embedding_tokens,
        reshaped,
        removed,
    )


@dataclass(frozen=True, slots=True)
class Unplaced:
    """Documents whose clusters depend on a summary that is not written yet."""

    edits: int = 0
    """Members already: their own clusters are known to change."""
    additions: int = 0


CLUSTERS_PER_ADDITION = 1.84
MOVES_PER_EDIT = 0.13
"""Clusters dirtied on average beyond the member's own ones (docs/decisions/0004-clusters.md: 1.69 calls an edit at
1.56 memberships; 1.84 calls an addition)."""

MOST_PER_EDIT = 3
"""An edited member joins three clusters at most."""

MOST_PER_ADDITION = 6
"""A new member joins three clusters at most, and may make each of them split."""


def reached(clusters: int, changes: float, each: float) -> float:
    """How many of ``clusters`` are expected to change by ``changes`` that reach ``each`` of them independently."""
    if not clusters or not changes:
        return 0.0
    return clusters * float(1 - (1 - min(1.0, each / clusters)) ** changes)


def reached_by(documents: Unplaced, clusters: int, untouched: int) -> Bounds:
    """Least, expected and most clusters that unplaced documents change besides those known to change.

    Args:
        documents: Those whose place is not known.
        clusters: All clusters of the level.
        untouched: Those that change for no other reason.
    """
    if not clusters:
        return 0, 0, 0
    added = reached(clusters, documents.additions, CLUSTERS_PER_ADDITION)
    moved = reached(clusters, documents.edits, MOVES_PER_EDIT)
    spared = (1 - added / clusters) * (1 - moved / clusters)
    most = min(
        untouched + documents.additions,
        MOST_PER_ADDITION * documents.additions + MOST_PER_EDIT * documents.edits,
    )
    return 0, min(most, round(untouched * (1 - spared))), most


def fitted(clusters: int) -> Bounds:
    """How many clusters a fit ends with that starts with so many.

    Folding pairs and dissolving small clusters lowers the number, splitting large ones raises it.
    """
    if clusters <= 1:
        return clusters, clusters, clusters
    return max(1, clusters * 2 // 3), clusters, clusters * 4 // 3 + 1


def fitted_above(below: Bounds, start: Callable[[int], int]) -> Bounds:
    """How many clusters a fit over so many clusters ends with; none where they would be a staircase.

    Args:
        below: Clusters of the level below.
        start: The number that a fit of so many members starts with.
    """
    found = [_fitted_above(number, start(number)) for number in below]
    return min(least for least, _, _ in found), found[1][1], max(most for _, _, most in found)


def _fitted_above(members: int, start: int) -> Bounds:
    least, expected, most = fitted(start if members > 1 else 0)
    staircase = 2 * most > members
    return 0 if staircase else least, min(expected, members // 2), min(most, members // 2)


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a build would do."""

    dataset: str
    documents: dict[str, int]
    """Documents by what would happen to them: new, edited, reread, moved, deleted, failed, unchanged."""
    actions: tuple[Action, ...]
    """Exact: chunk, section and document summaries. One document summary less where its sections, made anew, come out
    word for word as they were."""
    clusters: Estimate
    embeddings: dict[str, int]
    """Texts to embed by cause, cluster summaries apart: exact."""
    embedding_tokens: int
    """Of all texts to embed, the expected cluster summaries included."""
    embedding_usd: float
    call_seconds: float
    """Wall time that one call adds at the set concurrency; 0 where no call is made."""
    seconds: float
    """Expected wall time of the calls at the set concurrency, and of the work on this machine."""
    paid: bool
    """Whether the summarizer makes calls; if not, the cluster level is counted as free."""
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    removed: int = 0
    """Chunk and section summaries that nothing asks for any more, in documents that stay as they are."""

    @property
    def embeddings_expected(self) -> int:
        """Texts to embed, cluster summaries included."""
        return sum(self.embeddings.values()) + self.clusters.summaries[1]

    @property
    def exact(self) -> Price:
        """The sum over the exact actions."""
        return total(action.price for action in self.actions)

    @property
    def expected(self) -> Price:
        """What the build should cost, embeddings apart."""
        return self.exact + self.clusters.expected

    @property
    def nothing_to_do(self) -> bool:
        """Whether a build would write nothing."""
        documents = sum(count for what, count in self.documents.items() if what not in ("unchanged", "failed"))
        clusters = self.clusters.summaries[2] or self.clusters.reshaped or self.clusters.removed
        return not (documents or self.actions or self.embeddings or clusters or self.removed)
