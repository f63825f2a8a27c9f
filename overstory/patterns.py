"""Chooses files by patterns that mean what they mean in a ``.gitignore``, anchored at the folder of the documents."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathspec import PathSpec

EVERYTHING = "**/*"

_ALL_BENEATH = re.compile(r"(?:/\*\*)+(?:/\*)?/?$")
_WILDCARDS_ALONE = re.compile(r"[*/]*")


class Patterns:
    """A row of patterns; where several match a file, the last one decides (``!`` takes files out again)."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = tuple(patterns)
        self._all = _compiled(patterns)
        self._takes_out = any(pattern.startswith("!") for pattern in patterns)

    def match(self, path: str) -> bool:
        """Whether they choose a file, by its path within the source."""
        return bool(self._all.match_file(_one_spelling(path)))

    def match_all_beneath(self, folder: str) -> bool:
        """Whether they choose whatever is in a folder, so that nobody has to look."""
        return not self._takes_out and bool(self._all.match_file(f"{_one_spelling(folder)}/"))

    def unused(self, paths: Iterable[str]) -> list[str]:
        """Those that match none of the paths; a folder's path ends in a slash."""
        waiting = {pattern: _compiled([pattern.removeprefix("!")]) for pattern in self._patterns}
        for path in paths:
            found = [pattern for pattern, spec in waiting.items() if spec.match_file(_one_spelling(path))]
            for pattern in found:
                del waiting[pattern]
            if not waiting:
                break
        return list(waiting)


def flaw(pattern: str) -> str:
    """What is wrong with a pattern, empty if nothing is."""
    if not pattern.strip():
        return "an empty pattern chooses nothing"
    if pattern != pattern.strip():
        return f"'{pattern}' has white space around it"
    if ".." in pattern.split("/"):
        return f"'{pattern}' leads out of the source"
    if "\0" in pattern or not _is_understood(pattern):
        return f"'{pattern}' is not a pattern"
    return ""


def _is_understood(pattern: str) -> bool:
    from pathspec.patterns.gitignore import GitIgnorePatternError

    try:
        return all(each.include is not None for each in _compiled([pattern]).patterns)
    except GitIgnorePatternError:
        return False


def _compiled(patterns: Iterable[str]) -> PathSpec[Any]:
    from pathspec import PathSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    # Not its GitIgnoreSpec, where "!private/" behind "**/*" takes nothing out, as in git.
    return PathSpec.from_lines(GitIgnoreSpecPattern, [_as_gitignore(pattern) for pattern in patterns])


def _as_gitignore(pattern: str) -> str:
    """A pattern as git spells it: without ``./``, a number sign no comment, a whole folder in one form."""
    sign = "!" if pattern.startswith("!") else ""
    spelled = re.sub(r"/{2,}", "/", _one_spelling(pattern.removeprefix("!")))
    spelled = re.sub(r"(?:/\.)+(?=/|$)", "", spelled.removeprefix(".") if spelled.startswith("./") else spelled)
    whole = _ALL_BENEATH.search(spelled)
    if whole and not _WILDCARDS_ALONE.fullmatch(spelled):
        spelled = f"/{spelled[: whole.start()].lstrip('/')}/"
    return sign + (f"\\{spelled}" if spelled.startswith("#") else spelled)


def _one_spelling(text: str) -> str:
    """Accents in one form (a Mac keeps them apart), and no line ends, at which an expression might stop."""
    return unicodedata.normalize("NFC", text).replace("\n", "\N{SYMBOL FOR NEWLINE}")
