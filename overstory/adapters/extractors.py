"""Reads HTML, PDF, DOCX and EPUB through one library each (docs/decisions/0002-extraction-library.md)."""

from __future__ import annotations

import html
import io
import re
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.metadata import version
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote
from xml.parsers.expat import ExpatError

from overstory.adapters.pages import markdown
from overstory.errors import ExtractionError
from overstory.extraction import DOCX, EPUB, HTML, PDF, Extracted
from overstory.normalization import decode

_DAMAGE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, OSError, RuntimeError, TypeError, ValueError),
    *(ExpatError, SyntaxError, zipfile.BadZipFile, zlib.error),  # ElementTree's errors are SyntaxErrors
)
"""What parsers raise at bytes that break their assumptions; pypdfium2's errors are RuntimeErrors."""

_DECLARED = re.compile(rb"(?:<meta[^>]{0,200}?charset|<\?xml[^>]{0,200}?encoding)\s*=\s*[\"']?([\w.:-]{1,40})", re.I)
_DECLARED_WITHIN = 1024
"""Bytes in which a page has to declare its encoding (HTML Standard, section 4.2.5.4)."""
_TITLE = re.compile(r"<(?:\w+:)?title[^>]*>(.*?)</(?:\w+:)?title\s*>", re.I | re.S)
_WRAPPED_HYPHEN = re.compile("[\ufffe\x02]\r?\n?")
"""How pdfium spells a hyphen at which it saw a word wrapped."""
_NO_TITLE = {"untitled", "(anonymous)", "(unspecified)", "untitled document"}
_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => h2:fresh"
_PDFIUM = threading.Lock()
"""pdfium may be called by one thread at a time only."""

_Read = Callable[[str, bytes], tuple[str, str]]


class LibraryExtractor:
    """Markdown from html-to-markdown and mammoth, plain text from pdfium; no network, no file, no other process."""

    def recipe(self, media_type: str) -> str:
        """The libraries that read a media type, with their versions."""
        return _recipe(media_type)

    def extract(self, name: str, raw: bytes, media_type: str) -> Extracted:
        """The text and title of an HTML, PDF, DOCX or EPUB document."""
        try:
            text, title = _READERS[media_type](name, raw)
        except _DAMAGE as error:
            raise _translated(name, error) from error
        title = " ".join(html.unescape(title).split())
        return Extracted(text, "" if title.lower() in _NO_TITLE else title, media_type)


def _read_html(name: str, raw: bytes) -> tuple[str, str]:
    match = _DECLARED.search(raw[:_DECLARED_WITHIN])
    page = decode(raw, name=f"'{name}'", declared=match[1].decode("ascii") if match else "")
    return markdown(page), _first(_TITLE, page)


def _read_pdf(_: str, raw: bytes) -> tuple[str, str]:
    import pypdfium2

    with _PDFIUM, pypdfium2.PdfDocument(raw) as document:
        pages = [_WRAPPED_HYPHEN.sub("", text) for text in _page_texts(document)]
        return "\n\n".join(pages), document.get_metadata_value("Title")


def _page_texts(document: Iterable[Any]) -> Iterator[str]:  # pypdfium2 has no types
    for page in document:
        text_page = page.get_textpage()
        yield text_page.get_text_range()
        text_page.close()
        page.close()


def _read_docx(_: str, raw: bytes) -> tuple[str, str]:
    import mammoth

    without_images = mammoth.images.img_element(lambda _: {"src": ""})
    converted = mammoth.convert_to_html(io.BytesIO(raw), style_map=_STYLES, convert_image=without_images)
    with zipfile.ZipFile(io.BytesIO(raw)) as package:
        core = package.read("docProps/core.xml") if "docProps/core.xml" in package.namelist() else b""
    return markdown(converted.value), _first(_TITLE, core.decode("utf-8", "replace"))


def _read_epub(name: str, raw: bytes) -> tuple[str, str]:
    """The chapters of the book in their reading order (EPUB 3.3, section 5.6)."""
    from xml.etree.ElementTree import fromstring  # its expat bounds the expansion of entities

    with zipfile.ZipFile(io.BytesIO(raw)) as package:
        container = fromstring(package.read("META-INF/container.xml"))  # noqa: S314
        roots = [each.attrib["full-path"] for each in container.iter() if each.tag.endswith("}rootfile")]
        book = fromstring(package.read(roots[0]))  # noqa: S314
        files = {each.get("id"): each.get("href", "") for each in book.iter() if each.tag.endswith("}item")}
        order = [files[each.get("idref")] for each in book.iter() if each.tag.endswith("}itemref")]
        titles = [each.text or "" for each in book.iter() if each.tag.endswith("}title")]
        chapters = [package.read(normpath(join(dirname(roots[0]), unquote(href)))) for href in order]
    return "\n\n".join(_read_html(name, chapter)[0].strip() for chapter in chapters), "".join(titles[:1])


_LIBRARIES = {
    HTML: ("chardet", "html-to-markdown"),
    PDF: ("pypdfium2",),
    DOCX: ("mammoth", "html-to-markdown"),
    EPUB: ("chardet", "html-to-markdown"),
}


@cache
def _recipe(media_type: str) -> str:
    return ", ".join(f"{library} {version(library)}" for library in _LIBRARIES[media_type])


_READERS: dict[str, _Read] = {HTML: _read_html, PDF: _read_pdf, DOCX: _read_docx, EPUB: _read_epub}


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[1] if match else ""


def _translated(name: str, error: Exception) -> ExtractionError:
    if "password" in str(error).lower():
        return ExtractionError(f"'{name}' is encrypted", hint="Save it without a password", name=name)
    return ExtractionError(f"'{name}' is damaged", hint="Save it again from its program", name=name)
