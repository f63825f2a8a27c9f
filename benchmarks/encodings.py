"""How many texts in legacy encodings come out as they went in (docs/decisions/0009-encodings.md).

    python -m benchmarks.encodings [TEXTS]

The texts are lines of the translations of the programs of this machine (``/usr/share/locale``), one, three or ten of
them together.
"""

from __future__ import annotations

import gettext
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from overstory.errors import ExtractionError
from overstory.normalization import decode

LOCALE = Path("/usr/share/locale")
LANGUAGES = {
    "cp1252": ("fr", "de", "es", "it", "pt", "pt_BR", "sv", "da", "nl", "nb", "fi", "ca"),
    "cp1250": ("pl", "cs", "hu", "sk", "hr", "sl", "ro"),
    "cp1254": ("tr",),
    "cp1257": ("lt", "lv", "et"),
    "cp1251": ("ru", "uk", "bg"),
    "koi8_r": ("ru",),
    "cp1253": ("el",),
    "cp1255": ("he",),
    "cp932": ("ja",),
    "euc_jp": ("ja",),
    "gb18030": ("zh_CN",),
    "big5": ("zh_TW",),
    "cp949": ("ko",),
}
LENGTHS = (1, 3, 10)
SEED = 1


def lines(language: str) -> list[str]:
    """Lines of all message catalogs of a language, in an order of their own."""
    found: set[str] = set()
    for path in LOCALE.glob(f"{language}/LC_MESSAGES/*.mo"):
        try:
            with path.open("rb") as file:
                catalog = vars(gettext.GNUTranslations(file))["_catalog"]
        except UnicodeDecodeError:
            continue  # its header does not say which encoding it is in
        texts = (text for key, text in catalog.items() if key and isinstance(text, str))
        found |= {" ".join(line.split()) for text in texts for line in text.split("\n")}
    chosen = sorted(line for line in found if 3 <= len(line) <= 300)
    random.Random(SEED).shuffle(chosen)
    return chosen[:4000]


def samples(encoding: str, texts: dict[str, list[str]], length: int, number: int) -> list[tuple[str, bytes]]:
    """Texts of some lines that the encoding has and ASCII has not."""
    draw = random.Random(length)
    found: list[tuple[str, bytes]] = []
    for _ in range(20 * number):
        text = "\n".join(draw.sample(texts[draw.choice(LANGUAGES[encoding])], length))
        try:
            raw = text.encode(encoding)
        except UnicodeEncodeError:
            continue
        if not raw.isascii():
            found.append((text, raw))
        if len(found) == number:
            break
    return found


def by_charset_normalizer(raw: bytes) -> str:
    """As ``charset-normalizer`` guesses."""
    from charset_normalizer import from_bytes

    best = from_bytes(raw).best()
    return raw.decode(best.encoding, "replace") if best else ""


def by_chardet(raw: bytes) -> str:
    """As ``chardet`` guesses."""
    from chardet import detect

    encoding = detect(raw, prefer_superset=True)["encoding"]
    return raw.decode(encoding, "replace") if encoding else ""


def by_overstory(raw: bytes) -> str:
    """As Overstory decides."""
    try:
        return decode(raw)
    except ExtractionError:
        return ""


DECODERS: Sequence[Callable[[bytes], str]] = (by_charset_normalizer, by_chardet, by_overstory)


def main(number: int = 200) -> None:
    """Print a table: the share of texts that come out as they went in, by encoding, lines and decoder."""
    texts = {language: lines(language) for spoken in LANGUAGES.values() for language in spoken}
    if not all(texts.values()):
        raise SystemExit(f"There are no translations in {LOCALE}")
    seconds = dict.fromkeys(DECODERS, 0.0)
    names = ", ".join(decoder.__name__.removeprefix("by_") for decoder in DECODERS)
    write(f"| encoding | {' | '.join(f'{length} lines: {names}' for length in LENGTHS)} |")
    for encoding in LANGUAGES:
        cells = []
        for length in LENGTHS:
            drawn = samples(encoding, texts, length, number)
            shares = []
            for decoder in DECODERS:
                started = time.perf_counter()
                right = sum(decoder(raw) == text for text, raw in drawn)
                seconds[decoder] += time.perf_counter() - started
                shares.append(f"{right / len(drawn):.2f}")
            cells.append(" / ".join(shares))
        write(f"| {encoding} | {' | '.join(cells)} |")
    write(
        "seconds: "
        + ", ".join(f"{decoder.__name__.removeprefix('by_')} {seconds[decoder]:.1f}" for decoder in DECODERS)
    )


def write(line: str) -> None:
    """Print a line."""
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
