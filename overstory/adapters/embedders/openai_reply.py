"""The vectors in the reply of an embeddings endpoint, in the order of the texts, or what is wrong with it."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

import numpy as np

from overstory.adapters.metering import AttemptError
from overstory.errors import EmbeddingError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def read_vectors(reply: Any, texts: int, name: str) -> list[NDArray[np.float64]]:
    """One vector a text, numbers or base64 (little-endian float32) alike, put in order by their index.

    Args:
        reply: What the client made of the reply: little of the protocol is taken for granted.
        texts: How many were sent.
        name: The embedder, for messages.

    Raises:
        AttemptError: It is no reply of an embeddings endpoint at all (a web page, an error without a status).
        EmbeddingError: There are more or fewer vectors than texts, two for one text, or no numbers in one.
    """
    data = getattr(reply, "data", None)
    if not isinstance(data, list):
        raise AttemptError("malformed reply", charged=True)
    if len(data) != texts:
        raise EmbeddingError(f"{name} gave {len(data)} vectors for {texts} texts", hint=_HINT)
    places = [_index(item, place) for place, item in enumerate(data)]
    if sorted(places) != list(range(texts)):
        raise EmbeddingError(f"{name} gave vectors that do not say to which text each belongs", hint=_HINT)
    by_place = dict(zip(places, data, strict=True))
    return [_numbers(getattr(by_place[place], "embedding", None), name) for place in range(texts)]


def read_tokens(reply: Any) -> int | None:
    """The input tokens that the endpoint says it counted; None if it does not say."""
    count = getattr(getattr(reply, "usage", None), "prompt_tokens", None)
    return count if isinstance(count, int) and count > 0 else None


_HINT = "Check that base_url is an OpenAI-compatible endpoint and that the model embeds texts"


def _index(item: Any, place: int) -> int:
    """The index that a vector carries; its place in the reply if the endpoint leaves it out."""
    index = getattr(item, "index", None)
    if index is None:
        return place
    return index if isinstance(index, int) else -1


def _numbers(value: object, name: str) -> NDArray[np.float64]:
    try:
        if isinstance(value, str):
            return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4").astype(np.float64)
        vector = np.asarray(value, dtype=np.float64)
    except (binascii.Error, TypeError, ValueError) as error:
        raise EmbeddingError(f"{name} gave a vector that holds no finite numbers", hint=_HINT) from error
    if vector.ndim != 1:
        raise EmbeddingError(f"{name} gave something else than a vector", hint=_HINT)
    return vector
