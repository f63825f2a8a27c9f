"""Entries and vectors for tests of vector indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from overstory.identity import NodeId, document_id, leaf_id, summary_id
from overstory.nodes import NodeKind
from overstory.vector_index import Entry, Space

if TYPE_CHECKING:
    from overstory.vector_index import Vector

DIMENSION = 8
DOCUMENTS = 5


def space(dataset: str = "manuals", embedding: str = "e" * 64, dimension: int = DIMENSION) -> Space:
    """A space."""
    return Space(dataset, embedding, dimension)


def leaves(count: int, documents: int = DOCUMENTS) -> list[Entry]:
    """Leaves of several documents in turn."""
    owners = [document_id("manuals", f"{n}.md") for n in range(documents)]
    found = ((owners[n % documents], leaf_id(owners[n % documents], str(n), 0)) for n in range(count))
    return [Entry(node, NodeKind.LEAF, 0, owner) for owner, node in found]


def mixed(count: int) -> list[Entry]:
    """Leaves, and after each third one its chunk summary, a document summary or a cluster summary in turn."""
    entries = []
    for number, leaf in enumerate(leaves(count)):
        entries.append(leaf)
        if number % 3 == 0:
            entries.append(_above(leaf, number // 3 % 3))
    return entries[:count]


def _above(leaf: Entry, kind: int) -> Entry:
    owner = leaf.node_id
    if kind == 0:
        node = summary_id("chunk_summary", owner)
        return Entry(node, NodeKind.CHUNK_SUMMARY, 0, leaf.document_id, leaf.node_id)
    if kind == 1:
        return Entry(summary_id("document_summary", owner), NodeKind.DOCUMENT_SUMMARY, 1, leaf.document_id)
    return Entry(summary_id("cluster_summary", owner), NodeKind.CLUSTER_SUMMARY, 2, None)


def vectors(count: int, seed: int = 7, dimension: int = DIMENSION) -> Vector:
    """Unit vectors (count, dimension)."""
    drawn = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return drawn


def nodes(entries: list[Entry]) -> list[NodeId]:
    """Their ids."""
    return [entry.node_id for entry in entries]
