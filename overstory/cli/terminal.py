"""Text of documents and vendors on a terminal: shown, never obeyed."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Controls of C0 and C1 but tab and line feed, line separators, and marks that turn the direction of writing."""


def printable(text: str) -> str:
    """The text with control characters spelled out, so that no escape sequence reaches the terminal."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def one_line(text: str) -> str:
    """The same on one line."""
    return printable(" ".join(text.split("\n")))
