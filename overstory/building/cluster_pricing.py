"""What the call for a cluster summary costs, before all of its members are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from overstory import facts
from overstory.building.cluster_foresight import Written
from overstory.building.context import BuildContext
from overstory.building.summaries import BATCH_TARGETS, key_of
from overstory.identity import NodeId
from overstory.nodes import NodeKind
from overstory.planning import Price, priced
from overstory.ports import SummaryRequest
from overstory.settings import Summaries
from overstory.sizes import base_tokens, size
from overstory.tree import Target

PLACEHOLDER = "."
"""A token that stands for those of a text that is not written yet."""


def placeholder(tokens: int) -> str:
    """A text of so many tokens."""
    return " ".join([PLACEHOLDER] * tokens)


def room_for_facts(kind: NodeKind, target_tokens: int, distinct: int, settings: Summaries) -> int:
    """How many of a summary's distinct facts its length has room for."""
    extra = max(0, target_tokens - base_tokens(kind, settings))
    more = extra // settings.tokens_per_fact if settings.tokens_per_fact else distinct
    return min(distinct, settings.facts_per_target + more)


def distinct_facts(texts: Iterable[str]) -> int:
    """Facts of texts that a summary is held to, each counted once."""
    found = (fact for text in texts for fact in facts.extract(text) if fact.kind in facts.GATED_KINDS)
    return len({(fact.kind, fact.value) for fact in found})


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A cluster summary with the children that it would be written from."""

    target: Target
    known: Mapping[NodeId, str | None]
    """Children whose text is known: the text where it is not stored yet."""
    open: tuple[Written, ...]
    """Children that are not written yet."""


@dataclass(frozen=True, slots=True)
class Priced:
    """What a summary costs, and what it will be like."""

    price: Price
    written: Written


@dataclass(frozen=True, slots=True)
class Pricing:
    """Prices cluster summaries of one plan."""

    ctx: BuildContext
    asked: set[tuple[str, str]]
    """Answers that would be paid for already."""

    def of(self, items: Sequence[Foreseen]) -> list[Priced]:
        """The price of each, as the build would ask for it where all children are known."""
        if not self.ctx.summarizer.paid:
            plain = Written(base_tokens(NodeKind.CLUSTER_SUMMARY, self.ctx.dataset.summaries), 0)
            return [Priced(Price(), plain) for _ in items]
        found: list[Priced] = []
        for start in range(0, len(items), BATCH_TARGETS):
            found += self._batch(items[start : start + BATCH_TARGETS])
        return found

    def typical(self, width: float, kind: NodeKind, written: Sequence[Written]) -> Priced:
        """A cluster of ``width`` members of a kind of which these are examples."""
        settings = self.ctx.dataset.summaries
        tokens, held = float(base_tokens(kind, settings)), float(settings.facts_per_target)
        if written:
            tokens = sum(one.tokens for one in written) / len(written)
            held = sum(one.facts for one in written) / len(written)
        parts = [placeholder(round(tokens))] * max(1, round(width))
        return self._ask(parts, round(width * held))

    def _batch(self, items: Sequence[Foreseen]) -> list[Priced]:
        record = self.ctx.record.summaries
        texts = record.texts({node for item in items for node, text in item.known.items() if text is None})
        answers = record.answers(self.ctx.name, {key_of(item.target) for item in items if not item.open})
        return [self._price(item, texts, answers) for item in items]

    def _price(self, item: Foreseen, texts: Mapping[NodeId, str], answers: Mapping[tuple[str, str], str]) -> Priced:
        known = [text or texts[node] for node, text in item.known.items()]
        if len(known) + len(item.open) == 1:
            return Priced(Price(), item.open[0] if item.open else self._text(known[0].strip()))
        key = key_of(item.target)
        if not item.open and key in answers:
            return Priced(Price(), self._text(answers[key]))
        distinct = distinct_facts(known) + sum(one.facts for one in item.open)
        found = self._ask([*known, *(placeholder(one.tokens) for one in item.open)], distinct)
        if not item.open:
            if key in self.asked:
                return Priced(Price(), found.written)
            self.asked.add(key)
        return found

    def _text(self, text: str) -> Written:
        return Written(self.ctx.tokenizer.count(text), distinct_facts([text]), text)

    def _ask(self, parts: Sequence[str], distinct: int) -> Priced:
        kind, settings = NodeKind.CLUSTER_SUMMARY, self.ctx.dataset.summaries
        length = size(kind, distinct, settings)
        request = SummaryRequest("", kind, tuple(parts), length.target_tokens, length.max_tokens)
        calls, tokens_in = self.ctx.summarizer.prompt_tokens(request)
        price = priced(calls, tokens_in, calls * length.target_tokens, self.ctx.dataset.prices)
        held = room_for_facts(kind, length.target_tokens, distinct, settings)
        return Priced(price, Written(length.target_tokens, held))
