"""The summarizer with a real, small language model, over documents of the sample corpus."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from overstory.adapters.openai_client import OpenAISummarizer
from overstory.adapters.tokenizers import OpenAITokenizer
from overstory.nodes import NodeKind
from overstory.normalization import decode, normalize
from overstory.ports import SummaryOutcome, SummaryRequest

URL = os.environ.get("OVERSTORY_TEST_LLM_URL", "")
CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
WINDOW_TOKENS = 3000
"""Below the server's 4,096: its vocabulary makes more tokens of a text than the one that counts here."""

pytestmark = [
    pytest.mark.llm,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not URL, reason="OVERSTORY_TEST_LLM_URL is not set: run `make test-llm`"),
]


def documents(number: int) -> list[Path]:
    """Every third document, so that each folder is among them."""
    return sorted(CORPUS.rglob("*.md"))[::3][:number]


def request(path: Path, target_tokens: int = 120) -> SummaryRequest:
    text = normalize(decode(path.read_bytes()))
    parts = tuple(part for part in text.split("\n## ") if part.strip())
    return SummaryRequest(path.name, NodeKind.DOCUMENT_SUMMARY, parts, target_tokens, 2 * target_tokens)


def model() -> OpenAISummarizer:
    return OpenAISummarizer(
        base_url=URL,
        model="smollm2",
        tokenizer=OpenAITokenizer(),
        concurrency=2,
        timeout_seconds=600,
        window_tokens=WINDOW_TOKENS,
    )


def summarize(*requests: SummaryRequest) -> dict[str, SummaryOutcome]:
    outcomes: list[SummaryOutcome] = []
    model().summarize_many(requests, outcomes.extend)
    return {outcome.key: outcome for outcome in outcomes}


def test_real_model_writes_summaries_or_fails_with_a_reason() -> None:
    paths = documents(6)

    outcomes = summarize(*(request(path) for path in paths))

    assert set(outcomes) == {path.name for path in paths}
    assert all(bool(outcome.text) != bool(outcome.failure) for outcome in outcomes.values())
    assert any(outcome.text for outcome in outcomes.values())
    assert all(call.tokens_in > 0 for outcome in outcomes.values() for call in outcome.calls)


def test_real_model_reads_what_exceeds_its_window_in_pieces() -> None:
    parts = tuple(part for path in documents(6) for part in request(path).parts)

    outcome = summarize(SummaryRequest("long", NodeKind.DOCUMENT_SUMMARY, parts, 120, 240))["long"]

    assert len(outcome.calls) >= 2
    assert "context overflow" not in {call.outcome for call in outcome.calls}


def test_real_server_reports_an_overflow_in_words_that_are_known() -> None:
    text = " ".join(f"Limit {i} is {i} GB since 2025-07-01." for i in range(500))
    outcomes: list[SummaryOutcome] = []
    unaware = OpenAISummarizer(base_url=URL, model="smollm2", tokenizer=OpenAITokenizer(), timeout_seconds=600)

    unaware.summarize_many([SummaryRequest("a", NodeKind.SECTION_SUMMARY, (text,), 60, 120)], outcomes.extend)

    assert outcomes[0].calls[0].outcome == "context overflow"
