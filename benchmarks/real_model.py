"""What a real, small model makes of documents of the sample corpus: valid summaries, calls, facts, speed.

python -m benchmarks.real_model_server -- .venv/bin/python -m benchmarks.real_model [--documents 10] [--show]
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path

from overstory import facts
from overstory.adapters.openai_client import OpenAISummarizer
from overstory.adapters.tokenizers import OpenAITokenizer
from overstory.nodes import NodeKind
from overstory.normalization import decode, normalize
from overstory.ports import SummaryOutcome, SummaryRequest

CORPUS = Path(__file__).parents[1] / "examples" / "corpus"
TARGET_TOKENS = 220
WINDOW_TOKENS = 3000
"""Below the server's 4,096: its vocabulary makes more tokens of a text than the one that counts here."""


def requests(number: int) -> dict[str, SummaryRequest]:
    """Every third document of the corpus, cut at its headings, by file name."""
    chosen = {}
    for path in sorted(CORPUS.rglob("*.md"))[::3][:number]:
        text = normalize(decode(path.read_bytes()))
        parts = tuple(part for part in text.split("\n## ") if part.strip())
        chosen[path.name] = SummaryRequest(
            path.name, NodeKind.DOCUMENT_SUMMARY, parts, TARGET_TOKENS, 2 * TARGET_TOKENS
        )
    return chosen


def row(request: SummaryRequest, outcome: SummaryOutcome) -> str:
    """One document: what it cost and what its summary kept."""
    source = facts.extract("\n\n".join(request.parts))
    check = facts.check(source, facts.extract(outcome.text))
    calls = ", ".join(call.outcome for call in outcome.calls)
    tokens_in = sum(call.tokens_in for call in outcome.calls)
    tokens_out = sum(call.tokens_out for call in outcome.calls)
    seconds = sum(call.seconds for call in outcome.calls)
    return (
        f"{outcome.key:<40}{tokens_in:>8}{tokens_out:>8}{seconds:>8.0f}{check.kept:>5}/{check.facts:<5}"
        f"{len(check.unsupported):>8}  {outcome.failure or 'valid':<16}{calls}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--documents", type=int, default=10)
    parser.add_argument("--concurrency", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the summaries too")
    arguments = parser.parse_args()
    url = os.environ.get("OVERSTORY_TEST_LLM_URL")
    if url is None:
        print("Nothing measured: OVERSTORY_TEST_LLM_URL is not set; see the first lines of this file")
        return
    chosen = requests(arguments.documents)
    model = OpenAISummarizer(
        base_url=url,
        model="smollm2",
        tokenizer=OpenAITokenizer(),
        concurrency=arguments.concurrency,
        timeout_seconds=1800,
        window_tokens=WINDOW_TOKENS,
    )
    print(f"{'document':<40}{'tokens':>8}{'out':>8}{'s':>8}{'facts':>11}{'invented':>9}  outcome         calls")

    def store(outcomes: Sequence[SummaryOutcome]) -> None:
        for outcome in outcomes:
            print(row(chosen[outcome.key], outcome), flush=True)
            if arguments.show:
                print(outcome.text, end="\n\n", flush=True)

    started = time.perf_counter()
    model.summarize_many(chosen.values(), store)
    print(f"{len(chosen)} documents in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
