"""What a stage of a build did, by shard."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, fields

from overstory.nodes import NodeKind
from overstory.ports import Call


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be made; everything else went on."""

    subject: str
    """Id of the document or cluster."""
    reason: str
    """For people: may name the document."""
    kind: str
    """For what is kept for ever: no name and no text of a document in it."""
    node: NodeKind | None = None
    """Of a summary."""
    ordinal: int = 0
    """Of a section or chunk in its document, from 0."""
    path: str = ""
    """Of the document, for people; empty for a cluster."""


@dataclass(slots=True)
class Tally:
    """Counts of one shard, or of a whole stage."""

    written: int = 0
    unchanged: int = 0
    deleted: int = 0
    failed: int = 0
    remembered: int = 0
    """Written from an answer that was paid for earlier."""
    embedded: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0
    call_seconds: float = 0.0

    def add_calls(self, calls: tuple[Call, ...]) -> None:
        """Count calls, their tokens and their price."""
        self.calls += len(calls)
        self.tokens_in += sum(call.tokens_in for call in calls)
        self.tokens_out += sum(call.tokens_out for call in calls)
        self.usd += sum(call.usd for call in calls)
        self.call_seconds += sum(call.seconds for call in calls)

    def __iadd__(self, other: Tally) -> Tally:
        """Add another tally's counts to this one."""
        for item in fields(Tally):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))
        return self


@dataclass(slots=True)
class StageReport:
    """What a stage did."""

    stage: str
    shards: dict[int, Tally] = field(default_factory=lambda: defaultdict(Tally))
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What a person should know though nothing failed, such as withheld deletions."""
    seconds: float = 0.0

    @property
    def total(self) -> Tally:
        """The sum over all shards."""
        total = Tally()
        for tally in self.shards.values():
            total += tally
        return total

    def fail(
        self, shard: int, subject: str, reason: str, kind: str, *, node: NodeKind | None = None, ordinal: int = 0
    ) -> None:
        """Count a failure and keep its reason; ``node`` and ``ordinal`` of a summary."""
        self.shards[shard].failed += 1
        self.problems.append(Problem(subject, reason, kind, node, ordinal))
