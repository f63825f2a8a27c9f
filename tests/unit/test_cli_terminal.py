from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.cli.tables import duration, money, short, words
from overstory.cli.terminal import one_line, printable


@given(st.text())
def test_no_control_character_is_left_but_tab_and_line_feed(text: str) -> None:
    shown = printable(text)
    assert not [c for c in shown if (ord(c) < 32 or 127 <= ord(c) < 160) and c not in "\t\n"]


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


@pytest.mark.parametrize("mark", ["\u200f", "\u200e", "\u061c", "\u202e", "\u200b", "\ufeff", "\u2066"])
def test_marks_that_are_not_seen_are_spelled_out(mark: str) -> None:
    assert printable(f"a{mark}b") == f"a\\x{ord(mark):02x}b"


def test_words_of_any_script_are_left_alone() -> None:
    assert printable("Preis: 49 €, 価格 🦜, سعر") == "Preis: 49 €, 価格 🦜, سعر"


@pytest.mark.parametrize(
    ("usd", "text"), [(0, "free"), (0.0007, "$0.0007"), (0.5, "$0.5000"), (1, "$1.00"), (1234.5, "$1,234.50")]
)
def test_money_has_as_many_digits_as_it_needs(usd: float, text: str) -> None:
    assert money(usd) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (999, "999"), (1000, "1k"), (12_345, "12.3k"), (201_000_000, "201M")]
)
def test_large_numbers_are_short(number: int, text: str) -> None:
    assert short(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (9.94, "9.9 s"), (42, "42 s"), (120, "2 min"), (7200, "2.0 h"), (200_000, "2.3 days")],
)
def test_time_is_said_as_people_say_it(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_identifier_becomes_words() -> None:
    assert words("document_summary") == "document summary"
