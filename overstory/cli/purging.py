"""``overstory purge``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from overstory import api
from overstory.building.purging import Gone, find, find_purged, proof_of, purge
from overstory.cli import integrity, tables
from overstory.cli.building import print_json
from overstory.cli.deployment import for_reading
from overstory.cli.forgetting import DECLINED
from overstory.cli.integrity import PlaceFoundDocument, PurgeDocument
from overstory.errors import SettingsError
from overstory.home import dagster_home, log_folder
from overstory.purges import PurgedDocument
from overstory.traces import Proof, Store, files

FOUND = 4
"""Exit status where something of the document is still found."""


def run(name: str, dataset: str | None, *, erase: bool, yes: bool, as_json: bool) -> int:
    """Purge a document once somebody has said yes, prove it and tell; returns the exit status.

    Raises:
        SettingsError: There is no such document, or nobody can be asked.
        BuildLocked: A build of the dataset is running.
    """
    with for_reading(dataset) as (deployment, chosen, record):
        ctx = api.open_dataset(chosen, record)
        row = find(ctx, name)
        if not (yes or _agreed(name, ctx.name)):
            tables.show("Nothing was removed")
            return DECLINED
        embedded = api.embedded_data(deployment.home)
        texts = api.open_texts(record, own_server=embedded is not None)
        with record.lock(ctx.name):
            row = find(ctx, name)
            gone = Gone(row.document_id) if isinstance(row, PurgedDocument) else purge(ctx, row, texts)
            missed = texts.erase() if erase else []
        places = list(_files_of(deployment.home, embedded if erase else None))
        proof = proof_of(gone, texts, places)
    document = _document(ctx.name, gone, proof, missed, erased=erase)
    if as_json:
        print_json([document], alone=True)
    else:
        integrity.purged(document, proof)
    return 0 if proof.clean else FOUND


def undo(name: str, dataset: str | None) -> None:
    """Let the next build take a purged document in again.

    Raises:
        SettingsError: No such document was purged.
    """
    with for_reading(dataset) as (_, chosen, record):
        ctx = api.open_dataset(chosen, record)
        purged = find_purged(ctx, name)
        if purged is None:
            raise SettingsError(f"No document '{name}' of dataset '{ctx.name}' was purged", hint="Give its path or id")
        with record.lock(ctx.name):
            record.purges.undo(ctx.name, purged)
    tables.show(f"{ctx.name}: the next build takes it in again, if its file is there")


def _files_of(home: Path, data: Path | None) -> Iterator[Store]:
    """The files that may quote a document: logs, what runs leave behind, and erased data files of our own server."""
    yield files(log_folder(home), "logs")
    yield files(dagster_home(home), "dagster")
    if data is not None:
        yield files(data, "data files of Postgres")


def _document(dataset: str, gone: Gone, proof: Proof, missed: list[str], *, erased: bool) -> PurgeDocument:
    return PurgeDocument(
        dataset=dataset,
        document_id=gone.document_id,
        leaves=gone.leaves,
        summaries=gone.summaries,
        clusters=gone.clusters,
        passages=proof.passages,
        stores=tuple(PlaceFoundDocument(store=f.store, found=f.found) for f in proof.findings),
        clean=proof.clean,
        erased=erased,
        not_reached=tuple(missed),
    )


def _agreed(name: str, dataset: str) -> bool:
    if not sys.stdin.isatty():
        raise SettingsError(f"Nobody can be asked whether '{name}' is to go", hint="Say so with --yes")
    question = f"Remove '{name}' from dataset '{dataset}' for good? Its file stays, and builds leave it out"
    return typer.confirm(question, err=True)
