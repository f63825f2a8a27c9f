"""``overstory build`` and ``overstory plan``."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from overstory import api
from overstory.building.plan import plan as make_plan
from overstory.cli import tables
from overstory.cli.deployment import Deployment, for_build
from overstory.cli.documents import BuildDocument
from overstory.cli.progress import Bars
from overstory.cli.views import build_document, plan_document
from overstory.settings import Dataset


def run(folder: Path | None, dataset: str | None, documents: Sequence[str], *, as_json: bool) -> bool:
    """Build datasets one after the other; False if some document could not be made."""
    deployment, chosen = for_build(folder, dataset)
    whole = True
    for one in chosen:
        document = build_dataset(deployment, one, documents)
        whole = whole and not document.partial
        if as_json:
            sys.stdout.write(document.model_dump_json(indent=2) + "\n")
        else:
            tables.build(document)
    return whole


def build_dataset(deployment: Deployment, dataset: Dataset, documents: Sequence[str] = ()) -> BuildDocument:
    """Build one dataset through Dagster, with bars on the terminal."""
    from pipelines import launch

    started = time.monotonic()
    with Bars() as bars:
        done = launch.build(
            deployment.settings, dataset.name, home=deployment.home, documents=documents, cause="cli", progress=bars
        )
    return build_document(dataset.name, done.run_id, done.reports, time.monotonic() - started)


def plan(folder: Path | None, dataset: str | None, *, as_json: bool) -> None:
    """Print what a build would do."""
    deployment, chosen = for_build(folder, dataset)
    for one in chosen:
        with Bars() as bars, deployment.record() as record:
            document = plan_document(make_plan(api.open_dataset(one, record, progress=bars)))
        if as_json:
            sys.stdout.write(document.model_dump_json(indent=2) + "\n")
        else:
            tables.plan(document)
