"""``overstory status``, ``overstory search`` and ``overstory show``."""

from __future__ import annotations

from string import hexdigits

from pydantic import BaseModel

from overstory import api
from overstory.building.context import BuildContext
from overstory.building.drifting import measure_drift
from overstory.building.health import examine, examine_document
from overstory.cli import pages, tables
from overstory.cli.building import print_json
from overstory.cli.deployment import Deployment, for_overview, for_reading
from overstory.cli.documents import DocumentStatusDocument, NodeStateDocument, StatusDocument
from overstory.cli.terminal import complain
from overstory.cli.views import node_document, search_document, status_document
from overstory.deletions import note
from overstory.errors import SettingsError
from overstory.identity import shard_key
from overstory.server_marker import server_of
from overstory.settings import Dataset

ID_DIGITS = 4
"""Of an id's beginning at least."""

_NODE_HINT = "Give an id, the beginning of one, or a document's path: 'overstory search' prints them"


def overview(dataset: str | None, *, as_json: bool) -> int:
    """Print how fresh the index of every dataset is, or of the one that is named; returns the exit status."""
    found: list[StatusDocument] = []
    worst = 0
    with for_overview(dataset) as (_, chosen, record):
        for one in chosen:
            try:
                found.append(_dataset_status(api.open_dataset(one, record)))
            except SettingsError as error:
                complain(f"{one.name}: {error}" if len(chosen) > 1 else str(error))
                worst = error.exit_status
            else:
                if not as_json:
                    tables.status(found[-1])
    if as_json:
        print_json(found, alone=len(chosen) == 1)
    return worst


def status(document: str, dataset: str | None, *, as_json: bool) -> None:
    """Print the state of a document's nodes."""
    with for_reading(dataset) as (deployment, chosen, record):
        ctx = api.open_dataset(chosen, record)
        (identifier,) = api.choose_documents(ctx, [document])
        health = examine_document(ctx, identifier)
    if health is None:
        raise SettingsError(f"'{document}' has not been built yet", hint="Run: overstory build")
    last = _last_run(deployment, chosen, health.row.shard)
    one = DocumentStatusDocument(
        dataset=chosen.name,
        document_id=health.row.id,
        path=health.row.path,
        shard=shard_key(health.row.shard),
        failure=health.row.failure,
        leaves=health.leaves,
        nodes=tuple(
            NodeStateDocument(
                node_id=target.id, kind=target.kind, level=target.level, state=verdict.state, cause=verdict.cause
            )
            for target, verdict in health.nodes
        ),
        last_run_id=last[0],
        last_run_status=last[1],
        last_run_url=last[2],
    )
    if as_json:
        _print_one(one)
    else:
        tables.document_status(one, served=server_of(deployment.home) is not None)


def _dataset_status(ctx: BuildContext) -> StatusDocument:
    health, spent = examine(ctx), ctx.record.ledger.spent(ctx.name)
    withheld = [yes for yes in ctx.record.documents.withheld(ctx.name).values() if not yes]
    notes = [note(len(withheld), health.documents)] if withheld else []
    return status_document(ctx.name, health, spent, notes=notes, drift=measure_drift(ctx))


def _last_run(deployment: Deployment, dataset: Dataset, shard: int) -> tuple[str | None, str | None, str | None]:
    from pipelines import launch

    last = launch.last_run(deployment.settings, deployment.home, dataset.name, shard)
    return (last.run_id, last.status, last.url) if last else (None, None, None)


def search(query: str, dataset: str | None, leaves: int | None, summaries: int | None, *, as_json: bool) -> None:
    """Print what answers a question."""
    with for_reading(dataset) as (_, chosen, record):
        result = api.search(record, chosen, query, leaves=leaves, summaries=summaries)
    if as_json:
        _print_one(search_document(chosen.name, result))
    else:
        pages.search(result)


def show(node: str, dataset: str | None, *, as_json: bool) -> None:
    """Print a node and its relatives."""
    with for_reading(dataset) as (_, chosen, record):
        view = api.show(record, chosen, node)
        failed = unread(api.open_dataset(chosen, record), node) if view is None else None
    if failed is not None:
        raise failed
    if view is None:
        raise SettingsError(
            f"Dataset '{chosen.name}' has no node '{node}'",
            hint=f"Give at least {ID_DIGITS} digits of its id" if _too_short(node) else _NODE_HINT,
        )
    if as_json:
        _print_one(node_document(chosen.name, view))
    else:
        pages.node(view)


def unread(ctx: BuildContext, path: str) -> SettingsError | None:
    """The error for a document that is known but has no text, so no node."""
    row = next((row for row in ctx.record.documents.rows(ctx.name) if path.strip() in (row.path, row.id)), None)
    if row is None:
        return None
    reason = row.failure or "it has not been cut into leaves yet"
    return SettingsError(f"'{row.path}' has no summary: {reason}", hint="Mend or exclude it, then build again")


def _too_short(node: str) -> bool:
    """Whether this may be the beginning of an id, but too little of one."""
    return 0 < len(node.strip()) < ID_DIGITS and set(node.strip().lower()) <= set(hexdigits)


def _print_one(document: BaseModel) -> None:
    print_json([document], alone=True)
