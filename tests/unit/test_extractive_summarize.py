"""Summaries of whole statements, chosen for facts and topic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.adapters.tokenizers import OpenAITokenizer
from overstory.extractive import summarize
from overstory.facts import check, extract

count = OpenAITokenizer().count

POLICY = """# Support policy

Support is reached through the console and by e-mail, as everybody knows.

## First answer

A first answer comes within 4 business hours on Forge. It was 8 business hours before 8 September 2025.
We are proud of our team and of the work that it does for our customers everywhere.

## Retention

Tickets are deleted 14 days after they are closed. There is more to say about tickets, but not here.

| Plan | Price | Storage |
|---|---|---|
| Hearth | $32/seat | 10 GB |
| Forge | $55/seat | 250 GB |

```
timeout = 99 days
```
"""


def test_facts_are_kept_and_none_is_made_up() -> None:
    summary = summarize([POLICY], 90, 120, count)
    result = check(extract(POLICY.partition("```")[0]), extract(summary))
    assert result.survival is not None
    assert result.survival >= 0.85
    assert result.unsupported == ()


def test_summary_of_a_policy_reads_as_expected() -> None:
    assert summarize([POLICY], 60, 130, count) == "\n".join(
        [
            "Support policy: Support is reached through the console and by e-mail, as everybody knows.",
            "A first answer comes within 4 business hours on Forge. It was 8 business hours before 8 September 2025.",
            "Retention: Tickets are deleted 14 days after they are closed. Hearth: Price $32/seat; Storage 10 GB."
            " Forge: Price $55/seat; Storage 250 GB.",
        ]
    )


def test_statement_whose_cleaning_makes_a_fact_is_left_out() -> None:
    assert summarize(["Wait `3` days. It costs $5."], 100, 100, count) == "It costs $5."


def test_code_never_enters_a_summary() -> None:
    assert "timeout" not in summarize([POLICY], 400, 400, count)


def test_leaves_that_cut_a_sentence_are_read_as_one_text() -> None:
    leaves = ["The price rises ", "to $55 on 1 November 2025.\n\n", "It was $49."]
    assert "The price rises to $55 on 1 November 2025." in summarize(leaves, 100, 100, count)


def test_target_is_passed_only_for_facts() -> None:
    topic = " ".join(f"Sentence {chr(97 + n)}{chr(98 + n)}{chr(99 + n)} speaks of matters." for n in range(20))
    assert count(summarize([topic], 60, 400, count)) <= 70


def test_target_is_passed_until_enough_facts_are_kept() -> None:
    text = " ".join(f"Plan {name} costs ${price} for {price + 1} days." for price, name in enumerate("abcdefghij", 40))
    result = check(extract(text), extract(summarize([text], 30, 400, count)))
    assert result.survival is not None
    assert result.survival >= 0.85


def test_each_member_of_a_cluster_is_represented() -> None:
    members = [f"Policy {name}: It covers {name} matters and costs ${n} from 2025." for n, name in enumerate("ABCDE")]
    summary = summarize(members, 120, 200, count, separate=True)
    assert all(f"Policy {name}" in summary for name in "ABCDE")


def test_equal_members_of_a_cluster_are_told_once() -> None:
    assert summarize(["It costs $49.", "It costs $49."], 100, 100, count, separate=True) == "It costs $49."


def test_short_document_is_its_own_summary() -> None:
    assert summarize(["The gateway was retired on 1 May 2025."], 220, 440, count) == (
        "The gateway was retired on 1 May 2025."
    )


def test_index_page_is_told_by_its_headings() -> None:
    page = "Title\n=====\n\n.. toctree::\n\n   a\n\nWriting drivers\n---------------\n\nDebugging\n---------\n"
    assert summarize([page], 220, 440, count) == "Title: Writing drivers; Debugging."


def test_text_without_spaces_or_ends_is_cut_at_the_limit() -> None:
    assert 0 < count(summarize(["a" * 5000], 20, 30, count)) <= 30


@pytest.mark.parametrize("parts", [[], [""], ["  \n "], ["--- ***"]])
def test_parts_without_a_word_give_an_empty_text(parts: list[str]) -> None:
    assert summarize(parts, 220, 440, count) == ""


@pytest.mark.parametrize(
    "text",
    [
        "データ保持ポリシーは2025年7月1日に変更されます。ログは18か月間保存されます。料金は４９ドルです。",
        "تتغير السياسة في ٣ مايو. السعر ٤٩ دولار للمقعد الواحد؟ نعم.",
        "บันทึกจะถูกเก็บไว้ ๓๐ วัน ตามนโยบายของบริษัท",
    ],
)
def test_facts_of_other_scripts_are_kept(text: str) -> None:
    result = check(extract(text), extract(summarize([text], 220, 440, count)))
    assert result.kept == result.facts > 0


PIECES = [
    "# Heading\n\n", "## Sub 2.1\n", "A sentence of 30 days. ", "It costs $49! ", "- item one\n", "| a | b |\n",
    "|---|---|\n", "```\n", "code();\n", "> quote ", "[link](u) ", "**Bold.** ", "汉字。", "٤٩ دولار ", "\n\n", "1. ",
    "Python ", "3.6 ", ".. note:: x\n", "::\n\n    y = 2\n",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40), st.integers(5, 120), st.booleans())
def test_summary_is_bounded_supported_deterministic_and_never_empty(
    pieces: list[str], limit: int, separate: bool
) -> None:
    parts = pieces if separate else ["".join(pieces)]
    summary = summarize(parts, limit, limit, count, separate=separate)
    source = [fact for part in parts for fact in extract(part)]
    assert count(summary) <= limit
    assert check(source, extract(summary)).unsupported == ()
    assert bool(summary) == any(map(str.isalnum, "".join(parts)))
    assert summary == summarize(parts, limit, limit, count, separate=separate)


def test_question_that_opens_a_paragraph_needs_no_colon() -> None:
    text = "# Plans\n\n**What does it cost?** It costs $49 a month for each of the seats.\n"
    assert summarize([text], 100, 100, count) == (
        "Plans: What does it cost? It costs $49 a month for each of the seats."
    )


def test_title_that_does_not_fit_gives_way_to_the_statement() -> None:
    text = f"# {'Very long title words ' * 5}\n\nIt costs $49.\n"
    assert summarize([text], 8, 8, count) == "It costs $49."


def test_heading_that_says_nothing_is_not_told() -> None:
    text = "# Plan\n\n## Introduction\n\nIt costs $49 a month.\n"
    assert summarize([text], 100, 100, count) == "Plan: It costs $49 a month."


def test_policies_in_the_plural_are_one_topic_word() -> None:
    from overstory.extractive.salience import words

    assert words("policies") == words("policy")
