from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.errors import SettingsError
from overstory.retrieval.query import MAX_QUERY_CHARS, prepare_query


@pytest.mark.parametrize("text", ["", "  \n\t ", "\0\0", "\ufeff"])
def test_an_empty_query_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="empty"):
        prepare_query(text)


def test_control_characters_go_and_white_space_collapses() -> None:
    assert prepare_query("what\0 changed\r\n  in\tQ3?").text == "what changed in Q3?"


def test_of_a_megabyte_only_the_beginning_is_asked() -> None:
    query = prepare_query("webhook " * 131_072)

    assert len(query.text) == MAX_QUERY_CHARS
    assert query.shortened


def test_a_plain_query_is_not_shortened() -> None:
    assert not prepare_query("what changed?").shortened


@given(st.text(min_size=1))
def test_whatever_is_typed_becomes_a_text_that_utf8_can_hold_or_is_refused(text: str) -> None:
    try:
        query = prepare_query(text)
    except SettingsError:
        return
    assert query.text == query.text.strip()
    assert "\0" not in query.text
    assert query.text.encode("utf-8")
