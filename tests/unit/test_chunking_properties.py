from __future__ import annotations

import pickle
from itertools import pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from overstory.adapters.tokenizers import OpenAITokenizer
from overstory.chunking import Chunk, chunk, sections

TOKENIZER = OpenAITokenizer()

FRAGMENTS = [
    "# Heading\n",
    "## Part two\n",
    "Title\n=====\n",
    "1.2 Scope\n",
    "\n",
    "\n\n",
    "   ",
    "\t",
    "\r\n",
    "\u3000",
    "Some words of prose, and more. Then a second sentence! ",
    "a line that ends here\n",
    "- an item\n",
    "  1. nested\n",
    "```python\n# no heading\n```\n",
    "~~~\ncode\n",
    "```\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "+---+\n| x |\n+---+\n",
    "=== ===\nA   B\n=== ===\n1   2\n=== ===\n",
    "---\ntitle: x\n---\n",
    "<|endoftext|>",
    "漢字かな交じり文。次の文！",
    "ภาษาไทยไม่มีเว้นวรรค",
    "مرحبا بالعالم. ",
    "שלום\u200fעולם ",
    "👩‍👩‍👧‍👦",
    "🇩🇪🇫🇷🇩",
    "e\u0301\u0302",
    "क्षत्रिय",
    "\u0301",
    "한국어",
    "x" * 70,
    "\ud800",
    "\x00",
    "as follows:\n",
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=20), max_size=40).map("".join)
CAPS = st.sampled_from([16, 17, 24, 40, 64])


def slices(text: str, chunks: list[Chunk]) -> list[str]:
    return [text[each.start : each.end] for each in chunks]


@given(TEXTS, CAPS)
def test_without_overlap_the_slices_rebuild_the_text(text: str, cap: int) -> None:
    assert "".join(slices(text, chunk(text, TOKENIZER, cap_tokens=cap))) == text


@given(TEXTS, CAPS)
def test_no_chunk_is_empty(text: str, cap: int) -> None:
    assert all(each.start < each.end for each in chunk(text, TOKENIZER, cap_tokens=cap))


@given(TEXTS, CAPS, st.sampled_from([0, 4, 8]))
def test_no_chunk_with_its_context_is_above_the_cap(text: str, cap: int, overlap: int) -> None:
    for each in chunk(text, TOKENIZER, cap_tokens=cap, overlap_tokens=overlap):
        assert each.tokens == TOKENIZER.count(each.context + text[each.start : each.end]) <= cap


@given(TEXTS, CAPS, st.sampled_from([1, 4, 8]))
def test_with_an_overlap_the_slices_cover_the_text_in_order(text: str, cap: int, overlap: int) -> None:
    chunks = chunk(text, TOKENIZER, cap_tokens=cap, overlap_tokens=overlap)
    bounds = [(0, 0), *((each.start, each.end) for each in chunks), (len(text), len(text))]
    assert all(start < following <= end for (start, end), (following, _) in pairwise(bounds[1:-1]))
    assert bounds[1][0] == 0
    assert bounds[-2][1] == len(text)


@given(TEXTS, CAPS, st.sampled_from([2, 8]))
def test_an_overlap_is_no_longer_than_asked_for(text: str, cap: int, overlap: int) -> None:
    chunks = chunk(text, TOKENIZER, cap_tokens=cap, overlap_tokens=overlap)
    for one, two in pairwise(chunks):
        assert TOKENIZER.count(text[two.start : one.end]) <= overlap


@given(TEXTS, CAPS, st.sampled_from([0, 8]))
def test_no_cut_falls_inside_a_grapheme_cluster(text: str, cap: int, overlap: int) -> None:
    clusters = [match.span() for match in regex.finditer(r"\X", text)]
    allowed = {start for start, _ in clusters}
    for start, end in clusters:
        if TOKENIZER.count(text[start:end]) > cap // 2:  # larger than what is left beside a repeated context
            allowed |= set(range(start, end))
    assert {each.start for each in chunk(text, TOKENIZER, cap_tokens=cap, overlap_tokens=overlap)} <= allowed


@given(TEXTS, CAPS)
def test_the_same_text_is_cut_the_same_way(text: str, cap: int) -> None:
    assert chunk(text, TOKENIZER, cap_tokens=cap) == chunk(text, OpenAITokenizer(), cap_tokens=cap)


@given(TEXTS, st.sampled_from([40, 100, 400]))
def test_sections_are_contiguous_runs_of_all_chunks(text: str, most: int) -> None:
    chunks = chunk(text, TOKENIZER, cap_tokens=16)
    found = sections(chunks, max_tokens=most)
    indices = [index for part in found for index in range(part.first, part.last + 1)]
    assert indices == (list(range(len(chunks))) if found else [])


def test_chunks_and_the_tokenizer_can_be_sent_to_another_process() -> None:
    chunks = chunk("# A\n\ntext", TOKENIZER)
    assert pickle.loads(pickle.dumps((chunks, TOKENIZER.name))) == (chunks, "o200k_base")
    assert pickle.loads(pickle.dumps(TOKENIZER)).count("hello world") == 2


@pytest.mark.parametrize(("cap", "overlap"), [(15, 0), (0, 0), (64, 33), (64, -1)])
def test_a_cap_or_overlap_out_of_range_is_refused(cap: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="out of range"):
        chunk("text", TOKENIZER, cap_tokens=cap, overlap_tokens=overlap)
