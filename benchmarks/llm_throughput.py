"""Wall time of the summarizer against a server with a fixed latency, beside the arithmetic bound.

    python -m benchmarks.llm_throughput [--requests 2000] [--latency-ms 500] [--concurrency 64]

The bound is requests x latency / concurrency; the goal is 1.2 times that. The server runs in a process of
its own on the same machine, so both share its cores.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from overstory.adapters.openai_client import OpenAISummarizer
from overstory.adapters.tokenizers import OpenAITokenizer
from overstory.nodes import NodeKind
from overstory.ports import SummaryOutcome, SummaryRequest

GOAL = 1.2
STORE_SECONDS = 0.005
"""A commit of a group of outcomes."""


@dataclass(frozen=True, slots=True)
class Setting:
    requests: int
    latency_ms: float
    concurrency: int

    @property
    def bound_seconds(self) -> float:
        return self.requests * self.latency_ms / 1000 / self.concurrency


@contextmanager
def server(latency_ms: float) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.llm_server", "--latency-ms", str(latency_ms)]
    root = Path(__file__).parents[1]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


def requests(number: int) -> Iterator[SummaryRequest]:
    """Requests of about 1,000 tokens each."""
    for i in range(number):
        lines = [f"On 2025-07-{j % 28 + 1:02d} limit {j} of plan {i} changed to {i + j} GB." for j in range(40)]
        yield SummaryRequest(str(i), NodeKind.DOCUMENT_SUMMARY, ("\n".join(lines),), 220, 440)


def measure(setting: Setting) -> dict[str, float]:
    stored = 0

    def store(outcomes: Sequence[SummaryOutcome]) -> None:
        nonlocal stored
        time.sleep(STORE_SECONDS)
        stored += sum(1 for outcome in outcomes if not outcome.failure)

    with server(setting.latency_ms) as url:
        model = OpenAISummarizer(
            base_url=url, model="stub", tokenizer=OpenAITokenizer(), concurrency=setting.concurrency
        )
        model.summarize_many(requests(1), store)  # imports and vocabulary are no throughput
        stored = 0
        used = cpu_seconds()
        started = time.perf_counter()
        model.summarize_many(requests(setting.requests), store)
        wall = time.perf_counter() - started
        used = cpu_seconds() - used
        stats = json.load(urllib.request.urlopen(f"{url.removesuffix('/v1')}/stats"))
    return {
        "requests": stored,
        "tokens/request": round(stats["tokens_in"] / max(1, stats["calls"] - 1)),
        "max in flight": stats["max_in_flight"],
        "bound s": setting.bound_seconds,
        "wall s": wall,
        "wall / bound": wall / setting.bound_seconds if setting.bound_seconds else float("nan"),
        "calls/s": stored / wall,
        "client CPU ms/call": 1000 * used / setting.requests,
    }


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--latency-ms", type=float, default=500)
    parser.add_argument("--concurrency", type=int, default=64)
    arguments = parser.parse_args()
    setting = Setting(arguments.requests, arguments.latency_ms, arguments.concurrency)
    result = measure(setting)
    for name, value in result.items():
        print(f"{name:<20} {value:>10.2f}")
    if setting.bound_seconds:
        verdict = "met" if result["wall / bound"] <= GOAL else "MISSED"
        print(f"goal: wall <= {GOAL} x bound: {verdict}")


if __name__ == "__main__":
    main()
