"""All members as points: ordered, checked, of unit length and reduced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from overstory.clustering.geometry import RAW_BELOW, Array, blocks, checked, principal_basis, unit
from overstory.clustering.model import ClusterModel, Member


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """All members in order of id, with their reduced unit vectors."""

    ids: tuple[str, ...]
    hashes: dict[str, str]
    dimension: int
    basis: Array | None
    points: Array
    """(n, d) float64."""
    rows: dict[str, int]

    def of(self, members: Sequence[str]) -> Array:
        """The points of these members."""
        return self.points[[self.rows[member] for member in members]]


def in_order(members: Iterable[Member]) -> list[Member]:
    """The members by id.

    Raises:
        ValueError: An id occurs twice.
    """
    ordered = sorted(members, key=lambda member: member.id)
    twice = [member for member, times in Counter(m.id for m in ordered).items() if times > 1]
    if twice:
        raise ValueError(f"member {twice[0]} occurs more than once")
    return ordered


def reduce(vectors: Sequence[Member], dimension: int, basis: Array | None) -> Array:
    """Reduced unit vectors (n, d) of members, worked out in blocks.

    Raises:
        EmbeddingError: A vector has the wrong length or holds NaN or infinity.
    """
    width = dimension if basis is None else basis.shape[1]
    points = np.zeros((len(vectors), width))
    for block in blocks(len(vectors)):
        part = vectors[block]
        rows = checked([member.vector for member in part], [member.id for member in part], dimension)
        points[block] = rows if basis is None else unit(rows @ basis)
    return points


def build_space(members: Iterable[Member], dimensions: int) -> Space:
    """The space of a new generation: from ``RAW_BELOW`` members on, vectors are reduced to ``dimensions``.

    Raises:
        EmbeddingError: Vectors have different lengths, or one holds NaN or infinity.
        ValueError: An id occurs twice.
    """
    ordered = in_order(members)
    dimension = int(np.size(ordered[0].vector)) if ordered else 0
    basis = None
    if len(ordered) >= RAW_BELOW and dimension > dimensions:
        gram = np.zeros((dimension, dimension))
        for block in blocks(len(ordered)):
            rows = reduce(ordered[block], dimension, None)
            gram += rows.T @ rows
        basis = principal_basis(gram, dimensions)
    ids = tuple(member.id for member in ordered)
    return Space(
        ids,
        {member.id: member.summary_hash for member in ordered},
        dimension,
        basis,
        reduce(ordered, dimension, basis),
        {member: row for row, member in enumerate(ids)},
    )


def exactly(model: ClusterModel, members: Iterable[Member]) -> list[Member]:
    """The members by id, where they are those of the model.

    Raises:
        ValueError: They are not, or an id occurs twice.
    """
    ordered = in_order(members)
    if [member.id for member in ordered] != sorted(model.hashes):
        raise ValueError("the members are not those of the model")
    return ordered
