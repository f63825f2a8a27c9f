"""Real files of many formats and encodings, kept beside the repository; skipped where they are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from overstory.adapters.extractors import LibraryExtractor
from overstory.adapters.tokenizers import OpenAITokenizer
from overstory.chunking import chunk
from overstory.errors import ExtractionError
from overstory.extraction import extract_document
from overstory.normalization import normalize

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "formats"
ROWS: list[dict[str, Any]] = (
    [json.loads(line) for line in (FOLDER / "manifest.jsonl").read_text(encoding="utf-8").splitlines()]
    if FOLDER.is_dir()
    else []
)
READABLE = [row for row in ROWS if row["outcome"] == "text"]
REFUSED = {row["outcome"]: row["file"] for row in ROWS if row["outcome"] != "text"}
REASONS = {
    "must be reported: empty": "is empty",
    "must be refused: encrypted": "is encrypted",
    "must be reported: no text layer": "has no text layer",
}

pytestmark = pytest.mark.skipif(not ROWS, reason="the sample files of ../shared are absent")


@pytest.mark.parametrize("row", READABLE, ids=lambda row: str(row["file"]))
def test_the_text_of_a_real_file_holds_what_a_reader_sees(row: dict[str, Any]) -> None:
    text = " ".join(
        extract_document(row["file"], (FOLDER / row["file"]).read_bytes(), extractor=LibraryExtractor()).text.split()
    )
    assert [expected for expected in row["expect"] if expected not in text] == []


@pytest.mark.parametrize("outcome", REASONS)
def test_a_real_file_without_text_is_reported(outcome: str) -> None:
    name = REFUSED[outcome]
    with pytest.raises(ExtractionError, match=REASONS[outcome]):
        extract_document(name, (FOLDER / name).read_bytes(), extractor=LibraryExtractor())


@pytest.mark.parametrize("row", READABLE, ids=lambda row: str(row["file"]))
def test_the_chunks_of_a_real_file_rebuild_its_text(row: dict[str, Any]) -> None:
    text = extract_document(row["file"], (FOLDER / row["file"]).read_bytes(), extractor=LibraryExtractor()).text
    chunks = chunk(text, OpenAITokenizer())
    assert "".join(text[each.start : each.end] for each in chunks) == text == normalize(text)
    assert max(each.tokens for each in chunks) <= 256
