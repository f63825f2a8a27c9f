"""JSON schemas of what ``--json`` prints: ``python -m overstory.cli.schemas docs/schemas`` writes them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from overstory.cli import documents, integrity

COMMANDS: dict[str, type[documents.Document]] = {
    "build": documents.BuildDocument,
    "plan": documents.PlanDocument,
    "forget": documents.ForgottenDocument,
    "status": documents.StatusDocument,
    "status-document": documents.DocumentStatusDocument,
    "search": documents.SearchDocument,
    "show": documents.NodeDocument,
    "purge": integrity.PurgeDocument,
    "verify": integrity.VerifyDocument,
}
"""Documents by the name of their schema's file."""


def schema(name: str) -> str:
    """The schema of a command's document, as its file holds it."""
    return json.dumps(COMMANDS[name].model_json_schema(mode="serialization"), indent=2) + "\n"


def write(folder: Path) -> None:
    """Write every schema into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in COMMANDS:
        (folder / f"{name}.schema.json").write_text(schema(name), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
