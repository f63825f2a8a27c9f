from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from importlib.metadata import version

import pytest

from overstory.adapters.extractors import LibraryExtractor
from overstory.errors import ExtractionError
from overstory.extraction import (
    DOCX,
    EPUB,
    EXTRACTION_VERSION,
    HTML,
    MARKDOWN,
    PDF,
    PLAIN,
    SOURCE_CODE,
    Extracted,
    extract_document,
    extraction_recipe,
    media_type,
)

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument'
    '.wordprocessingml.document.main+xml"/></Types>'
)


class StubExtractor:
    """Answers without a library."""

    def __init__(self, text: str, title: str = "") -> None:
        self.found = (text, title)

    def recipe(self, media_type: str) -> str:
        return f"stub of {media_type}"

    def extract(self, name: str, raw: bytes, media_type: str) -> Extracted:
        return Extracted(*self.found, media_type)


def docx(body: str) -> bytes:
    document = f'<?xml version="1.0"?><w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    return package({"[Content_Types].xml": TYPES, "word/document.xml": document})


def package(parts: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


@pytest.mark.parametrize(
    ("name", "raw", "expected"),
    [
        ("a.md", b"text", MARKDOWN),
        ("a.MARKDOWN", b"text", MARKDOWN),
        ("a.txt", b"text", PLAIN),
        ("README", b"text", PLAIN),
        ("a.unknown", b"text", PLAIN),
        ("a.py", b"# text", SOURCE_CODE),
        ("a.csv", b"a,b", "text/csv"),
        ("a.html", b"text", HTML),
        ("a.md", b"<html>text", MARKDOWN),
        ("page", b"\n<!DOCTYPE html>text", HTML),
        ("a.txt", b"%PDF-1.7 ...", PDF),
        ("a.bin", docx(""), DOCX),
        ("a.zip", package({"META-INF/container.xml": ""}), EPUB),
    ],
)
def test_the_media_type_follows_from_first_bytes_and_suffix(name: str, raw: bytes, expected: str) -> None:
    assert media_type(name, raw) == expected


BROKEN: dict[str, tuple[str, bytes, str]] = {
    "empty": ("a.txt", b"", "is empty"),
    "blank": ("a.md", b" \n\t\r\n\xef\xbb\xbf", "holds no text"),
    "too large": ("a.txt", b"x" * 2001, "is larger than 2,000 bytes"),
    "png": ("a.txt", b"\x89PNG\r\n\x1a\n", "is an image"),
    "gzip": ("a.md", b"\x1f\x8b\x08", "is a compressed file"),
    "binary": ("a.dat", bytes(range(256)), "is not text in any known encoding"),
    "old Office": ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1", "is an encrypted or old Office file"),
    "no PDF": ("a.pdf", b"hello", "is not a sound PDF file"),
    "damaged PDF": ("a.pdf", b"%PDF-1.4\ngarbage", "is damaged"),
    "no DOCX": ("a.docx", b"hello", "is not a sound DOCX file"),
    "cut DOCX": ("a.docx", docx(paragraph("x" * 50))[:200], "is not a sound DOCX file"),
    "DOCX without a document": ("a.docx", package({"x": ""}), "a part of it is missing"),
    "DOCX without text": ("a.docx", docx(paragraph(" ")), "holds no text"),
    "archive": ("a.zip", package({"x": ""}), "is an archive or an unknown Office file"),
    "cut archive": ("a.zip", package({"x": ""})[:30], "is a damaged archive"),
    "HTML without text": ("a.html", b"<html><title>T</title><script>x()</script></html>", "holds no text"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_cannot_be_read_is_reported_in_one_line_by_name(kind: str) -> None:
    name, raw, reason = BROKEN[kind]
    with pytest.raises(ExtractionError) as caught:
        extract_document(f"in/{name}", raw, max_bytes=2000, extractor=LibraryExtractor())
    assert f"'in/{name}' {reason}" in str(caught.value) or reason in str(caught.value)
    assert caught.value.hint
    assert "\n" not in str(caught.value)


def test_a_package_that_unpacks_to_very_much_is_refused_unopened() -> None:
    bomb = docx(paragraph("a" * 1_000_000))
    with pytest.raises(ExtractionError, match="unpacks to more than 400,000 bytes"):
        extract_document("bomb.docx", bomb, extractor=StubExtractor("never asked"), max_bytes=100_000)


def test_a_docx_of_more_markup_than_memory_can_hold_is_refused_unopened() -> None:
    with pytest.raises(ExtractionError, match="unpacks to more than 20,000,000 bytes"):
        extract_document("bomb.docx", docx(paragraph("a" * 20_000_000)), extractor=StubExtractor("never asked"))


def encrypted(raw: bytes) -> bytes:
    """The package with the encryption flag of its first entry set in the central directory."""
    at = raw.index(b"PK\x01\x02") + 8
    return raw[:at] + bytes([raw[at] | 1]) + raw[at + 1 :]


def test_an_encrypted_package_is_refused() -> None:
    with pytest.raises(ExtractionError, match="is encrypted"):
        extract_document("a.docx", encrypted(docx(paragraph("x"))), extractor=LibraryExtractor())


def test_a_scan_is_told_from_an_empty_document() -> None:
    with pytest.raises(ExtractionError, match="no text layer"):
        extract_document("a.pdf", b"%PDF-1.7", extractor=StubExtractor(" \n"))


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("docs/a.md", "intro\n\n# The *real* [title](x.md)\n", "The real title"),
        ("docs/a.md", "---\ntitle: 'From: front matter'\n---\n# Heading\n", "From: front matter"),
        ("docs/a.md", "no heading", "a"),
        ("docs/a.rst", "Title\n=====\n\ntext", "Title"),
        ("docs/some notes.v2.txt", "text", "some notes.v2"),
        ("src/tool.py", "# a comment\nx = 1", "tool"),
        ("data/prices.csv", "# id,price\n1,2", "prices"),
        (".profile", "text", ".profile"),
    ],
)
def test_the_title_is_the_documents_own_else_the_stem_of_its_name(name: str, text: str, title: str) -> None:
    assert extract_document(name, text.encode(), extractor=LibraryExtractor()).title == title


def test_front_matter_and_markup_are_kept() -> None:
    text = "---\ntitle: T\n---\n\n# H\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    assert extract_document("a.md", f"{text}\n".encode(), extractor=LibraryExtractor()).text == text


def test_a_format_of_the_library_without_a_heading_takes_its_own_title() -> None:
    found = extract_document("a.pdf", b"%PDF-1.7", extractor=StubExtractor("text", "Own title"))
    assert found == Extracted("text", "Own title", PDF)


def test_case_49_a_title_holds_no_nul() -> None:
    found = extract_document("a.pdf", b"%PDF-1.7", extractor=StubExtractor("te\x00xt", "Own\x00 title"))
    assert (found.text, found.title) == ("text", "Own title")


def test_html_becomes_markdown_without_scripts_and_metadata() -> None:
    page = (
        "<html><head><title>T &amp; U</title><meta name=description content=hidden></head><body><h1>Head</h1>"
        "<script>steal()</script><p>Zürich &lt;b&gt;</p><img alt=logo src='data:image/png;base64,AAAA'>"
        "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></body></html>"
    )
    text = extract_document("a.html", page.encode(), extractor=LibraryExtractor()).text
    assert text.startswith("# Head\n\nZürich")
    assert "| a" in text
    assert not {"steal", "hidden", "AAAA", "title:"} & set(text.replace("(", " ").replace(":", ": ").split())


def test_the_title_of_a_page_without_headings_is_its_title_element() -> None:
    assert extract_document("a.html", b"<title>T &amp; U</title><p>text", extractor=LibraryExtractor()).title == "T & U"


@pytest.mark.parametrize("encoding", ["utf-8", "iso8859-2", "utf-16"])
def test_the_declared_encoding_of_a_page_is_believed(encoding: str) -> None:
    page = f"<html><head><meta charset={encoding}></head><p>Příliš žluťoučký kůň</p></html>"
    assert (
        extract_document("a.html", page.encode(encoding), extractor=LibraryExtractor()).text == "Příliš žluťoučký kůň"
    )


def test_docx_becomes_markdown() -> None:
    row = "<w:tr>" + "".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in ("a", "b")) + "</w:tr>"
    text = extract_document(
        "a.docx", docx(paragraph("Größe &amp; Preis") + f"<w:tbl>{row}{row}</w:tbl>"), extractor=LibraryExtractor()
    ).text
    assert text.startswith("Größe & Preis\n\n| a | b")


