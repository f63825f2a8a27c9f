"""Loads leaves and vectors through the record, and by a bare COPY of the same rows into tables of the same kind.

    python -m benchmarks.loading [--leaves 20000]

Figure to meet: at least half the rows a second of the bare COPY.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np

from overstory import api
from overstory.adapters import embedded_postgres
from overstory.adapters.postgres.record import PostgresRecord
from overstory.adapters.postgres.vectors import table_name
from overstory.identity import content_hash, document_id, leaf_id, shard_of, version_id
from overstory.nodes import Leaf, NodeKind
from overstory.record import CutVersion, DocumentRow, ScannedDocument, VectorRow

if TYPE_CHECKING:
    from overstory.ports import Vectors

DATASET = "loading"
EMBEDDING = "0" * 64
DIMENSION = 256
LEAVES_A_DOCUMENT = 20
BATCH_DOCUMENTS = 64
WORDS = [f"word{number}" for number in range(5000)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leaves", type=int, default=20_000)
    arguments = parser.parse_args()
    versions = list(_versions(arguments.leaves // LEAVES_A_DOCUMENT))
    count = sum(len(version.leaves) for version in versions)
    vectors = np.random.default_rng(7).normal(size=(count, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with tempfile.TemporaryDirectory(prefix="overstory-benchmark-") as temporary:
        home = Path(temporary, "home")
        try:
            record = api.open_record(home)
            bare = _bare_copy(record, versions, vectors)
            ours = _through_the_record(record, versions, vectors)
            record.close()
        finally:
            embedded_postgres.stop(home)
    print("| way | leaves and vectors | seconds | a second |\n|---|---|---|---|")
    for name, seconds in (("bare COPY", bare), ("through the record", ours)):
        print(f"| {name} | {count} | {seconds:.2f} | {count / seconds:,.0f} |")
    print(f"\nratio {bare / ours:.2f} (at least 0.5)")


def _versions(documents: int) -> Iterator[CutVersion]:
    draw = random.Random(7)
    for number in range(documents):
        document = document_id(DATASET, f"{number}.txt")
        leaves, start = [], 0
        for ordinal in range(LEAVES_A_DOCUMENT):
            text = " ".join(draw.choices(WORDS, k=80))
            digest = content_hash(text)
            node, end = leaf_id(document, digest, 0), start + len(text)
            leaves.append(Leaf(node, ordinal, start, end, text, "", digest, 120, ("Heading",)))
            start = end
        yield CutVersion(document, version_id(document, 1), tuple(leaves), (), "hash", "recipe", 2400)


def _through_the_record(record: PostgresRecord, versions: list[CutVersion], vectors: Vectors) -> float:
    """Seconds of the build's own writes, batch by batch, each a transaction."""
    record.ensure_dataset(DATASET, "nowhere")
    record.vectors.prepare(DATASET, EMBEDDING, DIMENSION)
    record.documents.save_scan(DATASET, [_scanned(version) for version in versions])
    started, row = time.perf_counter(), 0
    for first in range(0, len(versions), BATCH_DOCUMENTS):
        batch = versions[first : first + BATCH_DOCUMENTS]
        new = {leaf.id: version for version in batch for leaf in version.leaves}
        places = [VectorRow(leaf, NodeKind.LEAF, 0, version.document_id) for leaf, version in new.items()]
        with record.transaction() as bound:
            bound.leaves.make_current(batch, set(new), "english")
            bound.vectors.upsert(DATASET, EMBEDDING, places, vectors[row : row + len(places)])
        row += len(places)
    return time.perf_counter() - started


def _scanned(version: CutVersion) -> ScannedDocument:
    document = version.document_id
    text = "".join(leaf.text for leaf in version.leaves)
    row = DocumentRow(document, f"{document}.txt", shard_of(document), "raw", content_hash(text), None, None, 0)
    return ScannedDocument(row, text)


def _bare_copy(record: PostgresRecord, versions: list[CutVersion], vectors: Vectors) -> float:
    """Seconds of one COPY a table, into tables with the same columns, indexes and generated columns."""
    table = table_name(DATASET, EMBEDDING)
    record.ensure_dataset(DATASET, "nowhere")
    record.vectors.prepare(DATASET, EMBEDDING, DIMENSION)
    for name in ("leaf", "version_leaf", table):
        record.db.run(f"create table bare_{name} (like {name} including all)")
    oid = record.db.language_oid("english")
    pairs = [(version, leaf) for version in versions for leaf in version.leaves]
    started = time.perf_counter()
    with record.db.transaction() as db:
        db.copy(
            "bare_leaf",
            ("id", "document_id", "content_hash", "text", "context", "tokens", "language"),
            ("uuid", "uuid", "text", "text", "text", "int4", "oid"),
            (
                (UUID(leaf.id), UUID(v.document_id), leaf.content_hash, leaf.text, leaf.context, leaf.tokens, oid)
                for v, leaf in pairs
            ),
        )
        db.copy(
            "bare_version_leaf",
            ("version_id", "ordinal", "leaf_id", "start_char", "end_char", "headings"),
            ("uuid", "int4", "uuid", "int4", "int4", "text[]"),
            (
                (UUID(v.version_id), leaf.ordinal, UUID(leaf.id), leaf.start, leaf.end, list(leaf.headings))
                for v, leaf in pairs
            ),
        )
        db.copy(
            f"bare_{table}",
            ("node_id", "document_id", "kind", "level", "embedding"),
            ("uuid", "uuid", "text", "int2", "vector"),
            ((UUID(leaf.id), UUID(v.document_id), "leaf", 0, vectors[n]) for n, (v, leaf) in enumerate(pairs)),
        )
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
