"""Texts of one mark repeated: a quadratic scan would need hours for them and be ended by the time limit of a test."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from overstory.adapters.tokenizers import OpenAITokenizer
from overstory.chunking import boundaries, chunk
from overstory.chunking.titles import plain
from overstory.extractive.sentences import sentences

CHARS = 1_000_000
# No carriage return: normalized texts hold none.
MARKS = [".", "!", "?!", "…", "。", "؟", "۔", "# ", ". ", ".)", ", ", " \u0301", "`", "[", "|a"]


@pytest.mark.parametrize("mark", MARKS)
def test_places_to_cut_at_are_found_in_one_pass(mark: str) -> None:
    text = mark * (CHARS // len(mark)) + "a"
    for find in (boundaries.sentences, boundaries.lines, boundaries.words, boundaries.graphemes):
        assert all(0 < cut.at < len(text) for cut in find(text, 0, len(text)))


@pytest.mark.parametrize("mark", MARKS)
def test_sentences_of_a_summary_are_found_in_one_pass(mark: str) -> None:
    text = mark * (CHARS // len(mark)) + "a"
    assert sum(end - start for start, end in sentences(text)) <= len(text)


@pytest.mark.parametrize("mark", [".", "?!", "# ", "* ", "[", "[a](", "<"])
def test_heading_is_read_in_one_pass(mark: str) -> None:
    assert len(plain(mark * CHARS)) <= 200
    text = "# " + mark * (CHARS // 10)
    assert "".join(text[each.start : each.end] for each in chunk(text, OpenAITokenizer())) == text


CLOSING, OPENING, WHOLE = boundaries._CLOSING, boundaries._OPENING, boundaries._WHOLE
SENTENCES = regex.compile(
    rf"(?P<sentence>(?:[.!?…]+{CLOSING}\s+{OPENING}|[。！？｡؟۔।॥]+{CLOSING}\s*){WHOLE})|\n+", regex.VERSION0
)
WORDS = regex.compile(rf"(?P<clause>(?:[,;:—]\s+|[，、；：，؛])\s*{WHOLE})|\s+{WHOLE}")


@given(st.text('.!?…。 \n\r\t\u0301A1a")」,:，—', max_size=20), st.integers(0, 20), st.integers(0, 20))
def test_places_are_those_of_the_plain_expressions(text: str, start: int, end: int) -> None:
    # The plain ones are quadratic; leaves that were cut by them must not change.
    for plainly, found in ((SENTENCES, boundaries.sentences), (WORDS, boundaries.words)):
        expected = [match.end() for match in plainly.finditer(text, start, end) if match.end() < end]
        assert [cut.at for cut in found(text, start, end)] == expected
