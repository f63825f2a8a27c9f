"""The title of a text: from its front matter or its first heading."""

from __future__ import annotations

import re

from overstory.chunking.blocks import Kind, blocks, front_matter_lines

_HEAD_CHARS = 20_000
"""A heading that comes later is no title."""
MOST_TITLE_CHARS = 200
_MOST_MARKED_CHARS = 20 * MOST_TITLE_CHARS
"""With its markup; what comes behind does not show in a title."""
_FRONT_TITLE = re.compile(r"title:[ \t]*(.+)", re.IGNORECASE)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_MARKS = re.compile(r"\\(?=[^\w\s])|[*`]+|(?<!\w)_+|_+(?!\w)|\{#[^}]*\}|<[^>]+>")


def first_heading(text: str) -> str:
    """The first heading of ``text`` without its markup, shortened to 200 characters; empty if there is none."""
    for block in blocks(text[:_HEAD_CHARS]):
        if block.kind is Kind.HEADING and (title := plain(block.title)):
            return title
    return ""


def front_matter_title(text: str) -> str:
    """The ``title`` of the YAML front matter of ``text``; empty if there is none."""
    lines = text[:_HEAD_CHARS].split("\n")
    for line in lines[1 : front_matter_lines(lines)]:
        match = _FRONT_TITLE.match(line)
        if match:
            return plain(match[1].strip().strip("'\""))
    return ""


def plain(title: str) -> str:
    """A heading without links, emphasis and escapes."""
    return " ".join(_MARKS.sub("", _LINK.sub(r"\1", title[:_MOST_MARKED_CHARS])).split())[:MOST_TITLE_CHARS]
