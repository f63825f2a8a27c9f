"""Embedders are opened by name, and a wrong name or option is told at once."""

from __future__ import annotations

import pytest

from overstory.adapters.embedders import EMBEDDER_NAMES, open_embedder
from overstory.errors import SettingsError


def test_wordllama_opens_by_name() -> None:
    embedder = open_embedder("wordllama")
    assert (embedder.name, embedder.dimension) == ("wordllama", 256)


@pytest.mark.parametrize("name", ["", "word2vec", "wordllama:large", "fastembed", "openai:", "Wordllama"])
def test_unknown_name_is_refused_with_the_names_that_exist(name: str) -> None:
    with pytest.raises(SettingsError) as caught:
        open_embedder(name)
    assert all(known in str(caught.value) for known in EMBEDDER_NAMES)


def test_unknown_option_is_refused_by_name() -> None:
    with pytest.raises(SettingsError, match="has no option dimensions, normalise"):
        open_embedder("wordllama", normalise=True, dimensions=3)
