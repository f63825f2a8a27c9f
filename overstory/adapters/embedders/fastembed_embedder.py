"""ONNX models through fastembed: from its cache, from a folder, or fetched where that is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from overstory.adapters.embedders.vectors import encodable, is_blank, unit_rows
from overstory.canonical import CANONICAL_SENTENCE, steady_hash
from overstory.errors import EmbeddingError, SettingsError
from overstory.identity import digest

if TYPE_CHECKING:
    from overstory.ports import Vectors

MAX_CHARS = 65_536
"""The models cut off at 8,192 tokens or before; what lies beyond this is not even tokenized."""

BATCH_TEXTS = 1
"""Batches of 32 are 20 % faster, take 1.3 GB more, and pad: a text alone has the same vector everywhere."""


class FastEmbedEmbedder:
    """A model of fastembed's list; the extra ``fastembed`` installs what it needs.

    Args:
        model: A name of ``fastembed.TextEmbedding.list_supported_models()``.
        model_folder: A folder with the model's files (ONNX file, ``tokenizer.json``,
            ``tokenizer_config.json``) in place of fastembed's cache.
        allow_download: Whether a model that is not in the cache may be fetched.

    Raises:
        SettingsError: fastembed is not installed, or knows no such model.
    """

    paid = False

    def __init__(self, model: str, *, model_folder: str | None = None, allow_download: bool = False) -> None:
        self.name = f"fastembed:{model}"
        self._model_name = model
        self._model_folder = model_folder
        self._allow_download = allow_download
        self.dimension = _dimension(model)

    @property
    def recipe(self) -> str:
        """Changes with the model and the folder of its files."""
        return digest("embedder", self.name, self._model_folder or "")

    @cached_property
    def embedding_hash(self) -> str:
        """Changes with the model's name, dimension and the signs of its canonical vector."""
        return steady_hash(self.name, self.embed([CANONICAL_SENTENCE])[0])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (n, dimension), float32, rows L2-normalized; a blank text gives zeros.

        What a model cannot take in, mostly what lies beyond 256 or 512 tokens, does not count.

        Raises:
            EmbeddingError: The model's files are not there or unusable, or its vectors have another shape.
        """
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        places = [index for index, text in enumerate(texts) if not is_blank(text)]
        if places:
            rows = self._rows([encodable(texts[index], MAX_CHARS) for index in places])
            vectors[places] = unit_rows(rows, self.dimension, self.name)
        return vectors

    def _rows(self, texts: list[str]) -> list[Vectors]:
        model = self._model
        try:
            return list(model.embed(texts, batch_size=BATCH_TEXTS))
        except Exception as error:  # tokenizers and ONNX Runtime raise Exception itself
            raise EmbeddingError(
                f"The model {self._model_name} failed ({type(error).__name__})",
                hint="Its files may belong to different models, or memory may be short",
            ) from error

    @cached_property
    def _model(self) -> Any:  # fastembed's classes: the package is optional
        """The model, loaded at its first use."""
        if self._model_folder is not None and not Path(self._model_folder).is_dir():
            raise EmbeddingError(
                f"The folder {self._model_folder} of the model {self._model_name} does not exist",
                hint="Correct model_folder in the settings",
            )
        try:
            return _fastembed().TextEmbedding(
                self._model_name,
                specific_model_path=self._model_folder,
                local_files_only=not self._allow_download,
            )
        except Exception as error:  # tokenizers and ONNX Runtime raise Exception itself
            raise self._unusable() from error

    def _unusable(self) -> EmbeddingError:
        if self._model_folder is not None:
            return EmbeddingError(
                f"The folder {self._model_folder} does not hold a usable {self._model_name}",
                hint="It needs the ONNX file of that model, tokenizer.json and tokenizer_config.json",
            )
        hint = "Check the connection, or name a folder with the model's files in model_folder"
        if not self._allow_download:
            hint = "Set allow_download = true, or name a folder with the model's files in model_folder"
        return EmbeddingError(f"The model {self._model_name} is not in fastembed's cache", hint=hint)


def _dimension(model: str) -> int:
    known = {str(entry["model"]): entry for entry in _fastembed().TextEmbedding.list_supported_models()}
    by_lower_name = {name.lower(): entry for name, entry in known.items()}
    if (entry := by_lower_name.get(model.lower())) is None:
        raise SettingsError(f"fastembed knows no model {model!r}", hint=f"It knows: {', '.join(sorted(known))}")
    return int(entry["dim"])


def _fastembed() -> Any:  # the module: the package is optional
    try:
        import fastembed
        from loguru import logger
    except ImportError as error:
        raise SettingsError(
            "The package fastembed is not installed", hint="Install it: pip install 'overstory[fastembed]'"
        ) from error
    logger.disable("fastembed")  # it writes to standard error what is raised as well
    return fastembed
