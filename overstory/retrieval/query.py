"""From whatever a person typed to a query that every store can take."""

from __future__ import annotations

from dataclasses import dataclass

from overstory.errors import SettingsError
from overstory.normalization import normalize

MAX_QUERY_CHARS = 8_192
"""Of a longer query only the beginning is asked: about as much as eight leaves say."""


@dataclass(frozen=True, slots=True)
class Query:
    """A normalized query."""

    text: str
    shortened: bool
    """Whether the end was cut off."""


def prepare_query(text: str) -> Query:
    """A query without control characters or surrogates, of at most ``MAX_QUERY_CHARS`` characters.

    Raises:
        SettingsError: Nothing is left of it.
    """
    # Twice the length leaves room for what normalization removes, without reading a megabyte.
    cleaned = " ".join(normalize(text[: 2 * MAX_QUERY_CHARS]).split())
    if not cleaned:
        raise SettingsError("The query is empty", hint="Ask a question or name some words")
    return Query(cleaned[:MAX_QUERY_CHARS], len(cleaned) > MAX_QUERY_CHARS or len(text) > 2 * MAX_QUERY_CHARS)
