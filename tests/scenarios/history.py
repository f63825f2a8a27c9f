"""The edit history of a real folder of policies, commit by commit: ``../shared/data/demo/policies/history``."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.scenarios.workbench import Workbench

FOLDER = Path("data/demo/policies/history")


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit did to one document."""

    path: str
    text: str | None
    """None where it was deleted."""
    white_space_only: bool
    former_path: str | None


@dataclass(frozen=True, slots=True)
class Commit:
    """All that changed at once."""

    number: int
    """Counted from 1."""
    changes: tuple[Change, ...]
    removed: Mapping[str, tuple[str, ...]]
    """Amounts, dates, percentages and periods that went, by path."""

    @property
    def white_space_only(self) -> bool:
        """Whether no document says anything else than before."""
        return all(change.white_space_only for change in self.changes)

    def apply(self, tree: Mapping[str, str]) -> dict[str, str]:
        """The documents after it, by path."""
        gone = {change.former_path for change in self.changes} | {c.path for c in self.changes if c.text is None}
        kept = {path: text for path, text in tree.items() if path not in gone}
        return kept | {change.path: change.text for change in self.changes if change.text is not None}


@dataclass(frozen=True, slots=True)
class History:
    """A tree of documents and the commits that changed it."""

    baseline: Mapping[str, str]
    commits: tuple[Commit, ...]

    def trees(self) -> Iterator[tuple[Commit, dict[str, str], dict[str, str]]]:
        """Each commit with the tree before and the tree after it."""
        before = dict(self.baseline)
        for commit in self.commits:
            after = commit.apply(before)
            yield commit, before, after
            before = after


def read_history(shared: Path) -> History:
    """The history of the policies in the shared folder."""
    folder = shared / FOLDER
    removed = _removed(folder / "policies.fact_changes.jsonl")
    return History(
        {row["path"]: row["text"] for row in _rows(folder / "policies.baseline.jsonl.xz")},
        tuple(_commit(row, removed) for row in _rows(folder / "policies.events.jsonl.xz")),
    )


def lay_out(bench: Workbench, tree: Mapping[str, str]) -> None:
    """Bring the folder to these documents; files that stay the same are not touched."""
    present = {str(p.relative_to(bench.folder)): p for p in bench.folder.rglob("*") if p.is_file()}
    bench.remove(*(present.keys() - tree.keys()))
    for path, text in tree.items():
        if path not in present or present[path].read_bytes() != text.encode():
            bench.write(path, text)


def _rows(path: Path) -> list[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _removed(path: Path) -> dict[tuple[int, str], tuple[str, ...]]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(row["seq"], row["doc_id"]): tuple(row["removed"]) for row in rows}


def _commit(row: Mapping[str, Any], removed: Mapping[tuple[int, str], tuple[str, ...]]) -> Commit:
    changes = row["changes"]
    facts = {change["path"]: removed.get((row["seq"], change["doc_id"]), ()) for change in changes}
    return Commit(
        row["seq"],
        tuple(Change(c["path"], c.get("text"), bool(c.get("whitespace_only")), c.get("old_path")) for c in changes),
        {path: texts for path, texts in facts.items() if texts},
    )
