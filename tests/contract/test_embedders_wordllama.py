"""Our reading of the wheel's files gives what the package's own code gives."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from overstory.adapters.embedders.wordllama_embedder import WordLlamaEmbedder

TEXTS = ["Refunds are paid within 30 days.", "Ценник: 5 €", "a  b\n\nc\td", "word " * 3000]

# In a process of its own, since importing wordllama configures the root logger.
REFERENCE = """
import json, sys
from pathlib import Path
import wordllama
model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
print(json.dumps([model.embed(text, norm=True)[0].tolist() for text in json.load(sys.stdin)]))
"""


def test_vectors_equal_those_of_the_package() -> None:
    result = subprocess.run(
        [sys.executable, "-c", REFERENCE], input=json.dumps(TEXTS), capture_output=True, text=True, check=True
    )
    np.testing.assert_allclose(WordLlamaEmbedder().embed(TEXTS), json.loads(result.stdout), atol=2e-5)
