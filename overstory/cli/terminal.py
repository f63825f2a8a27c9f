"""Text of documents and vendors on a terminal: shown, never obeyed."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Controls of C0 and C1 but tab and line feed, line separators, marks of the direction of writing, and what is not
seen at all; joiners stay, since scripts and emoji need them."""


def printable(text: str) -> str:
    """The text with control characters spelled out, so that no escape sequence reaches the terminal."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def one_line(text: str) -> str:
    """The same on one line."""
    return printable(" ".join(text.split("\n")))


def complain(message: str) -> None:
    """Say on standard error what is wrong: one line, cut between words where a person reads it."""
    line = f"overstory: {one_line(message)}"
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        line = textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
    sys.stderr.write(f"{line}\n")
