"""Real tokenizers: the vocabularies that models are billed and limited by, without a network."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpe_openai import Encoding

_PIECE_CHARS = 50_000
"""bpe_openai refuses more than 200,000 tokens at once, and a character has at most 4."""


class OpenAITokenizer:
    """Counts in a vocabulary of OpenAI's, ``o200k_base`` unless told otherwise.

    Special-token text such as ``<|endoftext|>`` is counted as the plain text it is, and a lone surrogate as
    the replacement character. A text of more than 50,000 characters is counted in pieces cut at line ends,
    which may differ from one count by a token a cut.
    """

    def __init__(self, name: str = "o200k_base") -> None:
        self.name = name

    def count(self, text: str) -> int:
        """The number of tokens of ``text``; 0 for the empty text."""
        encode = _encoding(self.name).encode_ordinary
        if len(text) <= _PIECE_CHARS:
            return len(encode(text))
        return sum(len(encode(piece)) for piece in _pieces(text))


@lru_cache(maxsize=4)
def _encoding(name: str) -> Encoding:
    """The vocabulary, loaded at its first use (0.25 s) and kept."""
    with warnings.catch_warnings():
        # bpe-openai 0.1.4 reads its data by importlib.resources.open_binary: drop this when it does not.
        warnings.simplefilter("ignore", DeprecationWarning)
        from bpe_openai import get_encoding

        return get_encoding(name)


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = start + _PIECE_CHARS
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end
        yield text[start:end]
        start = end
