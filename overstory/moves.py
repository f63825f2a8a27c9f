"""Which document stands at each path of a source: identity is the path, and a move is a move."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from overstory.identity import DocumentId


def owners(known: Mapping[str, tuple[DocumentId, str]], present: Mapping[str, str]) -> dict[str, DocumentId]:
    """The known document of each path; a path without one belongs to a new document.

    A document stays at its path, whatever that says by now, with two exceptions: one whose path is gone follows its
    bytes to a path that nobody knows, and documents that exchanged their bytes in a ring, two or more, exchange their
    paths. A copy is no move, and neither is a text that was put aside under a new name before its path was edited.

    Args:
        known: By former path, the document and the hash of its bytes, empty where they could not be read.
        present: By path of the source, the hash of its bytes, empty where that is not known.
    """
    lost: dict[str, list[DocumentId]] = defaultdict(list)
    for path in sorted(known.keys() - present.keys(), reverse=True):
        document, raw_hash = known[path]
        lost[raw_hash].append(document)
    found = {path: known[path][0] for path in present if path in known}
    for path in sorted(present.keys() - known.keys()):
        if present[path] and lost.get(present[path]):
            found[path] = lost[present[path]].pop()
    return found | _exchanged(known, present)


def _exchanged(known: Mapping[str, tuple[DocumentId, str]], present: Mapping[str, str]) -> dict[str, DocumentId]:
    """New owners of the paths in rings: each says now what the next one said before."""
    changed = [path for path in present if path in known and present[path] and known[path][1] != present[path]]
    times = Counter(known[path][1] for path in changed)
    former = {known[path][1]: path for path in changed if times[known[path][1]] == 1}
    following = {path: former[present[path]] for path in changed if present[path] in former}
    found: dict[str, DocumentId] = {}
    for start in following:
        ring, path = [], start
        while path in following and path not in found and path not in ring:
            ring.append(path)
            path = following[path]
        if ring and path == start:
            found |= {path: known[following[path]][0] for path in ring}
    return found
