"""``overstory verify``."""

from __future__ import annotations

from overstory import api
from overstory.building import verifying
from overstory.building.invariants import Violation
from overstory.cli import integrity
from overstory.cli.building import print_json
from overstory.cli.deployment import for_overview
from overstory.cli.integrity import FaultDocument, VerifyDocument

FAULTY = 4
"""Exit status where something is wrong, and is not mended."""


def run(dataset: str | None, *, repair: bool, as_json: bool) -> int:
    """Verify datasets, one or all, and mend them where that is asked for; returns the exit status.

    Raises:
        BuildLocked: A build of a dataset that is to be verified is running.
    """
    done: list[VerifyDocument] = []
    with for_overview(dataset) as (_, chosen, record):
        for one in chosen:
            ctx, inspection = api.open_dataset(one, record), api.open_inspection(record)
            # While a build runs, the stores are on their way from one state to another.
            with record.lock(one.name):
                found = verifying.verify(ctx, inspection)
                mended = verifying.repair(ctx, inspection, found) if repair and found else None
            done.append(_document(one.name, found, mended))
            if not as_json:
                integrity.verified(done[-1])
    if as_json:
        print_json(done, alone=len(chosen) == 1)
    return FAULTY if any(document.left for document in done) else 0


def _document(dataset: str, found: list[Violation], mended: verifying.Repaired | None) -> VerifyDocument:
    left = found if mended is None else mended.left
    return VerifyDocument(
        dataset=dataset,
        faults=tuple(_fault(violation) for violation in found),
        repaired=mended is not None,
        embedded=mended.embedded if mended else 0,
        calls=0,
        left=tuple(_fault(violation) for violation in left),
    )


def _fault(violation: Violation) -> FaultDocument:
    return FaultDocument(
        invariant=str(violation.invariant),
        fault=str(violation.fault),
        node_id=violation.node_id,
        what=violation.what,
    )
