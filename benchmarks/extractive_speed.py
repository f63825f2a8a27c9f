"""How fast documents are summarized end to end, fact extraction included.

Run: ``python -m benchmarks.extractive_speed CACHE [STEP]``; STEP takes every n-th file of the kernel documentation.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from benchmarks.corpora import kernel_documentation
from overstory.adapters.tokenizers import OpenAITokenizer
from overstory.extractive import summarize
from overstory.facts import check, extract

TARGET_TOKENS, MAX_TOKENS = 220, 440


def main(cache: Path, step: int) -> None:
    folder = kernel_documentation(cache)
    texts = [p.read_text(encoding="utf-8", errors="replace") for p in sorted(folder.rglob("*.txt"))][::step]
    count = OpenAITokenizer().count
    count("load the vocabulary")
    slowest, start = 0.0, time.process_time()
    summaries = []
    for text in texts:
        before = time.process_time()
        summaries.append(summarize([text], TARGET_TOKENS, MAX_TOKENS, count))
        slowest = max(slowest, time.process_time() - before)
    seconds = time.process_time() - start
    checks = [check(extract(t, names=False), extract(s, names=False)) for t, s in zip(texts, summaries, strict=True)]
    kept, facts = sum(c.kept for c in checks), sum(c.facts for c in checks)
    megabytes = sum(map(len, texts)) / 1e6
    print(f"{len(texts)} documents, {megabytes:.1f} MB in {seconds:.1f} s of one core: {megabytes / seconds:.2f} MB/s")
    empty, long = sum(not s for s in summaries), sum(count(s) > MAX_TOKENS for s in summaries)
    print(f"slowest {slowest:.2f} s, empty {empty}, too long {long}")
    print(f"survival {kept / facts:.3f}, unsupported {sum(len(c.unsupported) for c in checks)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
