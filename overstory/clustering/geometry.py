"""Vectors as clustering sees them: checked, of unit length, reduced, and compared by rounded cosines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from overstory.errors import EmbeddingError

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

BLOCK_ROWS = 2048
"""Rows worked on at a time, so that memory stays bounded for any number of members."""

RAW_BELOW = 256
"""A basis fitted to fewer members than this cannot see later topics: they keep all dimensions."""

GRID = 1e9
"""Cosines are compared in whole steps of 1/GRID: one row or a block differ by 1e-15, these do not."""

SLACK = 2.5 / GRID
"""Thresholds taken from scores are put this far aside, between the steps, where no score lies."""

_TINY = 1e-12


def blocks(rows: int) -> Iterator[slice]:
    """Slices of at most ``BLOCK_ROWS`` rows that cover ``rows`` in order."""
    return (slice(start, start + BLOCK_ROWS) for start in range(0, rows, BLOCK_ROWS))


def checked(vectors: Sequence[NDArray[np.float32]], ids: Sequence[str], dimension: int) -> Array:
    """Float64 rows of unit length; a zero vector stays zero.

    Raises:
        EmbeddingError: A vector has another shape than ``(dimension,)``, or holds NaN or infinity.
    """
    for vector, member in zip(vectors, ids, strict=True):
        if np.shape(vector) != (dimension,):
            raise EmbeddingError(
                f"The vector of {member} has shape {np.shape(vector)}, not ({dimension},)",
                hint="Embed all members with one embedder",
                member_id=member,
            )
    with np.errstate(over="ignore"):  # a float64 too large for float32 becomes infinite and is refused below
        rows = np.array(vectors, dtype=np.float32).astype(np.float64).reshape(len(ids), dimension)
    broken = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if broken.size:
        member = ids[int(broken[0])]
        raise EmbeddingError(f"The vector of {member} holds NaN or infinity", hint="Embed it again", member_id=member)
    return unit(rows)


def unit(rows: Array) -> Array:
    """The rows scaled to length 1; rows without a direction become zero."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    scaled: Array = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > _TINY)
    return scaled


def mean_direction(rows: Array) -> Array:
    """The unit vector of the rows' mean, of shape (d,); zero if they cancel out."""
    direction: Array = unit(rows.mean(axis=0)[None, :])[0]
    return direction


def principal_basis(gram: Array, dimensions: int) -> Array:
    """The leading eigenvectors of an uncentered Gram matrix (D, D), as columns (D, at most ``dimensions``).

    The largest component of each column is positive, so that the sign is no accident of the library.
    """
    values, columns = np.linalg.eigh(gram)
    order = np.argsort(-values, kind="stable")[:dimensions]
    kept = order[values[order] > _TINY * max(1.0, float(values[-1]))]
    basis = np.ascontiguousarray(columns[:, kept])
    largest = basis[np.abs(basis).argmax(axis=0), np.arange(basis.shape[1])]
    return basis * np.where(largest < 0, -1.0, 1.0)


def rounded(scores: Array) -> Array:
    """Scores on the grid on which they may be compared."""
    return np.rint(scores * GRID) / GRID


def leading(points: Array, centroids: Array, count: int) -> tuple[Rows, Array]:
    """The ``count`` best centroids of each point and their rounded cosines, both (n, min(count, K)).

    Equal scores are ordered by row of ``centroids``. Works in blocks and never holds n x K numbers for large n.
    """
    count = min(count, len(centroids))
    best = np.zeros((len(points), count), dtype=np.int64)
    scores = np.zeros((len(points), count))
    turned = np.ascontiguousarray(centroids.T) * GRID
    for block in blocks(len(points)):
        table = points[block] @ turned
        np.rint(table, out=table)
        every = np.arange(len(table))
        for place in range(count):
            column = table.argmax(axis=1)
            best[block, place], scores[block, place] = column, table[every, column]
            table[every, column] = -np.inf
    return best, scores / GRID


def alike(first: Array, second: Array, cosine: float) -> NDArray[np.bool_]:
    """Whether paired unit rows point the same way; two zero rows do."""
    near: NDArray[np.bool_] = rounded(np.einsum("ij,ij->i", first, second)) >= cosine
    return near | ~(first.any(axis=1) | second.any(axis=1))
