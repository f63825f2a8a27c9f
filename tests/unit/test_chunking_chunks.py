from __future__ import annotations

import random
from itertools import pairwise

import pytest
import regex

from overstory.adapters.tokenizers import OpenAITokenizer
from overstory.chunking import Chunk, chunk

TOKENIZER = OpenAITokenizer()
VOCABULARY = "the of index summary leaf cluster token budget price policy returns within days unless order holds"
WORDS = VOCABULARY.split()
CAP = 256


class CountingTokenizer:
    """A tokenizer that notes how many characters it was given."""

    name = "counting"

    def __init__(self) -> None:
        self.characters = 0

    def count(self, text: str) -> int:
        self.characters += len(text)
        return TOKENIZER.count(text)


def readable(text: str, each: Chunk) -> str:
    return each.context + text[each.start : each.end]


def sentence(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(6, 22))).capitalize() + "."


def prose(seed: int, paragraphs: int, every: int = 0) -> str:
    """Paragraphs of random sentences; a heading before each ``every``-th."""
    rng = random.Random(seed)
    parts = []
    for number in range(paragraphs):
        if every and number % every == 0:
            parts.append(f"## Part {number}: {rng.choice(WORDS)}")
        parts.append(" ".join(sentence(rng) for _ in range(rng.randint(2, 7))))
    return "\n\n".join(parts)


def test_an_empty_text_has_no_chunks() -> None:
    assert chunk("", TOKENIZER) == []


def test_a_short_text_is_one_chunk() -> None:
    assert chunk("# A\n\nshort text", TOKENIZER) == [Chunk(0, 15, "", (), TOKENIZER.count("# A\n\nshort text"), "A")]


def test_case_51_a_text_about_special_tokens_is_cut_like_any_other() -> None:
    text = "The token <|endoftext|> ends a text, and <|fim_prefix|> begins one. " * 100
    chunks = chunk(text, TOKENIZER)
    assert "".join(readable(text, each) for each in chunks) == text
    assert len(chunks) > 5


