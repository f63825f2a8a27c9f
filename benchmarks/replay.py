"""Replays the 167 commits of 57 real policies: what each costs, beside a rebuild, and what it leaves alone.

    python -m benchmarks.replay [policies] [peps] [--commits 167]

``policies`` replays them alone, ``peps`` among 691 PEPs; both by default. Needs ../shared. Three summarizers: sentences
of the source (free: seconds are measured with it), a model that gives equal answers where what it picks stays the same
(early cutoff), and one whose every answer is new (no cutoff). What a rebuild costs is measured at every 16th commit.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.benches import (
    DATASET,
    SHARED,
    Benches,
    Spent,
    built,
    opened,
    peps,
    remembering,
    rephrasing,
    spent,
    table,
)
from tests.llm_behaviors import good
from tests.scenarios.history import Commit, History, read_history
from tests.scenarios.workbench import Workbench

REBUILDS_APART = 16
LEVELS = ("section_summary", "document_summary", "cluster_summary")
MODELS = {"cutoff": (good, "2.2"), "every answer new": (rephrasing, "3")}


@dataclass(slots=True)
class Costs:
    """Sums over a replay."""

    changed: int = 0
    """Documents that came, went or say something else."""
    spaced: int = 0
    """Documents whose white space alone changed."""
    calls: dict[str, int] = field(default_factory=lambda: dict.fromkeys(LEVELS, 0))
    spaced_calls: int = 0
    """For documents whose white space alone changed; all calls of a commit of nothing else."""
    spaced_embedded: int = 0
    """Texts embedded in commits of nothing else."""
    tokens_in: int = 0
    tokens_out: int = 0
    rebuilt: list[tuple[int, int]] = field(default_factory=list)
    """Tokens in and out of first builds on the way."""
    identical: list[float] = field(default_factory=list)
    """Share of cluster summaries that a commit left alone, byte for byte."""
    seconds: list[float] = field(default_factory=list)

    def add(self, commit: Commit, bench: Workbench, cost: Spent) -> None:
        """Count a commit's calls."""
        spaced = [change for change in commit.changes if change.white_space_only]
        self.changed += len(commit.changes) - len(spaced)
        self.spaced += len(spaced)
        for kind in LEVELS:
            self.calls[kind] += cost.calls[kind]
        self.tokens_in += cost.tokens_in.total()
        self.tokens_out += cost.tokens_out
        if commit.white_space_only:
            self.spaced_calls += cost.calls.total()
            self.spaced_embedded += len(bench.embedder.texts) if bench.embedder else 0
        else:
            self.spaced_calls += sum(cost.documents[bench.id_of(change.path)] for change in spaced)


def replay(
    bench: Workbench, history: History, others: Mapping[str, str], commits: int, benches: Benches | None = None
) -> Costs:
    """Replay the history among other documents; measures rebuilds where it is told on which benches."""
    built(bench, {**others, **history.baseline})
    costs = Costs()
    for commit, _, after in list(history.trees())[:commits]:
        before = _clusters(bench)
        if bench.embedder:
            bench.embedder.texts.clear()
        started = time.monotonic()
        built(bench, {**others, **after})
        costs.seconds.append(time.monotonic() - started)
        now = _clusters(bench)
        costs.identical.append(len(before.items() & now.items()) / max(len(before), len(now)))
        costs.add(commit, bench, spent(bench))
        if benches is not None and commit.number % REBUILDS_APART == 0:
            afresh = benches.rebuild({**others, **after})
            costs.rebuilt.append((afresh.tokens_in.total(), afresh.tokens_out))
    return costs


def _clusters(bench: Workbench) -> dict[str, str]:
    found = bench.inspection.summaries(DATASET)
    return {summary.id: summary.text for summary in found if summary.kind == "cluster_summary"}


def show(name: str, costs: Costs, limit: str, identical_limit: str) -> None:
    """Print one replay through a model."""
    sections, documents, clusters = (costs.calls[kind] for kind in LEVELS)
    each = (documents + clusters) / costs.changed
    print(f"### {name}: {costs.changed} documents changed, {costs.spaced} in white space alone\n")
    table(
        ("calls a changed document, sections apart", f"{each:.2f}", f"{limit} with sections"),
        ("calls a changed document, all", f"{each + sections / costs.changed:.2f}", limit),
        ("of sections, documents, clusters", f"{sections}, {documents}, {clusters}", ""),
        ("calls for white space alone", str(costs.spaced_calls), "0"),
        ("embeddings in commits of white space alone", str(costs.spaced_embedded), "0"),
        ("tokens in, out, all commits", f"{costs.tokens_in:,}, {costs.tokens_out:,}", ""),
        (
            "the same, a changed document",
            f"{costs.tokens_in / costs.changed:,.0f}, {costs.tokens_out / costs.changed:,.0f}",
            "",
        ),
        *_against_rebuilds(costs),
        ("cluster summaries identical, mean of commits", f"{statistics.mean(costs.identical):.1%}", identical_limit),
        ("commits that leave all clusters alone", f"{costs.identical.count(1.0)} of {len(costs.identical)}", ""),
    )


def _against_rebuilds(costs: Costs) -> list[tuple[str, str, str]]:
    if not costs.rebuilt:
        return []
    mean_in, mean_out = (statistics.mean(side) for side in zip(*costs.rebuilt, strict=True))
    commits = len(costs.seconds)
    saved = 1 - (costs.tokens_in + costs.tokens_out) / ((mean_in + mean_out) * commits)
    return [
        ("a rebuild each commit: tokens in, out", f"{mean_in * commits:,.0f}, {mean_out * commits:,.0f}", ""),
        (
            "the same, a changed document",
            f"{mean_in * commits / costs.changed:,.0f}, {mean_out * commits / costs.changed:,.0f}",
            "",
        ),
        ("tokens saved", f"{saved:.1%}", ""),
    ]


def run(benches: Benches, name: str, history: History, others: Mapping[str, str], commits: int) -> None:
    """Replay the history with each summarizer."""
    free = benches.make(paid=False)
    seconds = sorted(replay(free, history, others, commits).seconds)
    benches.drop(free)
    print(f"## {name}\n")
    middle, high = statistics.median(seconds), seconds[len(seconds) * 95 // 100]
    table(("seconds a commit, free summaries: median, p95, most", f"{middle:.2f}, {high:.2f}, {seconds[-1]:.2f}", ""))
    for model, (behavior, limit) in MODELS.items():
        benches.server.default = remembering(behavior)
        bench = benches.make()
        costs = replay(bench, history, others, commits, None if others else benches)
        benches.drop(bench)
        show(f"{name}, {model}", costs, limit, "97%" if others else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], "policies", "peps"], default=[])
    parser.add_argument("--commits", type=int, default=167)
    arguments = parser.parse_args()
    history = read_history(SHARED)
    with opened() as benches:
        for part in arguments.parts or ["policies", "peps"]:
            run(benches, part, history, peps() if part == "peps" else {}, arguments.commits)


if __name__ == "__main__":
    main()
