"""Decides what a file is, has it turned into text, and says in one line what is wrong with it otherwise."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from overstory.chunking.titles import MOST_TITLE_CHARS, first_heading, front_matter_title
from overstory.errors import ExtractionError
from overstory.normalization import decode, detector, normalize

EXTRACTION_VERSION = "2"
"""Raised when our own code would make another text or title of the same bytes: every document is then read again."""

MAX_BYTES = 50_000_000
_MOST_EXPANSION = 4
"""A package may unpack to this multiple of the largest file: it is refused before anything is unpacked."""
MOST_XML_BYTES = 20_000_000
"""Markup of a DOCX at most (a book of some 2,000 pages): its parser needs 40 times as much memory."""

PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
EPUB = "application/epub+zip"
HTML = "text/html"
MARKDOWN = "text/markdown"
PLAIN = "text/plain"
SOURCE_CODE = "text/x-source"

_SOURCE_SUFFIXES = """
.py .pyi .js .jsx .ts .tsx .java .kt .c .h .cc .cpp .hpp .cs .go .rs .rb .php .pl .sh .bash .ps1 .sql .r .jl .scala
.swift .lua .yaml .yml .toml .ini .cfg .conf .jsonl .css .scss .tex .mk .cmake .proto .tf
"""
_BY_SUFFIX = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"), MARKDOWN),
    **dict.fromkeys((".html", ".htm", ".xhtml"), HTML),
    **dict.fromkeys((".pdf",), PDF),
    **dict.fromkeys((".docx", ".docm"), DOCX),
    **dict.fromkeys((".epub",), EPUB),
    ".rst": "text/x-rst",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".log": "text/x-log",
    ".json": "application/json",
    ".xml": "application/xml",
    **dict.fromkeys(_SOURCE_SUFFIXES.split(), SOURCE_CODE),
}
_BY_LIBRARY = (PDF, DOCX, EPUB, HTML)
_TITLED = {MARKDOWN, PLAIN, "text/x-rst", HTML, PDF, DOCX, EPUB}
"""Media types in which a line that looks like a heading is one."""

_FOREIGN = (
    (b"\xd0\xcf\x11\xe0", "an encrypted or old Office file", "Save it as DOCX without a password"),
    (b"\x89PNG", "an image", "Add a text that describes it, or remove it from the source"),
    (b"\xff\xd8\xff", "an image", "Add a text that describes it, or remove it from the source"),
    (b"GIF8", "an image", "Add a text that describes it, or remove it from the source"),
    (b"\x1f\x8b", "a compressed file", "Unpack it"),
    (b"BZh", "a compressed file", "Unpack it"),
    (b"\xfd7zXZ", "a compressed file", "Unpack it"),
    (b"7z\xbc\xaf", "an archive", "Unpack it"),
    (b"\x7fELF", "a program", "Remove it from the source"),
)
_HTML_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html[\s>])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Extracted:
    """A document as text."""

    text: str
    """Normalized, never empty; Markdown where the file had structure."""
    title: str
    """Its own title or first heading, else the stem of its file name."""
    media_type: str


class Extractor(Protocol):
    """Reads the formats that need a library."""

    def recipe(self, media_type: str) -> str:
        """The libraries that read HTML, PDF, DOCX or EPUB, with their versions."""
        ...

    def extract(self, name: str, raw: bytes, media_type: str) -> Extracted:
        """The text and title (empty if it has none) of an HTML, PDF, DOCX or EPUB document.

        Raises:
            ExtractionError: It is damaged or encrypted.
        """
        ...


def extract_document(name: str, raw: bytes, *, extractor: Extractor, max_bytes: int = MAX_BYTES) -> Extracted:
    """The text of a file, by its suffix and first bytes.

    Args:
        name: The file's path within its source: its suffix counts, and messages name it. Nothing is opened.
        raw: The file's bytes.
        extractor: Reads HTML, PDF, DOCX and EPUB.
        max_bytes: Larger files are refused.

    Raises:
        ExtractionError: The file is empty, too large, damaged, encrypted, a scan or no text at all.
    """
    if not raw:
        raise ExtractionError(f"'{name}' is empty", hint="Remove it from the source, or fill it", name=name)
    if len(raw) > max_bytes:
        raise ExtractionError(f"'{name}' is larger than {max_bytes:,} bytes", hint="Split it", name=name)
    kind = media_type(name, raw)
    if kind in _BY_LIBRARY:
        if kind in (DOCX, EPUB):
            _check_package(name, raw, kind, max_bytes * _MOST_EXPANSION)
        found = extractor.extract(name, raw, kind)
    else:
        found = Extracted(decode(raw, name=f"'{name}'"), "", kind)
    text = normalize(found.text)
    if not text:
        raise _no_text(name, kind)
    return Extracted(text, _title(name, text, found.title, kind), kind)


def extraction_recipe(kind: str, extractor: Extractor) -> str:
    """What turns bytes of a media type into text: where it changes, the same bytes may come out otherwise."""
    library = extractor.recipe(kind) if kind in _BY_LIBRARY else detector()
    return f"{library}; text {EXTRACTION_VERSION}"


def media_type(name: str, raw: bytes) -> str:
    """What a file is, from its first bytes where they tell and from its suffix otherwise.

    Raises:
        ExtractionError: It is of a kind that holds no readable text, or not what its suffix says.
    """
    expected = _BY_SUFFIX.get(PurePosixPath(name).suffix.lower(), PLAIN)
    if b"%PDF-" in raw[:1024]:
        return PDF
    if raw.startswith(b"PK\x03\x04"):
        return _package(name, raw, expected)
    for magic, kind, hint in _FOREIGN:
        if raw.startswith(magic):
            raise ExtractionError(f"'{name}' is {kind}", hint=hint, name=name)
    if expected in (PDF, DOCX, EPUB):
        raise _damaged(name, "its content is not what its suffix says")
    return HTML if expected == PLAIN and _HTML_START.match(raw) else expected


def _package(name: str, raw: bytes, expected: str) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as package:
            names = set(package.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        if expected not in (DOCX, EPUB):
            raise ExtractionError(f"'{name}' is a damaged archive", hint="Remove it", name=name) from error
        raise _damaged(name, "it is cut short or not a package") from error
    if "word/document.xml" in names:
        return DOCX
    if "META-INF/container.xml" in names:
        return EPUB
    if expected in (DOCX, EPUB):
        raise _damaged(name, "a part of it is missing")
    raise ExtractionError(f"'{name}' is an archive or an unknown Office file", hint="Save it as DOCX or PDF", name=name)


def _check_package(name: str, raw: bytes, kind: str, most_bytes: int) -> None:
    """Refuse a package that is encrypted or would fill the memory, by its table of contents."""
    with zipfile.ZipFile(io.BytesIO(raw)) as package:
        entries = package.infolist()
    markup = sum(entry.file_size for entry in entries if entry.filename.endswith(".xml"))
    for size, most in ((sum(entry.file_size for entry in entries), most_bytes), (markup, MOST_XML_BYTES)):
        if size > most and (most == most_bytes or kind == DOCX):
            raise ExtractionError(f"'{name}' unpacks to more than {most:,} bytes", hint="Split it", name=name)
    if any(entry.flag_bits & 0x1 for entry in entries):
        raise ExtractionError(f"'{name}' is encrypted", hint="Save it without a password", name=name)


def _damaged(name: str, reason: str) -> ExtractionError:
    suffix = PurePosixPath(name).suffix.lstrip(".").upper()
    return ExtractionError(
        f"'{name}' is not a sound {suffix} file: {reason}", hint="Save it again from its program", name=name
    )


def _no_text(name: str, kind: str) -> ExtractionError:
    if kind == PDF:
        return ExtractionError(f"'{name}' has no text layer (a scan?)", hint="Run text recognition over it", name=name)
    return ExtractionError(f"'{name}' holds no text", hint="Remove it from the source, or fill it", name=name)


def _title(name: str, text: str, own: str, kind: str) -> str:
    stem = normalize(PurePosixPath(name).stem) or name
    if kind not in _TITLED:
        return stem
    return front_matter_title(text) or first_heading(text) or normalize(own)[:MOST_TITLE_CHARS] or stem