SCRIPTS = {
    "han": "索引是摘要的层次" * 1000,
    "han with sentences": "索引在文件改变时保持更新。价格是多少？" * 400,
    "thai": "ดัชนีสรุปแบบลำดับชั้นจะอัปเดตอยู่เสมอเมื่อเอกสารเปลี่ยนแปลง" * 100,
    "arabic with bidi marks": "\u200fيبقى الفهرس محدثًا \u200e(v2.1)\u200f عندما تتغير المستندات، " * 100,
    "hebrew": "\u2067האינדקס נשאר מעודכן כשהמסמכים משתנים\u2069 " * 100,
    "emoji": "👩‍👩‍👧‍👦👍🏽🏳️‍🌈🇩🇪" * 200,
    "hindi": "दस्तावेज़ बदलने पर सूचकांक ताज़ा रहता है। " * 100,
    "combining": "a\u0301\u0302\u0303o\u0308" * 1000,
    "one word": "x" * 20_000,
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_case_52_every_script_is_counted_kept_and_never_cut_inside_a_grapheme(script: str) -> None:
    text = SCRIPTS[script]
    chunks = chunk(text, TOKENIZER)
    clusters = {match.start() for match in regex.finditer(r"\X", text)}
    assert "".join(readable(text, each) for each in chunks) == text
    assert max(TOKENIZER.count(readable(text, each)) for each in chunks) <= CAP
    assert {each.start for each in chunks} <= clusters


def test_case_52_han_text_is_cut_behind_its_sentences() -> None:
    text = SCRIPTS["han with sentences"]
    assert {text[each.end - 1] for each in chunk(text, TOKENIZER)} <= set("。？")


def table(rows: int) -> str:
    body = "".join(f"| {row} | product {row} of the catalog | {row * 7} USD |\n" for row in range(rows))
    return f"| id | name | price |\n| --- | --- | --- |\n{body}"


def test_case_53_each_piece_of_a_cut_table_repeats_its_header() -> None:
    text = f"# Prices\n\nThe prices are:\n\n{table(80)}\nThat is all.\n"
    chunks = chunk(text, TOKENIZER)
    for each in chunks:
        if "product" in readable(text, each):
            assert readable(text, each).count("| id | name | price |\n| --- | --- | --- |\n") == 1
    assert "".join(text[each.start : each.end] for each in chunks) == text


def test_case_53_a_table_is_cut_between_rows_only() -> None:
    text = table(80)
    assert all(text[each.start] == "|" and text[each.start - 1] == "\n" for each in chunk(text, TOKENIZER)[1:])


def test_case_53_a_document_that_is_only_a_table() -> None:
    text = table(80).rstrip()
    chunks = chunk(text, TOKENIZER)
    assert [each.context for each in chunks] == [
        "",
        *["| id | name | price |\n| --- | --- | --- |\n"] * (len(chunks) - 1),
    ]
    assert len(chunks) > 3


def test_a_table_that_fits_is_kept_whole() -> None:
    text = prose(1, 3) + "\n\n" + table(10) + "\n" + prose(2, 3)
    assert sum("product" in text[each.start : each.end] for each in chunk(text, TOKENIZER)) == 1


def test_a_header_that_would_fill_half_of_a_chunk_is_not_repeated() -> None:
    text = f"| {'wide ' * 150}| b |\n|---|---|\n" + "| 1 | some words in a row |\n" * 60
    assert {each.context for each in chunk(text, TOKENIZER)} == {""}


def fence(marks: str, lines: int) -> str:
    body = "".join(f"# comment {line}\nvalue_{line} = compute({line})\n\n" for line in range(lines))
    return f"{marks}python\n{body}{marks}\n"


def test_case_53_a_fence_that_fits_is_kept_whole() -> None:
    text = prose(3, 4) + "\n\nFor example:\n\n" + fence("~~~", 8) + "\n" + prose(4, 4)
    assert sum("value_" in text[each.start : each.end] for each in chunk(text, TOKENIZER)) == 1


@pytest.mark.parametrize("ending", ["", "```\n"])
def test_case_53_each_piece_of_a_cut_fence_is_opened_again(ending: str) -> None:
    text = f"# Title\n\n{fence('```', 60)}".removesuffix("```\n") + ending
    chunks = chunk(text, TOKENIZER)
    assert [each.context for each in chunks] == ["", *["```python\n"] * (len(chunks) - 1)]
    assert {each.headings for each in chunks[1:]} == {("Title",)}
    assert text[chunks[-1].start : chunks[-1].end].strip("`\n") != ""


def test_headings_are_those_above_the_start_of_a_chunk() -> None:
    text = f"# Book\n\n{prose(5, 1)}\n\n## One\n\n{prose(6, 12)}\n\n## Two\n\n{prose(7, 12)}\n"
    chunks = chunk(text, TOKENIZER)
    two = next(index for index, each in enumerate(chunks) if each.heading == "Two")
    assert (chunks[0].headings, chunks[0].heading) == ((), "Book")
    assert chunks[two].headings == ("Book",)
    assert {each.headings for each in chunks[two + 1 :]} == {("Book", "Two")}


def test_headings_are_given_without_their_markup() -> None:
    (each,) = chunk("# The *new* [index](https://example.org)\n\ntext", TOKENIZER)
    assert each.heading == "The new index"


@pytest.mark.parametrize("seed", range(5))
def test_no_heading_ends_a_chunk(seed: int) -> None:
    text = prose(seed, 60, every=2)
    ends = [text[each.start : each.end].rstrip().rpartition("\n")[2] for each in chunk(text, TOKENIZER)]
    assert [end for end in ends if end.startswith("## ")] == []


@pytest.mark.parametrize("every", [0, 3, 8])
def test_chunks_of_prose_are_at_least_60_percent_full_on_average(every: int) -> None:
    chunks = chunk(prose(11, 120, every), TOKENIZER)
    assert sum(each.tokens for each in chunks) / len(chunks) >= 0.6 * CAP


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("every", [0, 5])
def test_one_inserted_word_changes_at_most_three_chunks_of_twenty(seed: int, every: int) -> None:
    text = prose(seed, 80, every)
    old = {readable(text, each) for each in chunk(text, TOKENIZER)}
    rng = random.Random(seed)
    changed = []
    for _ in range(10):
        at = text.index(" ", rng.randrange(len(text) - 200))
        edited = f"{text[:at]} additional{text[at:]}"
        changed.append(len({readable(edited, each) for each in chunk(edited, TOKENIZER)} - old))
    assert len(old) >= 20
    assert max(changed) <= 3


def test_an_inserted_section_leaves_most_other_chunks_as_they_were() -> None:
    text = prose(21, 200, every=5)
    at = text.index("## Part 40")
    edited = f"{text[:at]}## An inserted part\n\n{prose(22, 5)}\n\n{text[at:]}"
    old = {readable(text, each) for each in chunk(text, TOKENIZER)}
    new = {readable(edited, each) for each in chunk(edited, TOKENIZER)}
    assert len(new - old) <= 10 < len(old) / 4


def test_an_overlap_begins_at_a_sentence_where_one_fits() -> None:
    text = prose(31, 20)
    chunks = chunk(text, TOKENIZER, overlap_tokens=40)
    repeated = [text[two.start : one.end] for one, two in pairwise(chunks)]
    assert sum(bool(each) for each in repeated) >= 0.9 * len(repeated)
    assert all(text[two.start].isupper() for two in chunks[1:])


LARGE = {
    "one line of words": "word " * 40_000,
    "one word": "x" * 200_000,
    "newlines": "a" + "\n" * 100_000 + "b",
    "nested list": "".join("  " * (line % 50) + "- item\n" for line in range(4_000)),
    "unclosed fences": "    ```x\n" * 20_000,
    "unclosed tables": "=== ===\nx\n\n" * 15_000 + "=== ===\nx",
    "headings": "# h\n" * 20_000,
    "flags": "\U0001f1e6" * 20_000,
}


@pytest.mark.parametrize("shape", LARGE)
def test_the_work_grows_with_the_length_of_the_text_only(shape: str) -> None:
    text = LARGE[shape]
    half, whole = CountingTokenizer(), CountingTokenizer()
    chunk(text[: len(text) // 2], half)
    chunk(text, whole)
    assert whole.characters <= 2.2 * half.characters
    assert whole.characters <= 6 * len(text)
