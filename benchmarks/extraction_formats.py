"""Compares libraries that turn HTML, PDF, DOCX and EPUB into text (docs/decisions/0002-extraction-library.md).

    python benchmarks/extraction_formats.py LIBRARY FOLDER

Run it with the interpreter of an environment that holds only the library and its dependencies, so that weight is
theirs alone. FOLDER holds ``manifest.jsonl``: a line per file with ``file``, ``format``, ``expect`` (strings that the
text must hold) and ``outcome`` (``text``, or what must be reported instead of a text).
"""

from __future__ import annotations

import argparse
import io
import json
import socket
import sysconfig
import time
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

MIME = {
    "html": "text/html",
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "epub": "application/epub+zip",
}
Extract = Callable[[str, bytes], str]


def kreuzberg() -> Extract:
    library = import_module("kreuzberg")
    config = library.ExtractionConfig(use_cache=False, disable_ocr=True, output_format="markdown")
    return lambda kind, raw: str(library.extract_bytes_sync(raw, MIME[kind], config=config).content)


def markitdown() -> Extract:
    library = import_module("markitdown")
    converter = library.MarkItDown(enable_plugins=False)
    return lambda kind, raw: str(
        converter.convert_stream(io.BytesIO(raw), stream_info=library.StreamInfo(extension=f".{kind}")).text_content
    )


def _by_pdfium_and_mammoth(to_markdown: Callable[[str], str]) -> Extract:
    pdfium, mammoth = import_module("pypdfium2"), import_module("mammoth")

    def extract(kind: str, raw: bytes) -> str:
        if kind == "pdf":
            return "\n\n".join(page.get_textpage().get_text_range() for page in pdfium.PdfDocument(raw))
        if kind == "docx":
            return to_markdown(mammoth.convert_to_html(io.BytesIO(raw)).value)
        if kind == "epub":
            raise ValueError("no reader of its own for epub")
        return to_markdown(raw.decode("utf-8", "replace"))

    return extract


def pypdfium2_mammoth_markdownify() -> Extract:
    markdownify = import_module("markdownify").markdownify
    return _by_pdfium_and_mammoth(lambda page: str(markdownify(page)))


def pypdfium2_mammoth_html_to_markdown() -> Extract:
    library = import_module("html_to_markdown")
    options = library.ConversionOptions(extract_metadata=False)
    return _by_pdfium_and_mammoth(lambda page: str(library.convert(page, options).content))


def overstory() -> Extract:
    """What came of it: the product's own decisions around the chosen libraries."""
    extract_document = import_module("overstory.extraction").extract_document
    extractor = import_module("overstory.adapters.extractors").LibraryExtractor()
    return lambda kind, raw: str(extract_document(f"file.{kind}", raw, extractor=extractor).text)


def docling() -> Extract:
    stream = import_module("docling.datamodel.base_models").DocumentStream
    converter = import_module("docling.document_converter").DocumentConverter()
    return lambda kind, raw: str(
        converter.convert(stream(name=f"a.{kind}", stream=io.BytesIO(raw))).document.export_to_markdown()
    )


LIBRARIES: dict[str, Callable[[], Extract]] = {
    each.__name__: each
    for each in (
        *(kreuzberg, markitdown, docling, overstory),
        *(pypdfium2_mammoth_markdownify, pypdfium2_mammoth_html_to_markdown),
    )
}


def probes() -> dict[str, tuple[str, bytes, list[str]]]:
    """Files of our own for what the sample files do not hold: entities, tabs, large pages."""
    namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    runs = "<w:t>AT&amp;T &#8364;5 a &lt; b, total</w:t><w:tab/><w:t>500</w:t>"
    document = f'<w:document xmlns:w="{namespace}"><w:body><w:p><w:r>{runs}</w:r></w:p></w:body></w:document>'
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as package:
        types = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
        package.writestr("[Content_Types].xml", types)
        package.writestr("word/document.xml", document)
    page = b"<html><head><title>T</title></head><body><p>AT&amp;T &#8364;5 a &lt; b, total 500</p></body></html>"
    large = b"<p>some words <b>and</b> others</p>" * 30_000
    return {
        "entities and tabs in DOCX": ("docx", buffer.getvalue(), ["AT&T \u20ac5 a < b, total 500"]),
        "entities in HTML": ("html", page, ["AT&T \u20ac5 a < b, total 500"]),
        "1 MB of HTML": ("html", large, ["some words **and** others"]),
    }


def judge(extract: Extract, row: dict[str, Any], raw: bytes) -> tuple[str, str]:
    """How one file fared, and why: ``right``, ``wrong`` (strings missing), ``silent`` (an unreadable file passed)."""
    try:
        text = " ".join(extract(row["format"], raw).split())
    except Exception as error:  # noqa: BLE001 - each library has exceptions of its own
        return ("right" if row["outcome"] != "text" else "wrong"), f"{type(error).__name__}: {error}"[:100]
    if row["outcome"] != "text":
        return ("right" if not text else "silent"), text[:60]
    missing = [expected for expected in row["expect"] if expected not in text]
    return ("wrong" if missing else "right"), f"missing {missing}" if missing else ""


def no_network() -> None:
    """From here on, a connection is an error."""

    def refuse(*_: object) -> NoReturn:
        raise OSError("network use")

    socket.socket.connect = refuse  # type: ignore[method-assign]


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare extraction libraries")
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    packages = Path(sysconfig.get_path("purelib"))
    weight = sum(path.stat().st_size for path in packages.rglob("*") if path.is_file() and "pip" not in path.parts)
    no_network()
    began = time.perf_counter()
    extract = LIBRARIES[arguments.library]()
    imported = time.perf_counter() - began
    tally = {"right": 0, "wrong": 0, "silent": 0}
    began = time.perf_counter()
    for line in (arguments.folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["format"] in MIME:
            verdict, reason = judge(extract, row, (arguments.folder / row["file"]).read_bytes())
            tally[verdict] += 1
            if reason:
                print(f"  {verdict:6} {row['file']}: {reason}")
    seconds = time.perf_counter() - began
    for title, (kind, raw, expected) in probes().items():
        began = time.perf_counter()
        verdict, reason = judge(extract, {"format": kind, "outcome": "text", "expect": expected}, raw)
        print(f"  {verdict:6} {title}: {time.perf_counter() - began:.2f} s {reason}")
    print(f"{arguments.library}: {tally}, {seconds:.2f} s, import {imported:.2f} s, {weight / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
