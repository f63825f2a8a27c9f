from __future__ import annotations

import pytest

from overstory.chunking.blocks import Block, Kind, blocks


def headings(text: str) -> list[tuple[int, str]]:
    return [(block.level, block.title) for block in blocks(text) if block.kind is Kind.HEADING]


def kinds(text: str) -> list[Kind]:
    return [block.kind for block in blocks(text)]


def pieces(text: str, kind: Kind) -> list[str]:
    """The text of each block of ``kind``, with the blank lines behind it."""
    found: list[Block] = blocks(text)
    ends = [*(block.start for block in found[1:]), len(text)]
    return [text[block.start : end] for block, end in zip(found, ends, strict=True) if block.kind is kind]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# One\n\ntext\n\n### Three ###\n", [(1, "One"), (3, "Three")]),
        ("  ## Indented a little\n", [(2, "Indented a little")]),
        ("One\n===\n\nTwo\n---\n", [(1, "One"), (2, "Two")]),
        ("====\nBook\n====\n\nPart\n====\n\nChapter\n-------\n", [(1, "Book"), (2, "Part"), (3, "Chapter")]),
        ("First\n-----\n\nx\n\nSecond\n~~~~~~\n\nx\n\nThird\n-----\n", [(1, "First"), (2, "Second"), (1, "Third")]),
        ("1 Scope\n\nIt applies.\n\n1.2 Terms of use\n\nThey hold.\n", [(1, "1 Scope"), (2, "1.2 Terms of use")]),
    ],
)
def test_headings_of_markdown_restructuredtext_and_numbered_texts(text: str, expected: list[tuple[int, str]]) -> None:
    assert headings(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "#hashtag\n",
        "    # indented code\n",
        "#\n",
        "- item\n---\n",
        "text\n\n---\n\ntext\n",
        "-----\n-----\n",
        "1. First\n\n2. Second\n\n3. Third\n",
        "2024 was a year.\n",
        "Version 1.2 of the product\n",
        "a | b\n--|--\n1 | 2\n",
        "---\ntitle: x\ntags: y\n---\n\ntext\n",
    ],
)
def test_what_is_no_heading(text: str) -> None:
    assert headings(text) == []


def test_numbered_lines_are_no_headings_where_there_are_marked_ones() -> None:
    assert headings("# Title\n\n1.2 Terms\n\ntext\n") == [(1, "Title")]


@pytest.mark.parametrize(
    "fence",
    [
        "```sh\n# comment\nls\n```\n",
        "~~~\n# comment\n```\n# more\n~~~\n",
        "````\n```\n# comment\n```\n````\n",
        "  ```\n  # comment\n  ```\n",
        "```\n# never closed\n\n# to the end\n",
        "```\n# closed by trailing spaces\n```  \n",
    ],
)
def test_case_53_a_comment_in_a_fence_is_no_heading(fence: str) -> None:
    text = f"# Title\n\n{fence}"
    assert (headings(text), pieces(text, Kind.FENCE)) == ([(1, "Title")], [fence])


def test_after_a_fence_headings_count_again() -> None:
    assert headings("```\n# no\n```\n# yes\n") == [(1, "yes")]


def test_inline_code_with_three_backticks_opens_no_fence() -> None:
    assert headings("```x``` is code\n\n# yes\n") == [(1, "yes")]


@pytest.mark.parametrize(
    ("table", "header"),
    [
        ("| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3 | 4 |\n", "| a | b |\n|---|:-:|\n"),
        ("a | b\n--- | ---\n1 | 2\n", "a | b\n--- | ---\n"),
        ("+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+\n", "+---+---+\n| a | b |\n+===+===+\n"),
        ("=== ===\na   b\n=== ===\n1   2\n3   4\n=== ===\n", "=== ===\na   b\n=== ===\n"),
    ],
)
def test_case_53_a_table_is_one_block_and_knows_its_header(table: str, header: str) -> None:
    text = f"Before:\n\n{table}\nafter\n"
    (block,) = [block for block in blocks(text) if block.kind is Kind.TABLE]
    assert (pieces(text, Kind.TABLE), text[block.start : block.body]) == ([f"{table}\n"], header)


def test_each_list_item_is_a_block_with_its_continuation_lines() -> None:
    text = "- one\n  goes on\n- two\n    1. nested\n"
    assert pieces(text, Kind.ITEM) == ["- one\n  goes on\n", "- two\n", "    1. nested\n"]


def test_paragraphs_are_parted_by_blank_lines() -> None:
    assert pieces("\none\ntwo\n \nthree", Kind.PARAGRAPH) == ["\none\ntwo\n \n", "three"]


@pytest.mark.parametrize("text", ["", "\n", " \t\n\n"])
def test_a_text_without_content_is_one_paragraph(text: str) -> None:
    assert kinds(text) == [Kind.PARAGRAPH]
