"""Survival of facts against compression: the extractive summarizer, leading tokens and TextRank at equal length.

Run: ``uv run --with sumy python -m benchmarks.extractive_survival ../shared/data [STEP]``; STEP takes every n-th PEP.
Without sumy the column of TextRank is left out.
"""

from __future__ import annotations

import json
import lzma
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from overstory.adapters.tokenizers import OpenAITokenizer
from overstory.extractive import summarize
from overstory.extractive.sentences import sentences
from overstory.facts import Fact, check, extract

SHARES = (0.05, 0.08, 0.12, 0.20)
FEWEST_FACTS = 3
SCARCE_TOKENS = 12
"""A fact with its words takes about this many tokens: below it no selection keeps them all."""

count = OpenAITokenizer().count
Method = Callable[[str, int], str]


@dataclass(frozen=True, slots=True)
class Document:
    text: str
    facts: tuple[Fact, ...]
    distinct: int
    tokens: int


def document(text: str) -> Document:
    facts = extract(text, names=False)
    return Document(text, facts, len({(fact.kind, fact.value) for fact in facts}), count(text))


def policies(data: Path) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted((data / "demo/policies/docs").glob("*.md"))]


def peps(data: Path, step: int) -> list[str]:
    with lzma.open(data / "eval/peps/corpus.jsonl.xz", "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines][::step]


def extractive(text: str, budget: int) -> str:
    return summarize([text], budget, budget, count)


def leading(text: str, budget: int) -> str:
    """As many whole sentences from the start as fit."""
    return _within([text[start:end] for start, end in sentences(text)], budget)


def _within(ranked: Iterable[str], budget: int) -> str:
    chosen: list[str] = []
    for sentence in ranked:
        if count(" ".join([*chosen, sentence])) > budget:
            break
        chosen.append(sentence.strip())
    return " ".join(chosen)


def textrank() -> Method | None:
    """sumy's TextRank over the same sentences, or None where sumy is not installed."""
    try:
        dom = import_module("sumy.models.dom")
        rank = import_module("sumy.summarizers.text_rank").TextRankSummarizer()
    except ImportError:
        return None

    class Words:
        def to_words(self, sentence: str) -> list[str]:
            return sentence.split()

    def method(text: str, budget: int) -> str:
        parts = [dom.Sentence(text[a:b], Words()) for a, b in sentences(text) if text[a:b].strip()]
        rated = rank.rate_sentences(dom.ObjectDocumentModel([dom.Paragraph(parts)]))
        best = sorted(rated, key=lambda sentence: -rated[sentence])
        return _within([sentence._text for sentence in best], budget)

    return method


def survival(documents: Sequence[Document], share: float, method: Method) -> tuple[float, float, int]:
    """(micro average, the same over documents with room for their facts, unsupported facts)."""
    kept = total = roomy_kept = roomy_total = unsupported = 0
    for each in documents:
        budget = int(each.tokens * share)
        result = check(each.facts, extract(method(each.text, budget), names=False))
        kept, total = kept + result.kept, total + result.facts
        unsupported += len(result.unsupported)
        if budget >= SCARCE_TOKENS * each.distinct:
            roomy_kept, roomy_total = roomy_kept + result.kept, roomy_total + result.facts
    return kept / total, roomy_kept / max(1, roomy_total), unsupported


def report(name: str, texts: list[str], methods: dict[str, Method]) -> None:
    documents = [each for each in map(document, texts) if each.distinct >= FEWEST_FACTS]
    facts = sum(each.distinct for each in documents)
    print(f"\n{name}: {len(documents)} documents with {FEWEST_FACTS} or more facts, {facts} facts")
    for label, method in methods.items():
        start = time.process_time()
        cells = [survival(documents, share, method) for share in SHARES]
        row = "  ".join(
            f"{share:.0%} {micro:.3f} ({roomy:.3f}) {wrong}"
            for share, (micro, roomy, wrong) in zip(SHARES, cells, strict=True)
        )
        print(f"{label:12} {row}  {time.process_time() - start:.1f} s")


def main(data: Path, step: int) -> None:
    methods: dict[str, Method] = {"extractive": extractive, "leading": leading}
    ranked = textrank()
    if ranked is not None:
        methods["TextRank"] = ranked
    print("share of tokens: survival (over documents with room for their facts) unsupported facts")
    report("policies", policies(data), methods)
    report("PEPs", peps(data, step), methods)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
