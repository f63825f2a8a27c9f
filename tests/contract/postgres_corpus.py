"""Small indexes written straight into a record, with the hashes that a build would give them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest

from overstory.adapters.database_url import sqlalchemy_url
from overstory.adapters.postgres.record import PostgresRecord
from overstory.adapters.postgres.search import PostgresSearch
from overstory.identity import (
    ClusterId,
    DocumentId,
    NodeId,
    VersionId,
    content_hash,
    derive_id,
    document_id,
    leaf_id,
    ordered_child_hash,
    recipe_hash,
    shard_of,
    version_id,
)
from overstory.nodes import Leaf, NodeKind
from overstory.record import (
    CutVersion,
    DocumentRow,
    ScannedDocument,
    SectionRow,
    StoredModel,
    SummaryRow,
    VectorRow,
)
from overstory.retrieval.collapsed import SearchContext, search
from overstory.retrieval.hits import SearchResult
from overstory.retrieval.quota import Quota
from overstory.tree import Target, chunk_targets, cluster_target, document_target, section_targets
from tests.conftest import DatabaseMaker

if TYPE_CHECKING:
    from overstory.ports import Vectors

CHUNK_RECIPE = "cut so"


class WordEmbedder:
    """Words hashed to places of a vector: texts with the same words are near."""

    name = "words"
    dimension = 128
    paid = False
    embedding_hash = "words-128"

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().replace("?", "").replace(".", "").split():
                digest = hashlib.sha256(word.encode("utf-8")).digest()
                vectors[row, digest[0] % self.dimension] += 1
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, norms, out=vectors, where=norms > 0)
        return vectors


def recipes(kind: NodeKind) -> str:
    """By which the summaries of these indexes are made."""
    return recipe_hash("model", f"prompt for {kind}", "parameters")


def cut(document: DocumentId, number: int, texts: Sequence[str], sections: Sequence[SectionRow] = ()) -> CutVersion:
    """A version whose text is ``texts`` one after the other."""
    leaves, start, seen = [], 0, dict[str, int]()
    for ordinal, text in enumerate(texts):
        hashed = content_hash(text)
        node = leaf_id(document, hashed, seen.get(hashed, 0))
        seen[hashed] = seen.get(hashed, 0) + 1
        leaves.append(Leaf(node, ordinal, start, start + len(text), text, "", hashed, len(text.split()), ("Heading",)))
        start += len(text)
    return CutVersion(
        document_id=document,
        version_id=version_id(document, number),
        leaves=tuple(leaves),
        sections=tuple(sections),
        child_hash=ordered_child_hash([leaf.content_hash for leaf in leaves]),
        chunk_recipe=CHUNK_RECIPE,
        tokens=sum(leaf.tokens for leaf in leaves),
    )


def summary_row(target: Target, text: str, *, failure: str | None = None, recipe: str = "") -> SummaryRow:
    """What a build stores for a target."""
    return SummaryRow(
        id=target.id,
        kind=target.kind,
        level=target.level,
        document_id=target.document_id,
        cluster_id=target.cluster_id,
        ordinal=target.ordinal,
        text=text,
        text_hash=content_hash(text),
        child_hash=target.desired.child_hash or "",
        recipe_hash=recipe or target.desired.recipe_hash,
        failure=failure,
        tokens=len(text.split()),
        fact_check={"facts": 2, "kept": 1, "by_kind": {}, "unsupported": [], "lost": [_LOST]},
    )


_LOST = {"kind": "money", "surface": "$49", "value": "USD 49"}


@dataclass(slots=True)
class Corpus:
    """A dataset in a record."""

    record: PostgresRecord
    name: str = "corpus"
    embedder: WordEmbedder = field(default_factory=WordEmbedder)

    def __post_init__(self) -> None:
        self.record.ensure_dataset(self.name, f"/{self.name}")
        self.record.vectors.prepare(self.name, self.embedder.embedding_hash, self.embedder.dimension)
        self.record.vectors.finish_load(self.name, self.embedder.embedding_hash)

    def id_of(self, path: str) -> DocumentId:
        return document_id(self.name, path)

    def scan(self, path: str, texts: Sequence[str]) -> VersionId:
        """Keep a new version of a document, not yet current."""
        known = {row.path: row.last_number for row in self.record.documents.rows(self.name)}
        document, number = self.id_of(path), known.get(path, 0)
        whole = "".join(texts)
        row = DocumentRow(
            document, path, shard_of(document), f"raw {whole}", content_hash(whole), None, None, number, path.upper()
        )
        self.record.documents.save_scan(self.name, [ScannedDocument(row, whole)])
        return version_id(document, number + 1)

    def add(self, path: str, texts: Sequence[str], sections: Sequence[tuple[int, int]] = ()) -> CutVersion:
        """A document's new version, cut into ``texts`` and current; its old summaries are gone."""
        self.scan(path, texts)
        (row,) = [row for row in self.record.documents.rows(self.name) if row.path == path]
        rows = [
            SectionRow(
                ordinal,
                first,
                last,
                f"Section {ordinal}",
                ordered_child_hash(map(content_hash, texts[first : last + 1])),
            )
            for ordinal, (first, last) in enumerate(sections)
        ]
        version = cut(row.id, row.last_number, texts, rows)
        known = self.record.leaves.known([row.id])
        new = [leaf for leaf in version.leaves if leaf.id not in known]
        with self.record.transaction() as record:
            record.vectors.delete(self.name, record.summaries.purge([row.id]))
            dropped = record.leaves.make_current([version], {leaf.id for leaf in new}, "english")
            record.vectors.delete(self.name, [leaf for leaf, _ in dropped])
            places = [VectorRow(leaf.id, NodeKind.LEAF, 0, row.id) for leaf in new]
            vectors = self.embedder.embed([leaf.text for leaf in new])
            record.vectors.upsert(self.name, self.embedder.embedding_hash, places, vectors)
        return version

    def save(self, rows: Sequence[SummaryRow]) -> None:
        """Store summaries with their vectors."""
        usable = [row for row in rows if row.failure is None]
        places = [VectorRow(row.id, row.kind, row.level, row.document_id) for row in usable]
        with self.record.transaction() as record:
            record.summaries.save(self.name, rows, "english")
            vectors = self.embedder.embed([row.text for row in usable])
            record.vectors.upsert(self.name, self.embedder.embedding_hash, places, vectors)

    def target(self, path: str, kind: NodeKind = NodeKind.DOCUMENT_SUMMARY, ordinal: int = 0) -> Target:
        """What ought to exist for a document."""
        trees = self.record.summaries.trees(self.name, with_leaves=True)
        (tree,) = [tree for tree in trees if tree.path == path]
        if kind is NodeKind.CHUNK_SUMMARY:
            return chunk_targets(tree, recipes)[ordinal]
        if kind is NodeKind.SECTION_SUMMARY:
            return section_targets(tree, recipes)[ordinal]
        return document_target(tree, recipes, tree.stored)

    def summarize(
        self, path: str, text: str, kind: NodeKind = NodeKind.DOCUMENT_SUMMARY, ordinal: int = 0, recipe: str = ""
    ) -> NodeId:
        """Store a summary of a document, one of its sections or leaves."""
        target = self.target(path, kind, ordinal)
        self.save([summary_row(target, text, recipe=recipe)])
        return target.id

    def cluster(
        self, paths: Sequence[str], text: str, *, others: Mapping[ClusterId, Sequence[str]] | None = None
    ) -> NodeId:
        """A cluster of documents with its summary."""
        cluster = ClusterId(derive_id("cluster", self.name, *paths))
        members = {cluster: [(self.id_of(path), 1.0) for path in paths]}
        for other, those in (others or {}).items():
            members[other] = [(self.id_of(path), 0.5) for path in those]
        self.record.clusters.save(self.name, 2, StoredModel(b"model", 1, self.embedder.embedding_hash), members)
        (tree,) = [tree for tree in self.record.clusters.trees(self.name, 2) if tree.cluster_id == cluster]
        target = cluster_target(tree, recipes)
        self.save([summary_row(target, text)])
        return target.id

    def context(self, *, chunk_recipe: str = CHUNK_RECIPE, language: str = "english") -> SearchContext:
        """What a search needs."""
        return SearchContext(
            dataset=self.name,
            store=PostgresSearch(self.record.db),
            embedder_of=lambda _: self.embedder,
            recipes=recipes,
            chunk_recipe=chunk_recipe,
            language=language,
            semantic_weight=0.5,
        )

    def search(self, query: str, leaves: int = 6, summaries: int = 2) -> SearchResult:
        """A search with the default settings."""
        return search(self.context(), query, Quota(leaves, summaries))


@pytest.fixture(scope="session")
def migrated_database(make_database: DatabaseMaker) -> str:
    """The URL of a database with an empty record, to copy."""
    url = make_database()
    PostgresRecord.open(sqlalchemy_url(url, "psycopg")).close()
    return url


@pytest.fixture
def record(make_database: DatabaseMaker, migrated_database: str) -> Iterator[PostgresRecord]:
    """An empty record."""
    opened = PostgresRecord.open(sqlalchemy_url(make_database(migrated_database), "psycopg"))
    yield opened
    opened.close()


@pytest.fixture
def corpus(record: PostgresRecord) -> Corpus:
    """An empty dataset."""
    return Corpus(record)
