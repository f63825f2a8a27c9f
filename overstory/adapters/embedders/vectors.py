"""What all embedders do to texts before, and to vectors after a model has seen them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from overstory.errors import EmbeddingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from overstory.ports import Vectors


def is_blank(text: str) -> bool:
    """Whether the text has no content, so that its vector is zero and no model is asked."""
    return not text or text.isspace()


def encodable(text: str, max_chars: int) -> str:
    """The text's beginning, with lone surrogates, which have no UTF-8 form, replaced."""
    return text[:max_chars].encode("utf-8", "replace").decode("utf-8")


def unit_rows(rows: Sequence[Sequence[float] | NDArray[np.floating]], dimension: int, name: str) -> Vectors:
    """The rows as an array of shape (n, dimension), float32, each divided by its length.

    Args:
        rows: Vectors as a model gave them.
        dimension: The length that each must have.
        name: The embedder, for the message.

    Raises:
        EmbeddingError: A row has another length, is all zeros, or holds a value that is no finite number of 32 bits.
    """
    lengths = {len(row) for row in rows}
    if lengths - {dimension}:
        raise EmbeddingError(
            f"{name} gave vectors of {max(lengths - {dimension})} dimensions where {dimension} were expected",
            hint="Correct the dimension in the settings, or leave it out",
            dimension=dimension,
        )
    vectors = np.asarray(rows, dtype=np.float64).reshape(len(rows), dimension)
    if not (np.abs(vectors) <= np.finfo(np.float32).max).all():  # false for NaN too
        raise EmbeddingError(
            f"{name} gave a vector that holds no finite numbers", hint="Check the model: its weights may be damaged"
        )
    norms = np.sqrt(np.square(vectors).sum(axis=1, keepdims=True))
    if not norms.all():
        raise EmbeddingError(
            f"{name} gave a vector of zeros for a text that is not blank",
            hint="Check the model and base_url: nothing can be found by such a vector",
        )
    units: Vectors = (vectors / norms).astype(np.float32)
    return units
