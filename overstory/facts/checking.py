"""Survival: which of its sources' facts a summary states, and which it made up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypedDict

from overstory.facts.model import GATED_KINDS, Fact, FactKind, split_limit


class StatedFact(TypedDict):
    """A fact as it is kept in a record."""

    kind: str
    surface: str
    value: str


class FactCheckRecord(TypedDict):
    """A fact check as it is kept in a record."""

    facts: int
    kept: int
    by_kind: dict[str, tuple[int, int]]
    unsupported: list[StatedFact]
    lost: list[StatedFact]


@dataclass(frozen=True, slots=True)
class KindCount:
    """Distinct facts of one kind."""

    facts: int
    """In the sources."""
    kept: int
    """Of them in the summary."""


@dataclass(frozen=True, slots=True)
class FactCheck:
    """What a summary kept, lost and made up of its sources' gated facts."""

    facts: int
    """Distinct gated facts of the sources."""
    kept: int
    """Of them in the summary."""
    unsupported: tuple[Fact, ...]
    """Gated facts of the summary that no source states."""
    by_kind: Mapping[FactKind, KindCount]
    """Every kind that the sources hold; names too, though they count nowhere else."""
    lost: tuple[Fact, ...] = ()
    """Gated facts of the sources that the summary does not state, in the sources' order."""

    @property
    def survival(self) -> float | None:
        """Share of the facts that are kept, 0 to 1; None where the sources hold none: not applicable."""
        return self.kept / self.facts if self.facts else None

    def to_json(self) -> FactCheckRecord:
        """A plain dictionary for a record."""
        return FactCheckRecord(
            facts=self.facts,
            kept=self.kept,
            by_kind={kind.value: (count.facts, count.kept) for kind, count in self.by_kind.items()},
            unsupported=[_stated(fact) for fact in self.unsupported],
            lost=[_stated(fact) for fact in self.lost],
        )

    @classmethod
    def from_json(cls, record: FactCheckRecord) -> FactCheck:
        """What ``to_json`` gave; the places of facts in their texts are not kept (0, 0)."""
        return cls(
            record["facts"],
            record["kept"],
            tuple(_fact(stated) for stated in record["unsupported"]),
            {FactKind(kind): KindCount(*counts) for kind, counts in record["by_kind"].items()},
            tuple(_fact(stated) for stated in record["lost"]),
        )


def _stated(fact: Fact) -> StatedFact:
    return StatedFact(kind=fact.kind.value, surface=fact.surface, value=fact.value)


def _fact(stated: StatedFact) -> Fact:
    return Fact(FactKind(stated["kind"]), stated["surface"], stated["value"], 0, 0)


def check(source: Iterable[Fact], summary: Iterable[Fact]) -> FactCheck:
    """Compare distinct facts by kind and value.

    A limit that one side leaves out does not part two amounts (at most 30 days, 30 days); two different limits do.
    A date that a source gives more exactly supports the coarser one of a summary, not the other way round.
    """
    wanted = _distinct(source)
    stated = _distinct(summary)
    stated_limits, wanted_limits = _limits(stated), _limits(wanted)
    kept = {key for key in wanted if _states(stated_limits, key)}
    coarser = _coarser_dates(wanted)
    return FactCheck(
        facts=sum(kind in GATED_KINDS for kind, _ in wanted),
        kept=sum(kind in GATED_KINDS for kind, _ in kept),
        unsupported=tuple(
            fact
            for key, fact in stated.items()
            if key[0] in GATED_KINDS and key[1] not in coarser and not _states(wanted_limits, key)
        ),
        by_kind=_by_kind(wanted, kept),
        lost=tuple(fact for key, fact in wanted.items() if key[0] in GATED_KINDS and key not in kept),
    )


_Key = tuple[FactKind, str]


def _distinct(facts: Iterable[Fact]) -> dict[_Key, Fact]:
    found: dict[_Key, Fact] = {}
    for fact in facts:
        found.setdefault((fact.kind, fact.value), fact)
    return found


def _limits(facts: Iterable[_Key]) -> dict[_Key, set[str]]:
    limits: dict[_Key, set[str]] = {}
    for kind, value in facts:
        limit, amount = split_limit(value)
        limits.setdefault((kind, amount), set()).add(limit)
    return limits


def _states(limits: Mapping[_Key, set[str]], key: _Key) -> bool:
    limit, amount = split_limit(key[1])
    stated = limits.get((key[0], amount))
    if stated is None:
        return False
    loose = ("", "~")
    return limit in loose or limit in stated or any(known in loose for known in stated)


def _coarser_dates(facts: Iterable[_Key]) -> set[str]:
    """The days, months and years that exact dates imply."""
    coarser: set[str] = set()
    for kind, value in facts:
        if kind is FactKind.DATE and value[:1].isdigit() and ".." not in value:
            day = value[:10]
            coarser |= {day, day[:7], day[:4], f"-{day[4:]}"}
    return coarser


def _by_kind(wanted: Iterable[_Key], kept: set[_Key]) -> dict[FactKind, KindCount]:
    counts: dict[FactKind, list[int]] = {}
    for key in wanted:
        count = counts.setdefault(key[0], [0, 0])
        count[0] += 1
        count[1] += key in kept
    return {kind: KindCount(*counts[kind]) for kind in FactKind if kind in counts}
