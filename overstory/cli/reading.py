"""``overstory status``, ``overstory search`` and ``overstory show``."""

from __future__ import annotations

import sys

from pydantic import BaseModel

from overstory import api
from overstory.building.context import BuildContext
from overstory.building.health import examine, examine_document
from overstory.cli import pages, tables
from overstory.cli.deployment import Deployment, for_reading
from overstory.cli.documents import DocumentStatusDocument, NodeStateDocument, StatusDocument
from overstory.cli.views import node_document, search_document, status_document
from overstory.deletions import note
from overstory.errors import SettingsError
from overstory.identity import shard_key
from overstory.settings import Dataset


def status(document: str | None, dataset: str | None, *, as_json: bool) -> None:
    """Print how fresh a dataset's index is, or one document's."""
    with for_reading(dataset) as (deployment, chosen, record):
        ctx = api.open_dataset(chosen, record)
        if document is None:
            found = _dataset_status(ctx)
            _print_json(found) if as_json else tables.status(found)
            return
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
    _print_json(one) if as_json else tables.document_status(one)


def _dataset_status(ctx: BuildContext) -> StatusDocument:
    health, spent = examine(ctx), ctx.record.ledger.spent(ctx.name)
    withheld = [yes for yes in ctx.record.documents.withheld(ctx.name).values() if not yes]
    notes = [note(len(withheld), health.documents)] if withheld else []
    return status_document(ctx.name, health, spent, notes=notes)


def _last_run(deployment: Deployment, dataset: Dataset, shard: int) -> tuple[str | None, str | None, str | None]:
    from pipelines import launch

    last = launch.last_run(deployment.settings, deployment.home, dataset.name, shard)
    return (last.run_id, last.status, last.url) if last else (None, None, None)


def search(query: str, dataset: str | None, leaves: int | None, summaries: int | None, *, as_json: bool) -> None:
    """Print what answers a question."""
    with for_reading(dataset) as (_, chosen, record):
        result = api.search(record, chosen, query, leaves=leaves, summaries=summaries)
    if as_json:
        _print_json(search_document(chosen.name, result))
    else:
        pages.search(result)


def show(node: str, dataset: str | None, *, as_json: bool) -> None:
    """Print a node and its relatives."""
    with for_reading(dataset) as (_, chosen, record):
        view = api.show(record, chosen, node)
    if view is None:
        raise SettingsError(
            f"Dataset '{chosen.name}' has no node '{node}'",
            hint="Give an id, the beginning of one, or a document's path: 'overstory search' prints them",
        )
    if as_json:
        _print_json(node_document(chosen.name, view))
    else:
        pages.node(view)


def _print_json(document: BaseModel) -> None:
    sys.stdout.write(document.model_dump_json(indent=2) + "\n")
