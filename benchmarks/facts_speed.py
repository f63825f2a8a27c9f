"""How fast facts are extracted, and how well labeled passages are read.

Run: ``python -m benchmarks.facts_speed ../shared/data``
"""

from __future__ import annotations

import json
import lzma
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from overstory.facts import GATED_KINDS, Fact, extract

KINDS = {"fiscal_year": "quarter"} | {kind.value: kind.value for kind in GATED_KINDS}


def texts(data: Path) -> list[str]:
    """The PEPs of the evaluation data, 13.7 MB."""
    with lzma.open(data / "eval" / "peps" / "corpus.jsonl.xz", "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def megabytes_per_second(corpus: list[str], *, names: bool) -> float:
    """Characters a CPU second, in millions."""
    start = time.process_time()
    for text in corpus:
        extract(text, names=names)
    return sum(map(len, corpus)) / (time.process_time() - start) / 1e6


def matches(label: dict[str, str], fact: Fact) -> bool:
    """Whether kinds agree and one surface lies in the other."""
    surface = label["surface"]
    return KINDS[label["kind"]] == fact.kind and (fact.surface in surface or surface in fact.surface)


def score(passages: Iterator[dict[str, object]]) -> tuple[int, int, int, int]:
    """Labels, facts extracted, matches, and matches with the labeled value (limits aside)."""
    labels = facts = hits = values = 0
    for passage in passages:
        wanted = [label for label in passage["facts"] if label["kind"] in KINDS]  # type: ignore[attr-defined]
        found = list(extract(str(passage["text"]), names=False))
        labels, facts = labels + len(wanted), facts + len(found)
        for label in wanted:
            near = [fact for fact in found if matches(label, fact)]
            best = next((f for f in near if same(f.value, label["normalised"])), near[0] if near else None)
            if best is not None:
                found.remove(best)
                hits += 1
                values += same(best.value, label["normalised"])
    return labels, facts, hits, values


def same(value: str, label: str) -> bool:
    """Whether two values are the same, limits aside."""
    return value.lstrip("<=>~") == label.lstrip("<=>~")


def main(data: Path) -> None:
    corpus = texts(data)
    print(f"facts and names  {megabytes_per_second(corpus, names=True):5.2f} MB/s of one core")
    print(f"facts            {megabytes_per_second(corpus, names=False):5.2f} MB/s of one core")
    lines = (data / "facts" / "passages.jsonl").read_text(encoding="utf-8").splitlines()
    labels, facts, hits, values = score(json.loads(line) for line in lines)
    print(
        f"labels {labels}  recall {hits / labels:.3f}  precision {hits / facts:.3f}  value agrees {values / labels:.3f}"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
