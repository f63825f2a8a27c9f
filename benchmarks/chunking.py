"""How fast texts are cut, how full chunks are, and how many change with an edit.

    python benchmarks/chunking.py FOLDER [--pattern "**/*.md"]

Texts may be gzipped. One process, no network.
"""

from __future__ import annotations

import argparse
import gzip
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

from overstory.adapters.tokenizers import OpenAITokenizer
from overstory.chunking import chunk, sections
from overstory.normalization import decode, normalize

TOKENIZER = OpenAITokenizer()
CAP = 256
EDITED_DOCUMENTS = 60
SENTENCE = "A new paragraph says what is new here and why. "


def texts(folder: Path, pattern: str) -> Iterator[str]:
    for path in sorted(folder.glob(pattern)):
        if path.is_file():
            raw = path.read_bytes()
            yield normalize(decode(gzip.decompress(raw) if path.suffix == ".gz" else raw, name=str(path)))


def readable(text: str) -> Counter[str]:
    return Counter(each.context + text[each.start : each.end] for each in chunk(text, TOKENIZER, cap_tokens=CAP))


def edits(text: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """(kind, edited text): a word and a paragraph inserted, a paragraph deleted."""
    at = text.find("\n\n", rng.randrange(len(text)))
    if at < 0:
        return
    yield "a word inserted", f"{text[:at]} extraordinary{text[at:]}"
    yield "a paragraph inserted", f"{text[:at]}\n\n{SENTENCE * rng.randrange(1, 6)}{text[at:]}"
    if (end := text.find("\n\n", at + 2)) > 0:
        yield "a paragraph deleted", text[:at] + text[end:]


def locality(documents: list[str]) -> None:
    rng = random.Random(1)
    changed: dict[str, list[int]] = {}
    for text in rng.sample(documents, min(EDITED_DOCUMENTS, len(documents))):
        old = readable(text)
        if old.total() < 15:
            continue
        for _ in range(4):
            for kind, edited in edits(text, rng):
                changed.setdefault(kind, []).append((readable(edited) - old).total())
    for kind, counts in changed.items():
        counts.sort()
        print(f"{kind}: {mean(counts):.2f} chunks change, p90 {counts[len(counts) * 9 // 10]}, most {counts[-1]}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the cutting of a folder's texts")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pattern", default="**/*")
    arguments = parser.parse_args()
    documents = [text for text in texts(arguments.folder, arguments.pattern) if text]
    TOKENIZER.count("warm")
    began = time.perf_counter()
    cut = [chunk(text, TOKENIZER, cap_tokens=CAP) for text in documents]
    parts = sum(len(sections(each)) for each in cut)
    seconds = time.perf_counter() - began
    sizes = [each.tokens for chunks in cut for each in chunks]
    headed = sum(bool(each.heading) for chunks in cut for each in chunks)
    print(
        f"{len(documents)} documents, {sum(map(len, documents)):,} characters, {sum(sizes):,} tokens: {seconds:.1f} s"
    )
    print(f"{len(sizes)} chunks, {mean(sizes) / CAP:.0%} full on average, {headed / len(sizes):.0%} begin at a heading")
    print(f"{sum(size < CAP / 4 for size in sizes) / len(sizes):.1%} under a quarter full, {parts} sections")
    locality(documents)


if __name__ == "__main__":
    main()
