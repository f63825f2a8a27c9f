"""What a candidate stands for: chunk summaries for their leaves, passed-through summaries for their children."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from overstory.identity import DocumentId, NodeId, summary_id
from overstory.nodes import NodeKind
from overstory.retrieval.ports import Candidate


@dataclass(frozen=True, slots=True)
class Entry:
    """A node that may be served, once, with the best score it was found by."""

    candidate: Candidate
    """The leaf or summary itself."""
    via_summary: bool = False
    """Whether its chunk summary scored higher than its own text."""

    @property
    def node_id(self) -> NodeId:
        """Id of the node to be served."""
        return self.candidate.node_id


def misplaced(candidates: Iterable[Candidate]) -> set[DocumentId]:
    """Documents whose leaves have to be listed to find what their chunk summaries stand for."""
    return {c.document_id for c in candidates if _is_proxy(c) and c.document_id and not _in_place(c)}


def leaf_entries(
    candidates: Sequence[Candidate], leaves: Mapping[DocumentId, Sequence[NodeId]] | None = None
) -> list[Entry]:
    """One entry for each leaf, scored by the better of its text and its chunk summary; best first, ties by id.

    A chunk summary whose leaf the current version does not hold is left out.

    Args:
        candidates: Leaves and chunk summaries of one ranking.
        leaves: Leaves of the documents that ``misplaced`` names.
    """
    best: dict[NodeId, Entry] = {}
    for candidate in candidates:
        entry = _entry(candidate, leaves or {})
        if entry is None:
            continue
        known = best.get(entry.node_id)
        if known is None or _key(entry) < _key(known):
            best[entry.node_id] = entry
    return sorted(best.values(), key=lambda entry: (-entry.candidate.score, entry.node_id))


def _key(entry: Entry) -> tuple[float, bool]:
    return (-entry.candidate.score, entry.via_summary)


def summary_entries(candidates: Sequence[Candidate]) -> list[Entry]:
    """The summaries that say something of their own: a passed-through text is served as the child it comes from."""
    return [Entry(candidate) for candidate in candidates if not candidate.passed_through]


def _entry(candidate: Candidate, leaves: Mapping[DocumentId, Sequence[NodeId]]) -> Entry | None:
    if not _is_proxy(candidate):
        return Entry(candidate)
    if _in_place(candidate) and candidate.leaf_id:
        return _through(candidate, candidate.leaf_id, candidate.ordinal)
    listed = leaves.get(candidate.document_id, ()) if candidate.document_id else ()
    for ordinal, leaf in enumerate(listed):
        if _stands_for(candidate, leaf):
            return _through(candidate, leaf, ordinal)
    return None


def _through(proxy: Candidate, leaf: NodeId, ordinal: int) -> Entry:
    return Entry(replace(proxy, node_id=leaf, kind=NodeKind.LEAF, ordinal=ordinal, leaf_id=None), via_summary=True)


def _is_proxy(candidate: Candidate) -> bool:
    return candidate.kind is NodeKind.CHUNK_SUMMARY


def _in_place(candidate: Candidate) -> bool:
    return candidate.leaf_id is not None and _stands_for(candidate, candidate.leaf_id)


def _stands_for(candidate: Candidate, leaf: NodeId) -> bool:
    """Ids are derived: a chunk summary's id says whose summary it is."""
    return candidate.node_id == summary_id(NodeKind.CHUNK_SUMMARY, leaf)
