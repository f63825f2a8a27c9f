"""What a build would do and what it would cost: pure values and the arithmetic over them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Estimate:
    """What depends on texts that are not written yet: bounds and the value to expect."""

    summaries: tuple[int, int, int]
    """Least, expected and most summaries to write."""
    least: Price
    expected: Price
    most: Price


@dataclass(frozen=True, slots=True)
class ClusterOutlook:
    """What a plan knows of the clusters before their members are written."""

    documents: int
    """Documents with a summary after the build."""
    clusters: int
    """Clusters after the build, as far as known."""
    stale: int
    """Clusters that are not fresh already."""
    changed: int
    """Documents that come, go or change."""
    tokens_in: int
    """Of an average cluster's call."""
    tokens_out: int
    first_build: bool


CALLS_PER_CHANGE = 1.8
"""Cluster summaries that one changed document dirties on average (docs/decisions/0004-clusters.md: 1.5 to 1.9)."""

MOST_CALLS_PER_CHANGE = 4
"""The same at most, as measured over 300 changes."""


def cluster_estimate(outlook: ClusterOutlook, prices: Prices, *, paid: bool) -> Estimate:
    """Least, expected and most of a level's cluster summaries; no call where the summarizer is free."""

    def price(calls: int) -> Price:
        if not paid:
            return Price()
        return priced(calls, calls * outlook.tokens_in, calls * outlook.tokens_out, prices)

    least, expected, most = _summaries(outlook)
    return Estimate((least, expected, most), price(least), price(expected), price(most))


def _summaries(outlook: ClusterOutlook) -> tuple[int, int, int]:
    if outlook.documents < 2:
        return 0, 0, 0
    if outlook.first_build:
        smallest, largest = _cluster_bounds(outlook)
        return smallest, outlook.clusters, largest
    expected = min(outlook.clusters, outlook.stale + round(CALLS_PER_CHANGE * outlook.changed))
    most = min(outlook.clusters + outlook.changed, outlook.stale + MOST_CALLS_PER_CHANGE * outlook.changed)
    return min(outlook.stale, expected), expected, max(most, expected)


def _cluster_bounds(outlook: ClusterOutlook) -> tuple[int, int]:
    """Folding pairs and dissolving small clusters lowers the number, splitting large ones raises it."""
    if outlook.clusters <= 1:
        return outlook.clusters, outlook.clusters
    return max(1, outlook.clusters * 2 // 3), outlook.clusters * 4 // 3 + 1


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a build would do."""

    dataset: str
    documents: dict[str, int]
    """Documents by what would happen to them: new, edited, moved, deleted, failed, unchanged."""
    actions: tuple[Action, ...]
    """Exact: chunk, section and document summaries."""
    clusters: Estimate
    embeddings: dict[str, int]
    """Texts to embed by cause."""
    embedding_tokens: int
    embedding_usd: float
    call_seconds: float
    """Wall time that one call adds at the set concurrency; 0 where no call is made."""
    seconds: float
    """Expected wall time of the calls at the set concurrency, and of the work on this machine."""
    paid: bool
    """Whether the summarizer makes calls; if not, the cluster level is counted as free."""
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

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
        changes = sum(count for what, count in self.documents.items() if what not in ("unchanged", "failed"))
        return not (changes or self.actions or self.embeddings or self.clusters.summaries[2])
