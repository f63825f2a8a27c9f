from __future__ import annotations

import pytest

from overstory.failures import explain


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        ("echo", "repeated the prompt or its source instead of summarizing"),
        ("malformed reply", "base_url"),
        ("http 503", "the endpoint failed (http 503)"),
        ("http 400", "the endpoint refused the request (http 400)"),
    ],
)
def test_failure_is_told_in_words_and_with_what_to_do(failure: str, words: str) -> None:
    assert words in explain(failure)
    assert ". " in explain(failure)


def test_reason_that_is_words_already_is_told_as_it_is() -> None:
    assert explain("section 2 has no summary") == "section 2 has no summary"
