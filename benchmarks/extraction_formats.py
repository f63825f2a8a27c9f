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


def pypdfium2_mammoth_markdownify() -> Extract:
    pdfium, mammoth, markdownify = map(import_module, ("pypdfium2", "mammoth", "markdownify"))

    def extract(kind: str, raw: bytes) -> str:
        if kind == "pdf":
            return "\n\n".join(page.get_textpage().get_text_bounded() for page in pdfium.PdfDocument(raw))
        if kind == "docx":
            raw = mammoth.convert_to_html(io.BytesIO(raw)).value.encode()
        elif kind == "epub":
            raise ValueError("no reader for epub")
        return str(markdownify.markdownify(raw.decode("utf-8", "replace")))

    return extract


def docling() -> Extract:
    stream = import_module("docling.datamodel.base_models").DocumentStream
    converter = import_module("docling.document_converter").DocumentConverter()
    return lambda kind, raw: str(
        converter.convert(stream(name=f"a.{kind}", stream=io.BytesIO(raw))).document.export_to_markdown()
    )


LIBRARIES: dict[str, Callable[[], Extract]] = {
    each.__name__: each for each in (kreuzberg, markitdown, pypdfium2_mammoth_markdownify, docling)
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
    print(f"{arguments.library}: {tally}, {seconds:.2f} s, import {imported:.2f} s, {weight / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
