"""The stores of vector indexes on the same work: upsert, upsert again, search, search filtered, delete by filter.

    python -m benchmarks.vector_indexes [--entries 20000] [--stores memory pgvector weaviate]

Weaviate needs the server that 'make weaviate' compiles. Memory searches one vector after the other in Python.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from overstory import api
from overstory.adapters import embedded_postgres
from overstory.adapters.memory_index import MemoryIndexes
from overstory.adapters.postgres.vector_index import PgVectorIndexes
from overstory.adapters.postgres.vectors import PgVectors
from overstory.adapters.weaviate import WeaviateIndexes
from overstory.adapters.weaviate.server import WeaviateServer
from overstory.identity import document_id, leaf_id
from overstory.nodes import NodeKind
from overstory.vector_index import EVERYTHING, Entry, Filter, Space, VectorIndex, VectorIndexes
from tests.weaviate_server import PROGRAM, WeaviateProcess

DIMENSION = 256
LEAVES_A_DOCUMENT = 20
DELETED_DOCUMENTS = 0.6
"""Share of the documents that is deleted: 12,000 of 20,000 entries, more than a server's cap."""
QUERIES = 200
UPSERT_BATCH = 2_000
SPACE = Space("benchmark", "b" * 64, DIMENSION)


@dataclass(frozen=True, slots=True)
class Work:
    """Entries, vectors near to 400 centers, and queries near to them."""

    entries: list[Entry]
    vectors: np.ndarray
    queries: np.ndarray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=20_000)
    parser.add_argument("--stores", nargs="+", default=["memory", "pgvector", "weaviate"])
    arguments = parser.parse_args()
    work = _work(arguments.entries)
    print(f"{len(work.entries)} x {DIMENSION}, load {os.getloadavg()[0]:.1f} at the start\n")
    print(
        "| store | upsert/s | again/s | index | search: p50 / p95, recall | level 0 | one document | delete by filter |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name in arguments.stores:
        if name == "weaviate" and not PROGRAM.exists():
            print("| weaviate | skipped: run 'make weaviate' | | | | | | |")
            continue
        with tempfile.TemporaryDirectory(prefix="overstory-benchmark-") as folder, STORES[name](Path(folder)) as store:
            print(_row(name, store, work), flush=True)
    print(f"\nload {os.getloadavg()[0]:.1f} at the end")


def _work(count: int) -> Work:
    draw = np.random.default_rng(7)
    centers = draw.normal(size=(400, DIMENSION))
    owners = [document_id("benchmark", str(n)) for n in range(max(1, count // LEAVES_A_DOCUMENT))]
    entries = [
        Entry(leaf_id(owners[n % len(owners)], str(n), 0), NodeKind.LEAF, 0, owners[n % len(owners)])
        for n in range(count)
    ]
    return Work(entries, _near(draw, centers, count), _near(draw, centers, QUERIES))


def _near(draw: np.random.Generator, centers: np.ndarray, count: int) -> np.ndarray:
    rows = centers[draw.integers(len(centers), size=count)] + draw.normal(size=(count, DIMENSION))
    unit: np.ndarray = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _row(name: str, store: VectorIndexes, work: Work) -> str:
    index, count = store.open(SPACE), len(work.entries)
    first = _seconds(lambda: _upsert(index, work))
    again = _seconds(lambda: _upsert(index, work))
    built = _seconds(lambda: _finish(store))
    searches = [_searches(index, work, where) for where in (EVERYTHING, Filter(levels=frozenset({0})))]
    owners = sorted({entry.document_id for entry in work.entries if entry.document_id})
    chosen = random.Random(7).sample(owners, int(len(owners) * DELETED_DOCUMENTS))
    few = []
    for owner in owners[:50]:
        one = Filter(documents=frozenset({owner}))
        few.append(_seconds(partial(index.search, work.queries[0], 10, one)))
    deleted: list[int] = []
    removal = _seconds(lambda: deleted.append(index.delete_where(Filter(documents=frozenset(chosen)))))
    assert index.count() == count - deleted[0], "deleted and left must add up"
    cells = [
        name,
        f"{count / first:,.0f}",
        f"{count / again:,.0f}",
        f"{built:.1f} s",
        *searches,
        f"{statistics.median(few) * 1e3:.1f} ms",
        f"{deleted[0]:,} in {removal:.2f} s",
    ]
    return f"| {' | '.join(cells)} |"


def _upsert(index: VectorIndex, work: Work) -> None:
    for start in range(0, len(work.entries), UPSERT_BATCH):
        done = index.upsert(work.entries[start : start + UPSERT_BATCH], work.vectors[start : start + UPSERT_BATCH])
        if done.refused:
            raise SystemExit(f"refused: {next(iter(done.refused.values()))}")


def _finish(store: VectorIndexes) -> None:
    """Build what the build itself builds after its first load."""
    if isinstance(store, PgVectorIndexes):
        PgVectors(store.db).finish_load(SPACE.dataset, SPACE.embedding_hash)


def _searches(index: VectorIndex, work: Work, where: Filter) -> str:
    times, recalls = [], []
    for query in work.queries:
        started = time.perf_counter()
        found = index.search(query, 10, where)
        times.append(time.perf_counter() - started)
        best = {work.entries[n].node_id for n in np.argsort(-(work.vectors @ query))[:10]}
        recalls.append(len(best & {hit.entry.node_id for hit in found}) / 10)
    quick, slow = statistics.median(times), sorted(times)[int(len(times) * 0.95)]
    return f"{quick * 1e3:.1f} / {slow * 1e3:.1f} ms, {statistics.mean(recalls):.3f}"


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


@contextmanager
def _memory(_folder: Path) -> Iterator[VectorIndexes]:
    yield MemoryIndexes()


@contextmanager
def _pgvector(folder: Path) -> Iterator[VectorIndexes]:
    try:
        record = api.open_record(folder / "home")
        record.ensure_dataset(SPACE.dataset, "nowhere")
        yield PgVectorIndexes(record.db)
        record.close()
    finally:
        embedded_postgres.stop(folder / "home")


@contextmanager
def _weaviate(folder: Path) -> Iterator[VectorIndexes]:
    process = WeaviateProcess(folder)
    process.start()
    try:
        store = WeaviateIndexes(WeaviateServer.connect(process.address))
        yield store
        store.close()
    finally:
        process.kill()


STORES = {"memory": _memory, "pgvector": _pgvector, "weaviate": _weaviate}


if __name__ == "__main__":
    main()
