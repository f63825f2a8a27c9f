"""From bytes to the one spelling of a text that hashes are taken of."""

from __future__ import annotations

import codecs
import re
import unicodedata
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from overstory.errors import ExtractionError

if TYPE_CHECKING:
    from charset_normalizer import CharsetMatches

_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is the beginning of this one
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_LEGACY = [
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874"),
    *("iso8859_2", "iso8859_5", "iso8859_6", "iso8859_7", "iso8859_8", "koi8_r", "koi8_u", "cp866"),
    *("gb18030", "big5", "cp932", "euc_jp", "cp949", "mac_cyrillic"),
]
"""The encodings that browsers read (WHATWG Encoding Standard, section 4.2), less the rarest."""

_WIDE = ["utf_16_le", "utf_16_be", "utf_32_le", "utf_32_be"]

_SAMPLE_CHARS = 100_000
_MOST_NULS = 0.2
"""A UTF-8 text with a larger share of NUL is UTF-16 without its mark, or no text."""
_MOST_CONTROLS = 0.05
"""NUL and escape (of colored logs) apart."""
_MOST_DAMAGE = 0.1
"""Invalid sequences for one valid multi-byte character, up to which a text is damaged UTF-8."""
_WESTERN_MARGIN = 0.08
"""Detectors tell Western from Central European text by few letters: a near tie is Western."""
_NOT_WESTERN = re.compile(r"[^\W\d_](?:[¹¿]|³[^\W\d_])")
"""How the commonest Polish letters look when they are read as cp1252."""

_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff]")
_UNREADABLE = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85]")
_LONGEST_GAP = 256
_LONG_GAPS = re.compile(rf"[^\S\n]{{{_LONGEST_GAP},}}")
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n){3,}")
_SURROGATES = re.compile("[\ud800-\udfff]")


@cache
def detector() -> str:
    """The library that guesses encodings, with its version."""
    return f"charset-normalizer {version('charset-normalizer')}"


def decode(raw: bytes, *, name: str = "the document", declared: str = "") -> str:
    """The characters of ``raw``: by byte order mark, then UTF-8, UTF-16, ``declared``, then by statistics.

    Args:
        raw: The bytes of a text file.
        name: Names the file in an error.
        declared: An encoding that the document itself names, believed unless the bytes contradict it.

    Raises:
        ExtractionError: The bytes are no text in any known encoding.
    """
    for text in (_by_mark(raw), _as_utf8(raw), _as_declared(raw, declared)):
        if text is not None:
            break
    else:
        text = _by_statistics(raw, name)
    if _control_share(text) > _MOST_CONTROLS:
        raise _binary(name)
    return text


def normalize(text: str) -> str:
    r"""One spelling of ``text``: equal results have equal content hashes. Idempotent.

    Line ends become ``\n``; NUL, other control characters (not tab) and byte order marks go; halves of
    surrogate pairs are joined and lone ones become U+FFFD; white space at the end goes, so that a final
    newline is no change. More than two blank lines in a row become two, and white space of more than
    256 characters within a line becomes 256: no leaf can hold nothing else. Characters are composed (Unicode
    NFC): an accent typed on another system is neither another word to the keyword index nor another text to
    the hash.
    """
    if _SURROGATES.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = _CONTROLS.sub("", _LINE_ENDS.sub("\n", text))
    text = _BLANK_LINES.sub("\n\n\n", _LONG_GAPS.sub(lambda gap: gap[0][:_LONGEST_GAP], text))
    return unicodedata.normalize("NFC", text).rstrip()


def _by_mark(raw: bytes) -> str | None:
    for mark, encoding in _BOMS:
        if raw.startswith(mark):
            return raw.decode(encoding, "replace")
    return None


def _as_utf8(raw: bytes) -> str | None:
    """``raw`` as UTF-8, a few damaged places replaced; None if it is something else."""
    if raw.count(0) > _MOST_NULS * len(raw):
        return None
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "replace")
    damage = text.count("\ufffd")
    valid = sum(char > "\x7f" for char in text) - damage
    return text if damage <= _MOST_DAMAGE * valid else None


def _as_declared(raw: bytes, declared: str) -> str | None:
    try:
        return raw.decode(declared) if declared else None
    except (LookupError, UnicodeDecodeError):
        return None


def _by_statistics(raw: bytes, name: str) -> str:
    from charset_normalizer import from_bytes

    matches = from_bytes(raw, cp_isolation=_WIDE if 0 in raw else _LEGACY)
    encoding = _preferred(matches)
    if not encoding:
        raise _binary(name)
    return raw.decode(encoding, "replace")


def _preferred(matches: CharsetMatches) -> str:
    """The most plausible encoding; Western European among near equals; empty if none is plausible."""
    best = matches.best()
    if best is None:
        return ""
    for match in matches:
        near = match.chaos <= best.chaos + 0.02 and match.coherence >= best.coherence - _WESTERN_MARGIN
        if near and "cp1252" in match.could_be_from_charset and not _NOT_WESTERN.search(str(match)):
            return "cp1252"
    return best.encoding


def _control_share(text: str) -> float:
    sample = text[:_SAMPLE_CHARS]
    return len(_UNREADABLE.findall(sample)) / max(1, len(sample))


def _binary(name: str) -> ExtractionError:
    return ExtractionError(
        f"{name} is not text in any known encoding",
        hint="Remove it from the source, or save it as UTF-8",
        name=name,
    )
