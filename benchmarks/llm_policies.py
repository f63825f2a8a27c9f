"""Builds 57 real policies through the LLM path against a local server, twice from nothing.

    python -m benchmarks.llm_policies [--folder DIR] [--latency-ms 200] [--concurrency 16]

Figures to meet: input tokens at most 1.35 times the corpus, calls in flight never above the set number, wall time of
the levels at most 1.3 x calls x latency / concurrency + 2 s, peak memory at most 250 MB, every prompt byte-identical
when built again, ``import overstory`` at most 0.5 s, no connection but to the endpoint and the database.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.processes import COMMAND
from overstory.adapters.tokenizers import OpenAITokenizer
from tests.llm_server import LLMServer

Measured = dict[str, Any]

POLICIES = Path(__file__).resolve().parents[2] / "shared/data/demo/policies/docs"
SAMPLES = Path(__file__).resolve().parents[1] / "examples/corpus"

_CORE = """
import json, resource, sys, time
from pathlib import Path
addresses = set()
def note(event, arguments):
    if event == "socket.connect":
        addresses.add(str(arguments[1]))
sys.addaudithook(note)
from overstory import api, settings
from overstory.building.whole import STAGES

folder, name, url, concurrency = sys.argv[1:]
chosen = {"kind": "openai", "model": "stub", "base_url": url, "concurrency": int(concurrency)}
found = settings.parse({"datasets": {name: {"source": folder, "summarizer": chosen}}}, folder=Path.cwd())
record = api.open_record(api.home_of(found))
ctx = api.open_dataset(found.datasets[0], record, run_id=name, workers=1)
started = time.monotonic()
reports = [stage(ctx) for stage in STAGES]
seconds = time.monotonic() - started
record.close()
totals = [report.total for report in reports]
print(json.dumps({
    "seconds": seconds,
    "stages": {report.stage: report.seconds for report in reports},
    "calls": sum(t.calls for t in totals), "tokens_in": sum(t.tokens_in for t in totals),
    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "addresses": sorted(addresses),
}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=POLICIES if POLICIES.is_dir() else SAMPLES)
    parser.add_argument("--latency-ms", type=float, default=200)
    parser.add_argument("--concurrency", type=int, default=16)
    arguments = parser.parse_args()
    count = OpenAITokenizer().count
    corpus = sum(count(path.read_text(errors="replace")) for path in arguments.folder.rglob("*") if path.is_file())
    with LLMServer(latency_seconds=arguments.latency_ms / 1000) as server:
        first, prompts = _build(arguments.folder, server, arguments.concurrency)
        again, prompts_again = _build(arguments.folder, server, arguments.concurrency)
    limit = 1.3 * first["calls"] * arguments.latency_ms / 1000 / arguments.concurrency + 2
    print("| figure | measured | limit |\n|---|---|---|")
    print(f"| input tokens / corpus of {corpus:,} | {first['tokens_in'] / corpus:.3f} | 1.35 |")
    print(f"| calls, most in flight | {first['calls']}, {first['in_flight']} | {arguments.concurrency} in flight |")
    print(f"| wall s of all levels | {first['seconds']:.2f} | {limit:.2f} |")
    print(f"| peak memory MB of the core process | {first['peak_mb']:.0f} | 250 |")
    same = len(set(prompts) & set(prompts_again)) / max(1, len(set(prompts)))
    print(f"| prompts byte-identical when built again | {same:.0%} of {len(prompts)} | 100% |")
    print(f"| import overstory s | {_import_seconds():.2f} | 0.5 |")
    print(f"| addresses that Python connected to | {first['addresses']} | {server.base_url} |")
    print(
        f"\nstages: { ({stage: round(s, 2) for stage, s in first['stages'].items()}) }; again {again['seconds']:.2f} s"
    )


def _build(folder: Path, server: LLMServer, concurrency: int) -> tuple[Measured, list[str]]:
    """One build into an empty home: what it took, and the prompts that the server saw."""
    server.reset()
    with tempfile.TemporaryDirectory(prefix="overstory-benchmark-") as home:
        environ = {**os.environ, "OVERSTORY_HOME": str(Path(home, "home")), "OPENAI_API_KEY": "benchmark"}
        arguments = [sys.executable, "-c", _CORE, str(folder), "policies", server.base_url, str(concurrency)]
        try:
            done = subprocess.run(arguments, env=environ, check=True, capture_output=True, text=True)
        finally:
            subprocess.run([COMMAND, "stop"], env=environ, check=True, stdout=subprocess.DEVNULL)
    return {**json.loads(done.stdout), "in_flight": server.max_in_flight}, [call.prompt_hash for call in server.chats]


def _import_seconds() -> float:
    """Best of five imports, each in a process of its own, less the time of an empty process."""

    def best(code: str) -> float:
        times = []
        for _ in range(5):
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - started)
        return min(times)

    return best("import overstory") - best("pass")


if __name__ == "__main__":
    main()
