"""Which rankings a search should fuse, how good the fused one is, and how long a search takes.

    python -m benchmarks.search rankings ../shared/data     nDCG@10 by document: each half, the fused, what is served
    python -m benchmarks.search latency ../shared/data      seconds of a search in this process, by step
    python -m benchmarks.search process                     seconds of the imports of a search as a whole process

The first two build Cranfield, the policies and the PEPs, one after the other, into the database that
OVERSTORY_DATABASE_URL names, and drop what it held before: give them a database of their own.
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from overstory import api
from overstory.adapters.database_url import database_url, sqlalchemy_url
from overstory.adapters.postgres.record import PostgresRecord
from overstory.adapters.postgres.search import PostgresSearch
from overstory.building.whole import STAGES
from overstory.ports import Embedder
from overstory.retrieval.collapsed import search
from overstory.retrieval.fusion import Ranking, fuse
from overstory.retrieval.quota import Quota
from overstory.settings import Dataset, for_folder

DEPTH = 50
NAMES = ("cranfield", "policies", "peps")


@dataclass(frozen=True, slots=True)
class Judged:
    """A corpus with its queries and what is relevant to them."""

    name: str
    texts: dict[str, str]
    queries: dict[str, str]
    relevance: Mapping[str, Mapping[str, int]]
    ignored: Mapping[str, set[str]]


def read(data: Path, name: str) -> Judged:
    """One of the corpora beside the checkout."""
    folder = data / ("demo/policies" if name == "policies" else f"eval/{name}")
    relevance: dict[str, dict[str, int]] = defaultdict(dict)
    for row in _table(folder / "qrels.tsv"):
        relevance[row["query_id"]][row["doc_id"]] = int(row["relevance"])
    ignored: dict[str, set[str]] = defaultdict(set)
    for row in _table(folder / "ignore.tsv"):
        ignored[row["query_id"]].add(row["doc_id"])
    lines = (json.loads(line) for line in (folder / "queries.jsonl").read_text("utf-8").splitlines())
    queries = {line["query_id"]: line["text"] for line in lines}
    return Judged(name, dict(_texts(folder)), queries, relevance, ignored)


def _table(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    packed, plain = folder / "corpus.jsonl.xz", folder / "corpus.jsonl"
    if not packed.exists() and not plain.exists():
        yield from ((path.stem, path.read_text("utf-8")) for path in sorted((folder / "docs").glob("*.md")))
        return
    with lzma.open(packed, "rt", encoding="utf-8") if packed.exists() else plain.open(encoding="utf-8") as file:
        for line in file:
            document = json.loads(line)
            if document["text"].strip():
                yield document["doc_id"], document["text"]


def build(record: PostgresRecord, corpus: Judged, folder: Path) -> Dataset:
    """The corpus indexed with default settings, from a folder of its own."""
    for name, text in corpus.texts.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    dataset = for_folder(folder, corpus.name).datasets[0]
    ctx = api.open_dataset(dataset, record, run_id="benchmark")
    for stage in STAGES:
        stage(ctx)
    record.vectors.finish_load(dataset.name, ctx.embedder.embedding_hash)
    return dataset


def ndcg(run: Sequence[str], relevance: Mapping[str, int], depth: int = 10) -> float:
    """nDCG with linear gain; 0 where nothing is relevant."""
    gain = sum(relevance.get(document, 0) / math.log2(place + 2) for place, document in enumerate(run[:depth]))
    best = sorted(relevance.values(), reverse=True)[:depth]
    ideal = sum(grade / math.log2(place + 2) for place, grade in enumerate(best))
    return gain / ideal if ideal else 0.0


def score(corpus: Judged, runs: Mapping[str, Sequence[str]]) -> float:
    """Mean nDCG@10 of runs of documents, each document at its first place."""
    values = []
    for query, run in runs.items():
        kept = [document for document in dict.fromkeys(run) if document not in corpus.ignored[query]]
        values.append(ndcg(kept, corpus.relevance[query]))
    return statistics.mean(values)


Ranker = Callable[[str], Sequence[str]]
"""From a query to node ids."""


def halves(record: PostgresRecord, dataset: Dataset, embedder: Embedder) -> dict[str, Ranker]:
    """Rankings of leaves alone: by meaning, by our words, and by what Postgres itself offers."""
    store = PostgresSearch(record.db)

    def semantic(query: str) -> list[str]:
        found = store.semantic(dataset.name, embedder.embedding_hash, embedder.embed([query])[0], DEPTH)
        return [candidate.node_id for candidate in found.leaves]

    def weighted(query: str) -> list[str]:
        found = store.full_text(dataset.name, query, "english", DEPTH)
        return [candidate.node_id for candidate in found.leaves]

    def plain(function: str, flag: int, query_sql: str) -> Ranker:
        sql = f"""
            select l.id::text from leaf l join document d on d.id = l.document_id
            cross join (select {query_sql} as q) asked where d.dataset = :dataset and l.search @@ q
            order by {function}('{{1,1,1,1}}', l.search, q, {flag}) desc, l.id limit {DEPTH}"""
        return lambda query: [row[0] for row in record.db.rows(sql, dataset=dataset.name, query=query)]

    either = "replace(plainto_tsquery('english', :query)::text, ''' & ''', ''' | ''')::tsquery"
    rankers: dict[str, Ranker] = {
        "semantic": semantic,
        "words, all (websearch)": plain("ts_rank", 1, "websearch_to_tsquery('english', :query)"),
    }
    for function in ("ts_rank", "ts_rank_cd"):
        for flag in (0, 1, 2, 4, 8, 16):
            rankers[f"words, any: {function} {flag}"] = plain(function, flag, either)
    rankers["words, any: idf x ts_rank 1"] = weighted
    return rankers


def empty_record(url: str) -> PostgresRecord:
    """The record at an address, with nothing in it."""
    record = PostgresRecord.open(url)
    record.db.run("drop schema overstory cascade")
    record.close()
    return PostgresRecord.open(url)


def rankings(url: str, data: Path, names: Sequence[str]) -> None:
    """Print nDCG@10 of every half, of fused ones, and of what is served."""
    for name in names:
        record = empty_record(url)
        corpus = read(data, name)
        with tempfile.TemporaryDirectory() as folder:
            dataset = build(record, corpus, Path(folder))
        embedder = api.open_embedding(dataset)
        sql = "select l.id::text, d.path from leaf l join document d on d.id = l.document_id where d.dataset = :d"
        owner = {leaf: path.removesuffix(".md") for leaf, path in record.db.rows(sql, d=name)}
        runs = {
            label: {query: list(ranker(text)) for query, text in corpus.queries.items()}
            for label, ranker in halves(record, dataset, embedder).items()
        }
        for label, run in runs.items():
            _report(name, label, corpus, {q: [owner[leaf] for leaf in found] for q, found in run.items()})
        for constant in (5, 10, 20, 60):
            for weight in (0.25, 0.5, 0.75, 1.0):
                fused = {
                    query: [owner[leaf] for leaf in _fused(runs, query, weight, constant)] for query in corpus.queries
                }
                _report(name, f"fused: k {constant}, semantic x {weight}", corpus, fused)
        served(record, dataset, corpus)


def _fused(runs: Mapping[str, Mapping[str, list[str]]], query: str, weight: float, constant: int) -> list[str]:
    near, worded = runs["semantic"][query], runs["words, any: idf x ts_rank 1"][query]
    return list(fuse([Ranking(near, weight), Ranking(worded)], constant))  # type: ignore[arg-type]  # plain ids


def served(record: PostgresRecord, dataset: Dataset, corpus: Judged) -> None:
    """Print nDCG@10 of the documents of hits, for several quotas."""
    ctx = api.open_search(dataset, record)
    for leaves, summaries in ((6, 2), (8, 0), (10, 2), (12, 0)):
        quota = Quota(leaves, summaries)
        runs = {}
        for query, text in corpus.queries.items():
            hits = search(ctx, text, quota).hits
            runs[query] = [hit.path.removesuffix(".md") for hit in hits if hit.path]
        _report(corpus.name, f"served: {leaves} + {summaries}", corpus, runs)


def _report(name: str, label: str, corpus: Judged, runs: Mapping[str, Sequence[str]]) -> None:
    print(f"| {name} | {label} | {score(corpus, runs):.3f} |", flush=True)


def latency(url: str, data: Path, names: Sequence[str]) -> None:
    """Print the median and 95th percentile of a search, with and without the embedding of the query."""
    for name in names:
        record = empty_record(url)
        corpus = read(data, name)
        with tempfile.TemporaryDirectory() as folder:
            dataset = build(record, corpus, Path(folder))
        leaves = record.db.rows(
            "select count(*) from leaf l join document d on d.id = l.document_id where d.dataset = :d", d=name
        )[0][0]
        ctx, whole, apart = api.open_search(dataset, record), list[float](), list[float]()
        steps: dict[str, list[float]] = defaultdict(list)
        for text in [*corpus.queries.values()] * 3:
            started = time.perf_counter()
            found = search(ctx, text, Quota(6, 2))
            whole.append(time.perf_counter() - started)
            apart.append(whole[-1] - found.trace.seconds["embed"])
            for step, seconds in found.trace.seconds.items():
                steps[step].append(seconds)
        medians = ", ".join(f"{step} {1000 * statistics.median(times):.1f}" for step, times in steps.items())
        print(
            f"| {name} | {leaves} leaves | whole p50 {1000 * statistics.median(whole):.1f} ms "
            f"| apart from embedding p50 {1000 * statistics.median(apart):.1f} ms, "
            f"p95 {1000 * statistics.quantiles(apart, n=20)[-1]:.1f} ms | {medians} |",
            flush=True,
        )


IMPORTS = (
    "pass",
    "import numpy",
    "import psycopg",
    "import sqlalchemy",
    "import pydantic",
    "import overstory.api",
    "import overstory.adapters.postgres.search",
    "import overstory.adapters.embedders.wordllama_embedder",
    "import overstory.extractive",
    "import overstory.building.leaves",
    "from overstory.api import open_embedding; from overstory.settings import for_folder; from pathlib import Path; "
    "open_embedding(for_folder(Path('.'), 'a').datasets[0]).embed(['a'])",
)


def process() -> None:
    """Print the seconds of a new Python that does one thing, and of its processor; the best of five."""
    for statement in IMPORTS:
        wall, busy = [], []
        for _ in range(5):
            started, before = time.perf_counter(), os.times()
            subprocess.run([sys.executable, "-c", statement], check=True)
            after = os.times()
            wall.append(time.perf_counter() - started)
            busy.append(after.children_user - before.children_user + after.children_system - before.children_system)
        print(f"| {statement[:80]} | {min(wall):.2f} s | processor {min(busy):.2f} s |", flush=True)


def main() -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("rankings", "latency", "process"))
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--only", choices=NAMES, action="append", help="only this corpus")
    arguments = parser.parse_args()
    if arguments.what == "process":
        process()
        return
    url = sqlalchemy_url(database_url(os.environ, Path()), "psycopg")
    {"rankings": rankings, "latency": latency}[arguments.what](url, arguments.data, arguments.only or NAMES)


if __name__ == "__main__":
    main()
