"""Turns the markup of a page into Markdown without losing text of it."""

from __future__ import annotations

import html
import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from html_to_markdown import ConversionOptions

_EMPTY_IMAGE = re.compile(r"!\[([^\]\[]*)\]\((?:data:[^)\[]*)?\)")
_CUT_OFF = {"depth_limit_exceeded", "truncated_input"}
_MOST_GROWTH = 8
"""Deeply nested quotes and lists repeat their marks on every line: above this multiple they are not worth it."""
_TAG = re.compile(
    r"<!--(?:.*?--!?>|.*)"
    r"|<(?P<close>/?)(?P<name>[a-z][^\s/>]*)(?:[^>=]|=\s*\"[^\"]*(?:\"|\Z)|=\s*'[^']*(?:'|\Z)|=)*>?"
    r"|<[!?/][^>]*>?",
    re.IGNORECASE | re.DOTALL,
)
"""A tag or comment (HTML Standard, section 13.2.5), in linear time: what is not closed goes on to the end."""
_SILENT = frozenset({"script", "style", "template", "noscript", "title", "head"})
_INLINE_TAGS = """
a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q s samp small span strike strong
sub sup time tt u var wbr
"""
_INLINE = frozenset(_INLINE_TAGS.split())
_BEFORE = {
    **{f"h{level}": f"\n\n{'#' * level} " for level in range(1, 7)},
    **dict.fromkeys(("td", "th"), " | "),
    **dict.fromkeys(("br", "tr", "dt", "dd", "option"), "\n"),
    "li": "\n- ",
}
_SPACES = re.compile(r"[ \t\n\r\f]+")
_NAV_EDGE = re.compile(r"<(/?)nav\b", re.IGNORECASE)
_LINK = re.compile(r"<a\b[^<>]*>(?:[^<]|<(?!/?a\b))*</a\s*>", re.IGNORECASE)
_MOST_LABEL_CHARS = 80
"""Beside its links, navigation has a heading at most; more is text of the document, and so are numbers."""


def markdown(page: str) -> str:
    """The Markdown of a page; one nested more deeply than its converter goes comes with less structure, but whole."""
    from html_to_markdown import ConversionError, convert

    try:
        converted = convert(page, _options(without_navigation=_navigation_is_links(page)))
    except ConversionError as error:
        raise ValueError(str(error)) from error
    content = converted.content or ""
    cut_off = any(str(warning.kind) in _CUT_OFF for warning in converted.warnings)
    if cut_off or not content.strip() or len(content) > _MOST_GROWTH * max(len(page), 1000):
        return flat(page)
    return _EMPTY_IMAGE.sub(r"\1", content)


@cache
def _options(*, without_navigation: bool) -> ConversionOptions:
    from html_to_markdown import ConversionOptions, PreprocessingOptions

    # Its preprocessing takes forms for controls and headers for menus, and drops them with all that they say.
    return ConversionOptions(
        extract_metadata=False,
        compact_tables=True,
        preprocessing=PreprocessingOptions(enabled=False),
        exclude_selectors=["nav"] if without_navigation else [],
    )


def _navigation_is_links(page: str) -> bool:
    """Whether every ``nav`` of the page is closed and holds links and at most a heading: then it may go."""
    opened = -1
    for edge in _NAV_EDGE.finditer(page):
        if edge[1] and opened >= 0:
            if not _is_links(page[opened : edge.start()]):
                return False
            opened = -1
        elif not edge[1]:
            if opened >= 0:
                return False
            opened = edge.start()
    return opened < 0


def _is_links(part: str) -> bool:
    beside = flat(_LINK.sub(" ", part))
    return len(beside) <= _MOST_LABEL_CHARS and not any(char.isdigit() for char in beside)


def flat(page: str) -> str:
    """The text of a page with its headings, items, rows and paragraphs apart, however deep they are nested."""
    pieces: list[str] = []
    at = 0
    while match := _TAG.search(page, at):
        pieces.append(_SPACES.sub(" ", html.unescape(page[at : match.start()])))
        at = match.end()
        name = (match["name"] or "").lower()
        if name in _SILENT and not match["close"]:
            at = _behind(page, at, name)
        elif name and name not in _INLINE:
            pieces.append(("" if match["close"] else _BEFORE.get(name)) or "\n\n")
    pieces.append(_SPACES.sub(" ", html.unescape(page[at:])))
    return re.sub(r"\n{3,}", "\n\n", re.sub(r" ?\n ?", "\n", re.sub(r" {2,}", " ", "".join(pieces)))).strip()


def _behind(page: str, at: int, name: str) -> int:
    """Where an element ends that holds no text of the page; one that is never closed is none, but for code."""
    closing = re.compile(rf"</{name}\b[^>]*>?", re.IGNORECASE).search(page, at)
    if closing:
        return closing.end()
    return len(page) if name in ("script", "style") else at
