"""From bytes to the one spelling of a text that hashes are taken of."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version

from overstory.errors import ExtractionError

_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is the beginning of this one
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_LATIN = ("cp1250", "cp1252", "cp1254", "cp1257", "cp1258", "iso8859-2")
_OTHER_SCRIPTS = (
    *("cp1251", "cp1253", "cp1255", "cp1256", "cp874", "iso8859-5", "iso8859-6", "iso8859-7", "iso8859-8"),
    *("koi8-r", "koi8-u", "cp866", "mac-cyrillic", "gb18030", "big5hkscs", "cp932", "euc_jis_2004", "cp949"),
    "cp1254",  # Turkish words may be written in few other letters
)
"""Together the encodings that browsers read (WHATWG Encoding Standard, section 4.2), less the rarest."""

_WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")

_SAMPLE_CHARS = 100_000
_MOST_NULS = 0.2
"""A UTF-8 text with a larger share of NUL is UTF-16 without its mark, or no text."""
_MOST_CONTROLS = 0.05
"""NUL and escape (of colored logs) apart."""
_MOST_DAMAGE = 0.1
"""Invalid sequences for one valid multi-byte character, up to which a text is damaged UTF-8."""
_WESTERN_MARGIN = 0.03
"""Of a detector's score, by which another Latin encoding has to beat Western European: short texts do not reach it
(docs/decisions/0009-encodings.md)."""
_BEYOND_ASCII = bytes(range(0x80, 0x100))
_RUNS = re.compile(rb"[\x80-\xff]{3,}")
_MOST_RUNS = 0.1
"""Share of the bytes beyond ASCII that stand three in a row, up to which a script is Latin."""

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
    return f"chardet {version('chardet')}"


def decode(raw: bytes, *, name: str = "the document", declared: str = "") -> str:
    """The characters of ``raw``: by byte order mark, then UTF-8, UTF-16, ``declared``, then by statistics.

    Args:
        raw: The bytes of a text file.
        name: Names the file in an error.
        declared: An encoding that the document itself names, believed unless the bytes contradict it.

    Raises:
        ExtractionError: The bytes are no text in any known encoding.
    """
    for text in (_by_mark(raw), _as_utf8(raw), _as_utf16(raw), _as_declared(raw, declared)):
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
    except UnicodeDecodeError as error:
        # Two bytes or more: a single one at the end is a letter of another encoding.
        cut_off = error.reason == "unexpected end of data" and error.end - error.start > 1
    try:
        # Halves of surrogate pairs, as some programs write them (CESU-8): ``normalize`` joins or replaces them.
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "replace")
    if cut_off:
        return text
    damage = text.count("\ufffd")
    valid = sum(char > "\x7f" for char in text) - damage
    return text if damage <= _MOST_DAMAGE * valid else _line_by_line(raw)


def _line_by_line(raw: bytes) -> str | None:
    """Lines in UTF-8 among lines in Western European, as logs and joined files hold; None if that is not plain."""
    lines, utf8, latin = [], 0, 0
    for line in raw.split(b"\n"):
        try:
            lines.append(line.decode("utf-8"))
            utf8 += not line.isascii()
        except UnicodeDecodeError:
            if not _is_latin(line):
                return None
            lines.append(line.decode("cp1252", "replace"))
            latin += 1
    return "\n".join(lines) if utf8 >= latin else None


def _as_utf16(raw: bytes) -> str | None:
    """``raw`` as UTF-16 without its mark, where every NUL is the same half of a character; None if it is none."""
    high, low = raw[1::2].count(0), raw[::2].count(0)
    if len(raw) % 2 or bool(high) is bool(low):
        return None
    try:
        return raw.decode("utf-16-le" if high else "utf-16-be")
    except UnicodeDecodeError:
        return None


def _as_declared(raw: bytes, declared: str) -> str | None:
    try:
        return raw.decode(declared) if declared else None
    except (LookupError, UnicodeDecodeError):
        return None


def _by_statistics(raw: bytes, name: str) -> str:
    """``raw`` in the most plausible legacy encoding: Western European, unless another one is plainly more so."""
    latin = _is_latin(raw)
    scores = _scores(raw, _WIDE if 0 in raw else _LATIN if latin else _OTHER_SCRIPTS)
    if not scores:
        raise _binary(name)
    best = max(scores, key=lambda encoding: scores[encoding])
    if latin and "cp1252" in scores and scores[best] - scores["cp1252"] <= _WESTERN_MARGIN:
        best = "cp1252"
    return raw.decode(best, "replace")


def _is_latin(raw: bytes) -> bool:
    """Whether letters beyond ASCII stand alone or in pairs, as in languages that are written in Latin letters."""
    beyond = len(raw) - len(raw.translate(None, _BEYOND_ASCII))
    return sum(len(run) for run in _RUNS.findall(raw)) <= _MOST_RUNS * beyond


def _scores(raw: bytes, candidates: Sequence[str]) -> dict[str, float]:
    """How plausible each candidate is, 0 to 1; those that the bytes rule out are missing."""
    from chardet import detect_all

    found = detect_all(raw, include_encodings=candidates, compat_names=False)
    return {each["encoding"]: each["confidence"] for each in found if each["encoding"]}


def _control_share(text: str) -> float:
    sample = text[:_SAMPLE_CHARS]
    return len(_UNREADABLE.findall(sample)) / max(1, len(sample))


def _binary(name: str) -> ExtractionError:
    return ExtractionError(
        f"{name} is not text in any known encoding",
        hint="Remove it from the source, or save it as UTF-8",
        name=name,
    )
