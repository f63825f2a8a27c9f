"""The level quota: so many leaves, so many summaries, and which leaves a summary brings along."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from overstory.errors import SettingsError

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Quota:
    """Slots by level."""

    leaves: int
    summaries: int

    def __post_init__(self) -> None:
        if self.leaves < 0 or self.summaries < 0 or self.leaves + self.summaries == 0:
            raise SettingsError(
                f"A search for {self.leaves} leaves and {self.summaries} summaries finds nothing",
                hint="Ask for at least one leaf or summary",
            )

    def leaf_slots(self, summaries_served: int) -> int:
        """Slots for leaves: those that summaries leave free are added, never the other way round.

        A short corpus therefore serves fewer nodes rather than paraphrases in the place of text.
        """
        return self.leaves + self.summaries - summaries_served if self.leaves else 0


def choose(ranked: Sequence[T], brought: Sequence[T], slots: int) -> list[T]:
    """Of ``ranked``, the first ``slots``, among them what summaries ``brought``; in the order given.

    What is brought comes first, but into no more than half of the slots: the other half is for the best-ranked
    leaves, so that a leaf with the fact asked for is not pushed out. What is brought and unranked stands last.
    """
    guests = list(dict.fromkeys(brought))[: slots // 2]
    ranked_ids = set(ranked)
    taken = {*guests, *[each for each in ranked if each not in guests][: slots - len(guests)]}
    return [each for each in ranked if each in taken] + [each for each in guests if each not in ranked_ids]
