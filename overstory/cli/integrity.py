"""What ``purge`` and ``verify`` tell: as documents, and for people."""

from __future__ import annotations

from rich.markup import escape

from overstory.cli import tables
from overstory.cli.documents import Document, _Part
from overstory.cli.terminal import one_line
from overstory.traces import Proof

_SHOWN = 3


class PlaceFoundDocument(_Part):
    """How much of what only a purged document said is still in one place."""

    store: str
    found: int


class PurgeDocument(Document):
    """``overstory purge --json``."""

    dataset: str
    document_id: str
    leaves: int
    summaries: int
    clusters: int
    passages: int
    stores: tuple[PlaceFoundDocument, ...]
    clean: bool
    erased: bool
    not_reached: tuple[str, ...]


class FaultDocument(_Part):
    """Something that is wrong with the stores."""

    invariant: str
    fault: str
    node_id: str
    what: str


class VerifyDocument(Document):
    """``overstory verify --json``."""

    dataset: str
    faults: tuple[FaultDocument, ...]
    repaired: bool
    embedded: int
    calls: int
    left: tuple[FaultDocument, ...]


def purged(document: PurgeDocument, proof: Proof) -> None:
    """What was removed, and what a scan of every place found."""
    counts = f"{document.leaves:,} leaves, {document.summaries:,} summaries"
    clusters = f", {document.clusters:,} cluster summaries to be made again" if document.clusters else ""
    tables.show(f"{document.dataset}: {document.document_id} purged ({counts}{clusters})")
    if not document.passages:
        tables.show("No passage is known that only this document said: nothing was looked for")
    else:
        table = tables._table("found", "store")
        for name, found in _by_table(proof).items():
            table.add_row(f"{len(found):,}/{proof.passages:,}", escape(name))
        tables.show(table)
        held = [finding for finding in proof.findings if finding.found]
        for finding in held:
            quoted = ", ".join(f"'{one_line(text)}'" for text in sorted(finding.passages)[:_SHOWN])
            tables.show(escape(f"{finding.store} still holds {quoted}"))
        if not held:
            tables.show(f"Nothing of what only it said ({proof.passages:,} passages) is left in any of these places")
    for missed in document.not_reached:
        tables.show(f"Not reached: {missed}")


def _by_table(proof: Proof) -> dict[str, set[str]]:
    """What was found, by table: the columns of a table, ``schema.table.column``, are one place for people."""
    places: dict[str, set[str]] = {}
    for finding in proof.findings:
        parts = finding.store.split(".")
        name = ".".join(parts[:2]) if len(parts) > 2 else finding.store
        places.setdefault(name, set()).update(finding.passages)
    return places


def verified(document: VerifyDocument) -> None:
    """What is wrong, and what became of it."""
    if not document.faults:
        tables.show(f"{document.dataset}: nothing is wrong")
        return
    tables.show(f"{document.dataset}: {len(document.faults):,} faults")
    for fault in document.faults:
        tables.show(escape(f"  {fault.node_id}: {fault.what} ({fault.fault})"))
    if not document.repaired:
        tables.show("To mend them without a call to a model: overstory verify --repair")
        return
    tables.show(f"Mended without a call to a model, {document.embedded:,} embedded; {len(document.left):,} left")
    tables.show("What was marked stale or is to be read again is made by the next: overstory build")
