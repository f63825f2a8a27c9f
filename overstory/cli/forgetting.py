"""``overstory forget``."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from overstory import api
from overstory import settings as configuration
from overstory.cli import tables
from overstory.cli.deployment import Deployment
from overstory.cli.documents import ForgottenDocument
from overstory.errors import SettingsError
from overstory.settings import Settings

DECLINED = 1
"""Exit status where a person says no."""


def forget(dataset: str, *, yes: bool, as_json: bool) -> int:
    """Remove a dataset from the record once somebody has said yes; returns the exit status.

    Raises:
        SettingsError: There is no such dataset, or nobody can be asked.
        BuildLocked: A build of it is running.
    """
    found = configuration.find_file(Path.cwd())
    settings = configuration.load(found) if found else Settings(datasets=())
    with Deployment(settings, api.home_of(settings)).record() as record:
        known = dict(record.datasets())
        if dataset not in known:
            names = ", ".join(known) or "none"
            raise SettingsError(f"There is no dataset '{dataset}'", hint=f"Known datasets: {names}")
        if not (yes or _agreed(dataset, len(record.documents.rows(dataset)))):
            tables.show("Nothing was removed")
            return DECLINED
        with record.lock(dataset):
            gone = record.forget(dataset)
    told = ForgottenDocument(dataset=dataset, documents=gone.documents, leaves=gone.leaves, summaries=gone.summaries)
    if as_json:
        sys.stdout.write(told.model_dump_json(indent=2) + "\n")
    else:
        tables.forgotten(told, known[dataset])
    return 0


def _agreed(dataset: str, documents: int) -> bool:
    if not sys.stdin.isatty():
        raise SettingsError(f"Nobody can be asked whether dataset '{dataset}' is to go", hint="Say so with --yes")
    question = f"Remove dataset '{dataset}' ({documents:,} documents) from the index? Its files stay"
    return typer.confirm(question, err=True)
