"""The extractive summarizer behind the port."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from overstory.adapters.tokenizers import OpenAITokenizer
from overstory.extractive import ExtractiveSummarizer
from overstory.nodes import NodeKind
from overstory.ports import SummaryOutcome, SummaryRequest, Tokenizer


class OtherTokenizer:
    name = "other"

    def count(self, text: str) -> int:
        return len(text)


def requests(number: int, text: str = "It costs $49.") -> Iterator[SummaryRequest]:
    for n in range(number):
        yield SummaryRequest(f"node-{n}", NodeKind.DOCUMENT_SUMMARY, (text,), 220, 440)


def outcomes(summarizer: ExtractiveSummarizer, asked: Iterator[SummaryRequest]) -> list[Sequence[SummaryOutcome]]:
    batches: list[Sequence[SummaryOutcome]] = []
    summarizer.summarize_many(asked, batches.append)
    return batches


def test_outcomes_are_stored_in_order_and_in_batches() -> None:
    batches = outcomes(ExtractiveSummarizer(OpenAITokenizer), requests(130))
    assert [len(batch) for batch in batches] == [64, 64, 2]
    assert [outcome.key for batch in batches for outcome in batch] == [f"node-{n}" for n in range(130)]


def test_processes_give_the_same_outcomes() -> None:
    here = outcomes(ExtractiveSummarizer(OpenAITokenizer), requests(70))
    there = outcomes(ExtractiveSummarizer(OpenAITokenizer, workers=2), requests(70))
    assert here == there


def test_children_without_words_are_a_failure_with_its_reason() -> None:
    [[outcome]] = outcomes(ExtractiveSummarizer(OpenAITokenizer), requests(1, " \n "))
    assert (outcome.text, outcome.failure) == ("", "the children hold no words")


def test_stop_by_the_caller_reaches_the_caller() -> None:
    def stop(batch: Sequence[SummaryOutcome]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ExtractiveSummarizer(OpenAITokenizer, workers=2).summarize_many(requests(200), stop)


def test_summaries_cost_nothing() -> None:
    summarizer = ExtractiveSummarizer(OpenAITokenizer)
    assert [summarizer.prompt_tokens(request) for request in requests(1)] == [(0, 0)]
    assert not summarizer.paid


@pytest.mark.parametrize("kind", list(NodeKind))
def test_recipe_is_stable_for_a_kind(kind: NodeKind) -> None:
    assert ExtractiveSummarizer(OpenAITokenizer).recipe_hash(kind) == ExtractiveSummarizer(
        OpenAITokenizer, workers=2
    ).recipe_hash(kind)


def test_recipe_differs_by_kind_and_by_tokenizer() -> None:
    def recipe(make: type[Tokenizer], kind: NodeKind) -> str:
        return ExtractiveSummarizer(make).recipe_hash(kind)

    recipes = {
        recipe(OpenAITokenizer, NodeKind.DOCUMENT_SUMMARY),
        recipe(OpenAITokenizer, NodeKind.CLUSTER_SUMMARY),
        recipe(OtherTokenizer, NodeKind.DOCUMENT_SUMMARY),
    }
    assert len(recipes) == 3
