"""What a build would find to do, in short: enough to ask for one, told by ids and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from overstory.building.comparing import Scan
from overstory.building.context import BuildContext
from overstory.building.health import examine
from overstory.identity import DocumentId, digest
from overstory.nodes import NodeState


@dataclass(frozen=True, slots=True)
class Differences:
    """What differs, without a word of any document."""

    state: str
    """Digest: the same differences have the same one, and none have none."""
    counts: Mapping[str, int]
    """By what happened to documents, or by state of nodes."""
    documents: tuple[DocumentId, ...]
    """Concerned ones, sorted."""
    notes: tuple[str, ...] = ()
    """What people should know beside: withheld deletions, closed folders."""


def of_source(scan: Scan) -> Differences:
    """What a source says otherwise than the record; withheld deletions and what cannot be read are no difference."""
    counts: Counter[str] = Counter()
    parts: list[str] = []
    documents = []
    known = {row.id for row in scan.rows.values()}
    reread = {row.id for row in scan.reread}
    for row in scan.changed:
        counts[_change(row.id, scan, known, reread)] += 1
        parts += [row.id, row.path, row.raw_hash, row.failure or "", str(row.last_number)]
        documents.append(row.id)
    for row in scan.gone:
        counts["deleted"] += 1
        parts += [row.id, "gone", str(row.last_number)]
        documents.append(row.id)
    return _differences("source", parts, counts, documents, scan.notes)


def _change(document: DocumentId, scan: Scan, known: Collection[DocumentId], reread: Collection[DocumentId]) -> str:
    if document in scan.moves:
        return "moved"
    if document not in known:
        return "new"
    return "new extractor" if document in reread else "edited"


def of_index(ctx: BuildContext) -> Differences:
    """Which nodes do not say what their children say; failed ones are tried again by a run for another reason."""
    health = examine(ctx)
    counts: Counter[str] = Counter()
    parts: list[str] = []
    documents = set()
    for node, (target, state) in sorted(health.unfresh.items()):
        if state is NodeState.FAILED:
            continue
        counts[state.value] += 1
        parts += [node, state.value, target.desired.child_hash or "", target.desired.recipe_hash]
        if target.document_id is not None:
            documents.add(target.document_id)
    if health.documents_pending:
        counts["waiting to be cut"] = health.documents_pending
        parts.append(str(health.documents_pending))
    return _differences("index", parts, counts, documents)


def _differences(
    kind: str,
    parts: Iterable[str],
    counts: Mapping[str, int],
    documents: Iterable[DocumentId],
    notes: Iterable[str] = (),
) -> Differences:
    fields = list(parts)
    return Differences(
        digest(kind, *fields)[:16] if fields else "", dict(counts), tuple(sorted(documents)), tuple(notes)
    )
