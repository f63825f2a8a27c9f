"""What single changes cost: a paragraph of a long document, growth in steps, nothing at all, and one number.

    python -m benchmarks.changes [paragraph] [growth] [number]

All three by default; they need ../shared. ``paragraph`` edits one paragraph of PEP 817 (26,000 tokens) at 20 places in
turn; ``growth`` starts with half of 691 PEPs and adds 5 % ten times; ``number`` builds the policies again, unchanged
and with one number edited.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections.abc import Iterator, Mapping

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
from tests.scenarios.history import lay_out, read_history
from tests.scenarios.workbench import Workbench

LONG = "peps/pep-0817.txt"
PLACES = 20
NUMBERED = (
    "Policies/github-terms/github-terms-of-service.md",
    "Policies/github-terms/github-sponsors-additional-terms.md",
)
"""One of several sections, and another."""
STEPS = 10
BEST_OF = 5


def paragraph(benches: Benches) -> None:
    """One paragraph changed in a long document."""
    benches.server.default = remembering(good)
    text = peps()[LONG]
    bench = benches.make()
    whole = _build(bench, {LONG: text})
    costs, better = [], 0
    for edited in _edits(text):
        costs.append(_build(bench, {LONG: edited}))
        kept = _kept(bench)
        fresh = benches.make()
        _build(fresh, {LONG: edited})
        better += kept >= _kept(fresh)
        benches.drop(fresh)
        built(bench, {LONG: text})
    tokens = sorted(cost.tokens_in.total() for cost in costs)
    sections = len({summary.id for summary in bench.inspection.summaries(DATASET) if summary.kind == "section_summary"})
    print(f"## One paragraph changed in {LONG}: {sections} sections, {PLACES} places\n")
    table(
        (
            "input tokens of its own summaries: median, most",
            f"{statistics.median(tokens):,.0f}, {tokens[-1]:,}",
            "6,000",
        ),
        ("calls: median, most", f"{statistics.median(_calls(costs)):.0f}, {max(_calls(costs))}", ""),
        ("input tokens of a rebuild", f"{whole.tokens_in.total():,}", ""),
        ("edits whose facts survive as in a rebuild", f"{better} of {len(costs)}", "all"),
    )


def _edits(text: str) -> Iterator[str]:
    """The text with a sentence more in one paragraph, at places all over it."""
    ends = [found.start() for found in re.finditer(r"(?<=[a-z]\.)\n\n(?=[A-Z])", text)]
    for place in range(PLACES):
        at = ends[(2 * place + 1) * len(ends) // (2 * PLACES)]
        yield f"{text[:at]} Since 2031-05-{place + 1:02d} the limit is {8600 + place} wheels.{text[at:]}"


def _kept(bench: Workbench) -> int:
    """Facts of their children that summaries of documents and sections state."""
    return int(bench.value("select sum(cast(fact_check ->> 'kept' as int)) from summary where document_id is not null"))


def growth(benches: Benches) -> None:
    """Ten insertions after a start from half."""
    documents = list(peps().items())
    half, step = len(documents) // 2, len(documents) // (2 * STEPS)
    trees = [dict(documents[: half + step * number]) for number in range(1, STEPS + 1)]
    print(f"## {STEPS} insertions of {step} documents after a start from {half}\n")
    rows = []
    for name, behavior in (("cutoff", good), ("every answer new", rephrasing)):
        benches.server.default = remembering(behavior)
        bench = benches.make()
        built(bench, dict(documents[:half]))
        grown = [_build(bench, tree) for tree in trees]
        again = [benches.rebuild(tree) for tree in trees]
        benches.drop(bench)
        one, other = (sum(cost.tokens for cost in costs) for costs in (grown, again))
        clusters, afresh = (sum(cost.calls["cluster_summary"] for cost in costs) for costs in (grown, again))
        rows += [
            (f"{name}: tokens in steps, rebuilding", f"{one:,}, {other:,}", ""),
            (f"{name}: tokens saved", f"{1 - one / other:.1%}", "60%"),
            (f"{name}: calls for clusters in steps, rebuilding", f"{clusters}, {afresh}", ""),
        ]
    table(*rows)


def number(benches: Benches) -> None:
    """The policies again: unchanged, and with one number edited."""
    benches.server.default = remembering(rephrasing)
    history = read_history(SHARED)
    tree = [after for _, _, after in history.trees()][-1]
    bench = benches.make()
    built(bench, tree)
    seconds, reading = _best(bench), _reading(bench)
    rows = bench.dump()
    bench.build()
    print(f"## {len(tree)} policies in process\n")
    table(
        ("unchanged: seconds beyond reading", f"{seconds - reading:.3f}", "0.1"),
        ("unchanged: calls, embeddings", f"{spent(bench).calls.total()}, {_embedded(bench)}", "0, 0"),
        ("unchanged: rows added or written", "none" if bench.dump() == rows else "some", "none"),
    )
    for path in NUMBERED:
        _one_number(bench, tree, path)


def _one_number(bench: Workbench, tree: Mapping[str, str], path: str) -> None:
    edited = re.sub(r"\b(\d+)( (?:\w+ )?days)", lambda m: f"{int(m[1]) + 1}{m[2]}", tree[path], count=1)
    assert edited != tree[path], path
    former = {summary.id: summary.child_hash for summary in bench.inspection.summaries(DATASET)}
    lay_out(bench, {**tree, path: edited})
    _embedded(bench)
    started = time.monotonic()
    done = bench.build()
    seconds = time.monotonic() - started
    cost = spent(bench)
    leaves, every = done.stage("leaves").embedded, _embedded(bench)
    written = {s.id for s in bench.inspection.summaries(DATASET) if former.get(s.id) != s.child_hash}
    clusters = sum(bench.id_of(path) in dict(members) for members in bench.memberships().values())
    table(
        (f"one number in {path.rpartition('/')[2]}: seconds", f"{seconds:.2f}", "0.5"),
        ("calls by level", str(dict(cost.calls)), f"1 a level, {clusters} clusters hold it"),
        ("calls for nodes off its path", str(cost.calls.total() - len(written)), "0"),
        ("leaves embedded", str(leaves), "1"),
        ("texts embedded, summaries included", str(every), f"{1 + cost.calls.total()}"),
    )
    built(bench, tree)


def _build(bench: Workbench, tree: Mapping[str, str]) -> Spent:
    built(bench, tree)
    return spent(bench)


def _calls(costs: list[Spent]) -> list[int]:
    return [cost.calls.total() for cost in costs]


def _embedded(bench: Workbench) -> int:
    """Texts embedded since this was last asked."""
    assert bench.embedder is not None
    texts = len(bench.embedder.texts)
    bench.embedder.texts.clear()
    return texts


def _best(bench: Workbench) -> float:
    """Seconds of an unchanged build."""
    times = []
    for _ in range(BEST_OF):
        _embedded(bench)
        started = time.monotonic()
        bench.build()
        times.append(time.monotonic() - started)
    return min(times)


def _reading(bench: Workbench) -> float:
    """Seconds of listing and reading the files."""
    source = bench.context().source
    times = []
    for _ in range(BEST_OF):
        started = time.monotonic()
        for file in source.files():
            source.read(file.path)
        times.append(time.monotonic() - started)
    return min(times)


PARTS = {"paragraph": paragraph, "growth": growth, "number": number}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    with opened() as benches:
        for part in parser.parse_args().parts or PARTS:
            PARTS[part](benches)


if __name__ == "__main__":
    main()
