"""The versions that enter recipes: they must move when the same input would come out otherwise.

Where one of these fails, raise the version in the code and run with --update-golden: until it moves, nodes made by the
former code count as fresh.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from overstory.adapters.tokenizers import OpenAITokenizer
from overstory.building.leaves import CHUNKER_VERSION, CutRequest, Cutter
from overstory.extractive import summarize
from overstory.extractive.summarizing import VERSION
from overstory.identity import digest, document_id, version_id
from overstory.normalization import decode, normalize
from overstory.settings import Chunking

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"


def texts() -> dict[str, str]:
    return {
        path.relative_to(CORPUS).as_posix(): normalize(decode(path.read_bytes()))
        for path in sorted(CORPUS.rglob("*.md"))
    }


def test_extractive_summaries_change_only_with_their_version(check_golden: Callable[[str, str], None]) -> None:
    count = OpenAITokenizer().count
    made = [summarize([text], 220, 440, count) for text in texts().values()]
    check_golden("extractive-version.json", json.dumps({"version": VERSION, "is": digest("golden", *made)}) + "\n")


def test_leaves_change_only_with_the_version_of_the_chunker(check_golden: Callable[[str, str], None]) -> None:
    cutter = Cutter(Chunking(), OpenAITokenizer())
    hashes = []
    for path, text in texts().items():
        document = document_id("golden", path)
        hashes.append(cutter.cut(CutRequest(document, version_id(document, 1), text)).child_hash)
    found = {"version": CHUNKER_VERSION, "is": digest("golden", *hashes)}
    check_golden("chunker-version.json", json.dumps(found) + "\n")
