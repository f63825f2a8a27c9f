"""What of a document may enter a summary, and how it reads."""

from __future__ import annotations

import pytest

from overstory.extractive.markup import clean
from overstory.extractive.units import material


def statements(text: str) -> list[str]:
    return [unit.text for unit in material([(0, len(text))], text).units]


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("**bold** and *italic* and `code`", "bold and italic and code"),
        ("see [the guide](https://example.org/a_(b))", "see the guide"),
        ("an ![image](x.png) here", "an here"),
        ("``x`` and :ref:`the label <target>` and :pep:`484`", "x and the label and PEP 484"),
        ("`Python <https://python.org>`_ is here [1]_.", "Python is here."),
        ("a<br>b &amp; <b>c</b>", "a b & c"),
        ("{% data x %}kept", "kept"),
        ("one\n  two", "one two"),
        ("snake_case and __init__ stay", "snake_case and init stay"),
        ("<|endoftext|> stays", "<|endoftext|> stays"),
        ("安全人员\n的列表", "安全人员的列表"),
    ],
)
def test_markup_is_read_as_it_renders(marked: str, plain: str) -> None:
    assert clean(marked) == plain


def test_code_is_left_out() -> None:
    text = "It works.\n\n```\nx = 1\n# no heading\n```\n\nUse::\n\n    y = 2;\n\nDone now.\n"
    assert statements(text) == ["It works.", "Use.", "Done now."]


def test_unclosed_fence_does_not_swallow_the_rest() -> None:
    assert statements("```\nx = 1\n\nAfter it a sentence.") == ["After it a sentence."]


def test_prose_ending_in_semicolons_is_no_code() -> None:
    text = "(a) returns a status within 15 seconds of receiving the data;\n\n(b) keeps it for 30 days;"
    assert len(statements(text)) == 2


def test_row_is_told_with_its_header() -> None:
    table = "| Plan | Price | Storage |\n|---|---|---|\n| Pro | $49/seat | 10 GB |\n"
    assert statements(table) == ["Pro: Price $49/seat; Storage 10 GB."]


def test_header_that_would_make_a_version_of_a_number_is_parted_from_it() -> None:
    assert statements("| A | Python |\n|---|---|\n| x | 3.6 |\n") == ["x: Python: 3.6."]


def test_row_of_a_grid_may_run_over_lines() -> None:
    grid = "+-----+-------+\n| A   | B     |\n+=====+=======+\n| one | two   |\n|     | three |\n+-----+-------+\n"
    assert statements(grid) == ["one: B two three."]


def test_rows_of_a_simple_table() -> None:
    table = "====  =====\nName  Price\n====  =====\nPro   $49\nTeam  $19\n====  =====\n"
    assert statements(table) == ["Pro: Price $49.", "Team: Price $19."]


def test_repeated_header_of_a_table_cut_in_two_is_no_statement() -> None:
    head = "| Plan | Price |\n|---|---|\n"
    assert statements(f"{head}| Pro | $49 |\n{head}| Team | $19 |\n") == ["Pro: Price $49.", "Team: Price $19."]


def test_repeated_statements_are_taken_once() -> None:
    assert statements("It is so.\n\nIt is so.") == ["It is so."]


@pytest.mark.parametrize(
    "text",
    [
        ".. SPDX-License-Identifier: GPL-2.0\n",
        "This document has been placed in the public domain.\n",
        "- [Home](/) \n- [About](/about)\n",
        "Copyright 2019 The Authors\n",
        ".. image:: x.png\n",
        "<!-- hidden -->\n",
    ],
)
def test_boilerplate_and_navigation_state_nothing(text: str) -> None:
    assert statements(text) == []


def test_front_matter_gives_the_title() -> None:
    text = "---\ntitle: Data retention\n---\n\nLogs are kept.\n"
    assert material([(0, len(text))], text).titles[0].text == "Data retention"


@pytest.mark.parametrize("text", ["# Top\n\nText here.\n", "Top\n===\n\nText here.\n", "===\nTop\n===\n\nText here.\n"])
def test_first_heading_is_the_title(text: str) -> None:
    assert material([(0, len(text))], text).titles[0].text == "Top"


def test_statement_knows_its_heading_and_the_words_that_open_its_paragraph() -> None:
    text = "# T\n\n## Q3 2025\n\n**1 August 2025.** Hearth goes to $32. It was $29.\n"
    units = material([(0, len(text))], text).units
    assert [(unit.section.heading.text, unit.lead.text) for unit in units] == [("Q3 2025", "1 August 2025")] * 2


def test_parenthesis_whose_other_half_is_elsewhere_goes() -> None:
    assert statements("It works (since 2017. And so on.)") == ["It works (since 2017.", "And so on."]


def test_line_of_a_literal_block_that_states_a_number_is_kept() -> None:
    text = "For example::\n\n    3.3.0  # Language release\n    x = 3\n\nEnd of it."
    assert statements(text) == ["For example.", "3.3.0 # Language release.", "End of it."]


def test_body_of_a_skipped_directive_is_left_out() -> None:
    assert statements("As here::\n\n.. code-block:: sh\n\n   wait 30 seconds now\n\nEnd of it.") == [
        "As here.",
        "End of it.",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (".. [1] A note of 30 days.\n", ["A note of 30 days."]),
        (".. note:: Mind the step.\n", ["Mind the step."]),
        (".. warning::\n\n   Mind the step.\n", ["Mind the step."]),
        (">>> x\n1\n\nAfter it.\n", ["After it."]),
        ("[a]: http://example.org\nAfter it.\n", ["After it."]),
        ("---\nlayout: x\n---\nAfter it.\n", ["After it."]),
        ("# SPDX-License-Identifier: MIT\n\nAfter it.\n", ["After it."]),
        (
            "Note that what follows: this is only a longer sentence.",
            ["Note that what follows: this is only a longer sentence."],
        ),
        ("(It ends here.) And so on.", ["(It ends here.)", "And so on."]),
        ("It is (so. It is not).", ["It is (so.", "It is not."]),
        ("ログは保存されます", ["ログは保存されます。"]),
        ("====\nno table", ["no table."]),
        ("==== ====\nbroken\n\nAfter it.", ["broken.", "After it."]),
    ],
)
def test_blocks_read_as_what_they_hold(text: str, told: list[str]) -> None:
    assert statements(text) == told


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("a | b | c\n--|---|---\nx | 1 GB | 2\n", ["x: b 1 GB; c 2."]),
        ("| a | b | c |\n|---|---|---|\n|  | y | z |\n", ["b y; c z."]),
        ("| a | b | c |\n|---|---|---|\n| x | - |  |\n", ["x."]),
        ("==== ====\na    b\n==== ====\nx    y\n     z\n==== ====\n", ["x: b y z."]),
        ("==== ====\na    b\n==== ====\nlonger name  y\n==== ====\n", ["longer name: b y."]),
    ],
)
def test_rows_of_uneven_tables(table: str, told: list[str]) -> None:
    assert statements(table) == told


def test_header_fields_give_the_title_and_leave_out_addresses() -> None:
    text = "PEP: 1\nTitle: Purpose\nAuthor: A <a@b.org>\nStatus: Active\nCreated: 13-Jun-2000\n\nText.\n"
    found = material([(0, len(text))], text)
    assert found.titles[0].text == "Purpose"
    assert [unit.text for unit in found.units] == ["PEP: 1.", "Status: Active.", "Created: 13-Jun-2000.", "Text."]
