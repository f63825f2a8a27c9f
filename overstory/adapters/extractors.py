"""Reads HTML, PDF, DOCX and EPUB through kreuzberg (docs/decisions/0002-extraction-library.md)."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from overstory.errors import ExtractionError
from overstory.extraction import HTML, Extracted
from overstory.normalization import decode

if TYPE_CHECKING:
    from kreuzberg import ExtractionConfig

_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_DECLARED_WITHIN = 1024
"""Bytes in which a page has to declare its encoding (HTML Standard, section 4.2.5.4)."""
_TITLE = re.compile(r"<title[^>]*>(.*?)</title\s*>", re.IGNORECASE | re.DOTALL)
_HEAD = re.compile(
    r"<head(?:\s[^>]*)?>.*?</head\s*>|<title[^>]*>.*?</title\s*>|<(?:meta|link|base)\b[^>]*>", re.I | re.S
)
_DATA_IMAGE = re.compile(r"!\[([^\]]*)\]\(\s*data:[^)]*\)")
_NO_TITLE = {"untitled", "(anonymous)", "(unspecified)", "untitled document"}


class KreuzbergExtractor:
    """Markdown from kreuzberg: no recognition of scans, no cache on disk, no network.

    Its runtime does not survive a fork: start worker processes by ``spawn`` or ``forkserver``.
    """

    def extract(self, name: str, raw: bytes, media_type: str) -> Extracted:
        """The text and title of an HTML, PDF, DOCX or EPUB document."""
        title = ""
        if media_type == HTML:
            page = _decoded(name, raw)
            match = _TITLE.search(page)
            title = html.unescape(match[1]) if match else ""
            # kreuzberg puts a page's metadata into its text, and offers no option against it.
            raw = _HEAD.sub("", page).encode("utf-8", "replace")
        text, own = _read(name, raw, media_type)
        title = " ".join((title or own).split())
        return Extracted(_DATA_IMAGE.sub(r"\1", text), "" if title.lower() in _NO_TITLE else title, media_type)


def _decoded(name: str, raw: bytes) -> str:
    match = _DECLARED.search(raw[:_DECLARED_WITHIN])
    return decode(raw, name=f"'{name}'", declared=match[1].decode("ascii") if match else "")


def _read(name: str, raw: bytes, media_type: str) -> tuple[str, str]:
    from kreuzberg import KreuzbergError, extract_bytes_sync

    try:
        result = extract_bytes_sync(raw, media_type, config=_config())
    except (KreuzbergError, RuntimeError, ValueError, OSError) as error:
        raise _translated(name, error) from error
    return result.content, str(result.metadata.get("title") or "")


def _config() -> ExtractionConfig:
    from kreuzberg import ContentFilterConfig, ExtractionConfig

    return ExtractionConfig(  # type: ignore[call-arg]  # kreuzberg 4.10.4: disable_ocr is missing from its stubs
        use_cache=False,
        disable_ocr=True,
        output_format="markdown",
        # Headers and footers hold dates and versions; leaving them out is a guess about layout.
        content_filter=ContentFilterConfig(include_headers=True, include_footers=True, strip_repeating_text=False),
    )


def _translated(name: str, error: Exception) -> ExtractionError:
    reason = " ".join(str(error).split())
    if "password" in reason.lower() or "encrypt" in reason.lower():
        return ExtractionError(f"'{name}' is encrypted", hint="Save it without a password", name=name)
    reason = reason.removeprefix("ParsingError: ")[:120]
    return ExtractionError(f"'{name}' is damaged ({reason})", hint="Save it again from its program", name=name)
