"""Values of settings that look right and are not: addresses that nobody can ask, sources that are no folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator


def _address(value: str) -> str:
    try:
        parts = urlsplit(value)
        # The port is looked at when it is asked for: a wrong one is a ValueError, as a wrong host is.
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        sound = False
    if not sound or re.search(r"\s", value):
        raise ValueError("must be an address such as http://127.0.0.1:8000/v1, its port from 1 to 65535")
    return value


def _folder(value: str) -> str:
    if "\0" in value or not value.strip():
        raise ValueError("must be the path of a folder")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", value):
        raise ValueError("must be a folder of this machine, no address")
    try:
        Path(value).expanduser()
    except RuntimeError as error:
        raise ValueError("begins with a user that this machine does not know") from error
    return value


Address = Annotated[str, AfterValidator(_address)]
"""Of an endpoint, http or https."""
Folder = Annotated[str, AfterValidator(_folder)]
"""A path on this machine, which need not exist."""
