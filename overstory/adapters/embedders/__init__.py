"""Embedders by name; each vendor's package is imported when its embedder is opened."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from overstory.errors import SettingsError

if TYPE_CHECKING:
    from overstory.ports import Embedder

EMBEDDER_NAMES = ("wordllama", "fastembed:MODEL", "openai:MODEL")
"""What ``open_embedder`` knows."""


def open_embedder(name: str, **options: Any) -> Embedder:  # Any: each embedder types its own options
    """The embedder of that name; models are loaded and endpoints asked only when first needed.

    Args:
        name: ``wordllama``, ``fastembed:MODEL`` or ``openai:MODEL``.
        **options: Settings of that embedder: the keyword arguments of its class.

    Raises:
        SettingsError: No embedder of that name exists, or it has no such option.
    """
    kind, _, model = name.partition(":")
    factory = _FACTORIES.get(kind)
    if factory is None or (kind == "wordllama") != (not model):
        raise SettingsError(
            f"There is no embedder {name!r}", hint=f"Use one of: {', '.join(EMBEDDER_NAMES)}", name=name
        )
    build = factory()
    arguments = [model] if model else []
    known = set(list(inspect.signature(build).parameters)[len(arguments) :])
    unknown = sorted(set(options) - known)
    if unknown:
        raise SettingsError(
            f"The embedder {kind} has no option {', '.join(unknown)}",
            hint=f"It knows: {', '.join(sorted(known)) or 'none'}",
            name=name,
        )
    return build(*arguments, **options)


def _wordllama() -> Callable[..., Embedder]:
    from overstory.adapters.embedders.wordllama_embedder import WordLlamaEmbedder

    return WordLlamaEmbedder


def _fastembed() -> Callable[..., Embedder]:
    from overstory.adapters.embedders.fastembed_embedder import FastEmbedEmbedder

    return FastEmbedEmbedder


def _openai() -> Callable[..., Embedder]:
    from overstory.adapters.embedders.openai_embedder import OpenAIEmbedder

    return OpenAIEmbedder


_FACTORIES: dict[str, Callable[[], Callable[..., Embedder]]] = {
    "wordllama": _wordllama,
    "fastembed": _fastembed,
    "openai": _openai,
}
