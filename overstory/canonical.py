"""What tells one embedder from another: the vector that it gives to one fixed sentence."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING

from overstory.identity import digest

if TYPE_CHECKING:
    from overstory.ports import Vectors

CANONICAL_SENTENCE = "The refund window for Pro plans was extended from 14 to 30 days on 1 July 2024."

DECIMALS = 3

SIGN_GROUPS = 8

SAME_COSINE = 0.98
"""Noise of 1e-3 in each of 1,536 components leaves a cosine of 0.999; unrelated directions have one of nearly 0."""


def exact_hash(name: str, vector: Vectors) -> str:
    """The embedding hash of an embedder that computes the same digits everywhere.

    Args:
        name: The embedder's name.
        vector: The canonical vector, shape (dimension,); enters the hash rounded to three decimals.
    """
    # Adding 0.0 turns -0.0 into 0.0, which would otherwise be spelled with its sign.
    digits = (f"{round(float(value), DECIMALS) + 0.0:.{DECIMALS}f}" for value in vector)
    return digest("embedding", name, str(len(vector)), *digits)


def steady_hash(name: str, vector: Vectors) -> str:
    """The embedding hash of an embedder whose last digits depend on the processor or on the moment.

    Endpoints and quantized models give a component that differs by 1e-4 or more from call to call or from
    machine to machine. One digit that flips would have a whole corpus embedded anew, so what enters is the
    signs of eight sums, each over every eighth component. Another model has the same once in 256 times, and a sum near
    zero may flip: where the former canonical vector is known, ``alike`` decides.

    Args:
        name: The embedder's name.
        vector: The canonical vector, shape (dimension,).
    """
    signs = ("+" if float(vector[group::SIGN_GROUPS].sum()) >= 0 else "-" for group in range(SIGN_GROUPS))
    return digest("embedding", name, str(len(vector)), *signs)


def alike(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether two canonical vectors come from the same model; so do two without a direction."""
    if len(one) != len(other):
        return False
    norms = math.hypot(*one), math.hypot(*other)
    if not all(norms):
        return not any(norms)
    product: float = sum(map(operator.mul, one, other))
    return product >= SAME_COSINE * norms[0] * norms[1]
