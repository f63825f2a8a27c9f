"""Tells code and drawings from prose."""

from __future__ import annotations

import re

_CODE_LINE = re.compile(
    r"\s*(?:#\s*(?:include|define|if|ifdef|ifndef|endif|!)\b|(?:def|class|import|return|struct|static|void|int"
    r"|char|const|public|private|typedef)\s"
    r"|from\s+[\w.]+\s+import\b|if\s*\(|for\s*\(|while\s*\(|[$%#>]\s+\w|>>>|\.\.\.\s"
    r"|[\w.\[\]>-]+\s*(?:[-+*/|&]?=|<-|:=)\s*\S+.*$|</?\w+[^>]*>\s*$|[{}\[\]()]+[;,]?\s*$|@\w+|[\w-]+\s*\{\s*$)"
    r"|.*\w\(.*\);\s*$|.*[=\[].*;\s*$|\s*\S+(?:\s\S+){0,3}[;{}]\s*$|.*\)\s*[:{]\s*$"
)
_NUMERIC_PROSE = re.compile(r"(?=.*\d)(?=.*[^\W\d_]{3})(?!.*//)[^\"'`=;{}\[\]<>|\\_$]+")
_SPACE = re.compile(r"\s+")
_SAMPLE_CHARS = 2_000


def is_code(text: str, lines: int) -> bool:
    """Whether a block of so many lines reads like code or a drawing: most lines do, or letters are few."""
    sample = text[:_SAMPLE_CHARS]
    if sum(map(str.isalpha, sample)) * 2 < len(_SPACE.sub("", sample)) and not any(map(str.isdigit, text)):
        return True
    code = sum(bool(_CODE_LINE.match(line)) for line in text.splitlines())
    return code * 2 >= max(lines, 1) and (lines > 1 or text.rstrip()[-1:] in ";{}")


def states_a_number(line: str) -> bool:
    """Whether a line of a literal block is no code but a statement: a schedule, an example of a version."""
    return _NUMERIC_PROSE.fullmatch(line) is not None