def test_entities_and_tabs_of_docx_are_text() -> None:
    body = paragraph("AT&amp;T &#8212; a &lt; b") + "<w:p><w:r><w:t>Total</w:t><w:tab/><w:t>500</w:t></w:r></w:p>"
    assert extract_document("a.docx", docx(body), extractor=LibraryExtractor()).text == "AT&T — a < b\n\nTotal\t500"


def test_an_epub_is_read_in_the_order_of_its_spine() -> None:
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OPS/book.opf"/></rootfiles></container>'
    )
    book = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        '<metadata><dc:title>Title &amp; more</dc:title></metadata><manifest><item id="b" href="text/two.xhtml"/>'
        '<item id="a" href="one%20.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/></spine></package>'
    )
    chapters = {"OPS/one .xhtml": "<p>first</p>", "OPS/text/two.xhtml": "<p>second</p>"}
    raw = package({"META-INF/container.xml": container, "OPS/book.opf": book, **chapters})
    assert extract_document("a.epub", raw, extractor=LibraryExtractor()) == Extracted(
        "first\n\nsecond", "Title & more", EPUB
    )


@pytest.mark.parametrize("part", ["META-INF/container.xml", "word/document.xml"])
@pytest.mark.parametrize("content", ["", "<", "<a/>", "<!DOCTYPE x>"])
def test_a_package_with_a_damaged_part_is_reported(part: str, content: str) -> None:
    with pytest.raises(ExtractionError, match=r"is damaged|holds no text"):
        extract_document("a.docx", package({part: content}), extractor=LibraryExtractor())


def test_importing_extraction_loads_no_library() -> None:
    heavy = "{'pypdfium2', 'mammoth', 'html_to_markdown', 'chardet', 'numpy'}"
    code = f"import sys, overstory.adapters.extractors; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("kind", "library"),
    [
        (MARKDOWN, "chardet"),
        ("text/csv", "chardet"),
        (HTML, "html-to-markdown"),
        (PDF, "pypdfium2"),
        (DOCX, "mammoth"),
        (EPUB, "html-to-markdown"),
    ],
)
def test_recipe_names_the_library_with_its_version(kind: str, library: str) -> None:
    recipe = extraction_recipe(kind, LibraryExtractor())
    assert f"{library} {version(library)}" in recipe
    assert recipe.endswith(f"; text {EXTRACTION_VERSION}")


def test_recipe_of_plain_text_does_not_change_with_other_formats_libraries() -> None:
    assert "stub" not in extraction_recipe(MARKDOWN, StubExtractor("text"))
    assert "stub of application/pdf" in extraction_recipe(PDF, StubExtractor("text"))
