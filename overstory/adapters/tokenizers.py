"""Real tokenizers: the vocabularies that models are billed and limited by, without a network."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from pathlib import Path
from typing import Protocol, cast

from overstory.errors import SettingsError


class _Vocabulary(Protocol):
    def count(self, text: str) -> int: ...


class OpenAITokenizer:
    """Counts in a vocabulary of OpenAI's, ``o200k_base`` unless told otherwise.

    Special-token text such as ``<|endoftext|>`` is counted as the plain text it is, and a lone surrogate as
    the replacement character.
    """

    def __init__(self, name: str = "o200k_base") -> None:
        self.name = name

    def count(self, text: str) -> int:
        """The number of tokens of ``text``; 0 for the empty text."""
        vocabulary = _vocabulary(self.name)
        try:
            return vocabulary.count(text)
        except UnicodeEncodeError:
            return vocabulary.count(text.encode("utf-8", "replace").decode("utf-8"))


@lru_cache(maxsize=4)
def _vocabulary(name: str) -> _Vocabulary:
    """The vocabulary, loaded at its first use and kept.

    The extension module of bpe-openai is loaded without its package: the package's own import builds tables for three
    vocabularies in Python (1.5 s and 80 MB, in every worker process) that counting never reads. Drop this when the
    package loads them lazily.
    """
    package = importlib.util.find_spec("bpe_openai")
    folder = Path(package.origin).parent if package and package.origin else Path()
    for suffix in EXTENSION_SUFFIXES:
        binary = folder / f"_bindings{suffix}"
        if binary.is_file():
            loader = ExtensionFileLoader("bpe_openai._bindings", str(binary))
            spec = importlib.util.spec_from_file_location("bpe_openai._bindings", binary, loader=loader)
            if spec is not None:
                module = importlib.util.module_from_spec(spec)
                loader.exec_module(module)
                return cast(_Vocabulary, module.tokenizer_for_encoding(name))
    raise SettingsError("The tokenizer of the package bpe-openai cannot be loaded", hint="Install Overstory again")
