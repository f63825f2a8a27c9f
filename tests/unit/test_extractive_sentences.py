"""Where sentences end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.extractive.sentences import sentences


def split(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in sentences(text)]


@pytest.mark.parametrize(
    "text",
    [
        "Use e.g. Python 3.6 for it.",
        "Mr. Smith and J. Doe agree.",
        "It takes approx. Two days.",
        "Version 3.12.0 is out.",
        "See Fig. 3 for more.",
        "It costs $1.50 a day.",
        "1. Introduction",
    ],
)
def test_abbreviations_and_decimals_end_no_sentence(text: str) -> None:
    assert split(text) == [text]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One. Two! Three?", 3),
        ('He said "stop." Then he left.', 2),
        ("A note [1]_. Another.", 2),
        ("料金は４９ドルです。ログは保存されます。", 2),
        ("السعر ٤٩ دولار؟ نعم.", 2),
    ],
)
def test_ends_of_several_scripts(text: str, count: int) -> None:
    assert len(split(text)) == count


def test_long_sentence_is_parted_at_its_semicolons() -> None:
    clause = "the parties agree on a matter of some length and of little interest to anybody else"
    parts = split("; ".join([clause] * 10) + ".")
    assert len(parts) > 1
    assert all(part.endswith((";", ".")) for part in parts)


@given(st.text(alphabet=st.sampled_from("aB1 .!?。;,\n()"), max_size=1500))
def test_nothing_but_spaces_is_lost_between_sentences(text: str) -> None:
    assert "".join("".join(split(text)).split()) == "".join(text.split())
