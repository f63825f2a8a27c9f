"""``overstory build`` and ``overstory plan``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from overstory import api
from overstory.building.documents import confirm_deletions
from overstory.building.plan import plan as make_plan
from overstory.cli import tables
from overstory.cli.deployment import Deployment, for_build
from overstory.cli.documents import BuildDocument
from overstory.cli.progress import Bars
from overstory.cli.terminal import complain
from overstory.cli.views import build_document, plan_document
from overstory.errors import BuildInterrupted, OverstoryError
from overstory.settings import Dataset

PARTIAL = 3
"""Exit status of a build that made everything but some documents."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a person says about the source, since no program can know it."""

    moved: bool = False
    """The folder is the one that the dataset was built from, at another place."""
    deletions: bool = False
    """What the folder no longer holds is meant to be gone."""

    def tell(self, deployment: Deployment, dataset: Dataset) -> None:
        """Note it in the record."""
        if not (self.moved or self.deletions):
            return
        with deployment.record() as record:
            if self.moved:
                api.relocate(record, dataset)
            if self.deletions:
                confirm_deletions(api.open_dataset(dataset, record))


def run(folder: Path | None, dataset: str | None, documents: Sequence[str], said: Said, *, as_json: bool) -> int:
    """Build datasets one after the other, whatever becomes of each; returns the exit status of the worst."""
    deployment, chosen = for_build(folder, dataset)
    done: list[BuildDocument] = []
    errors: list[OverstoryError] = []
    for one in chosen:
        try:
            said.tell(deployment, one)
            done.append(build_dataset(deployment, one, documents))
        except BuildInterrupted:
            raise
        except OverstoryError as error:
            errors.append(error)
            complain(f"{one.name}: {error}" if len(chosen) > 1 else str(error))
        else:
            if not as_json:
                tables.build(done[-1])
    if as_json:
        print_json(done, alone=len(chosen) == 1)
    return max([error.exit_status for error in errors] or [PARTIAL if any(d.partial for d in done) else 0])


def print_json(documents: Sequence[BaseModel], *, alone: bool) -> None:
    """One document as it is; those of several datasets as an array."""
    if alone:
        for document in documents:
            sys.stdout.write(document.model_dump_json(indent=2) + "\n")
    else:
        sys.stdout.write(json.dumps([document.model_dump(mode="json") for document in documents], indent=2) + "\n")


def build_dataset(deployment: Deployment, dataset: Dataset, documents: Sequence[str] = ()) -> BuildDocument:
    """Build one dataset through Dagster, with bars on the terminal."""
    from pipelines import launch

    started = time.monotonic()
    with Bars() as bars:
        done = launch.build(
            deployment.settings, dataset.name, home=deployment.home, documents=documents, cause="cli", progress=bars
        )
    return build_document(dataset.name, done.run_id, done.reports, time.monotonic() - started)


def plan(folder: Path | None, dataset: str | None, *, moved: bool, as_json: bool) -> None:
    """Print what a build would do."""
    deployment, chosen = for_build(folder, dataset)
    planned = []
    for one in chosen:
        with Bars(lines=False) as bars, deployment.record() as record:
            planned.append(plan_document(make_plan(api.open_dataset(one, record, progress=bars, moved=moved))))
        if not as_json:
            tables.plan(planned[-1])
    if as_json:
        print_json(planned, alone=len(chosen) == 1)
