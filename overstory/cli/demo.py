"""``overstory demo``: the sample corpus, built through Dagster and asked three questions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.padding import Padding

import overstory
from overstory import api
from overstory import settings as configuration
from overstory.building.health import examine
from overstory.cli import tables
from overstory.cli.building import build_dataset
from overstory.cli.deployment import Deployment
from overstory.cli.serving import user_of
from overstory.cli.terminal import one_line
from overstory.cli.views import status_document
from overstory.errors import SettingsError
from overstory.evaluation.nuggets import Question, load_questions, stated
from overstory.retrieval.context import pack, source_line
from overstory.retrieval.hits import Hit

if TYPE_CHECKING:
    from overstory.adapters.postgres.record import PostgresRecord
    from overstory.settings import Dataset

BUDGET_TOKENS = 3000
"""Length of the contexts that are compared."""

DEPTH = 40
"""Hits that are packed into a context, as many as fit."""

_CITED = 3


def run() -> None:
    """Build the samples, print the tree, answer three questions and say what to do next."""
    from overstory.adapters import embedded_postgres

    started = time.monotonic()
    folder = _examples()
    settings = configuration.load(folder / configuration.FILE_NAME)
    deployment = Deployment(settings, api.home_of(settings))
    dataset = settings.dataset(None)
    found_running = embedded_postgres.status(deployment.home).pid is not None
    tables.show(f"[bold]1.[/] Building {dataset.name} from {folder.name}/corpus through the Dagster asset graph")
    try:
        tables.build(build_dataset(deployment, dataset))
        with deployment.record() as record:
            health = examine(api.open_dataset(dataset, record))
            tables.show("[bold]2.[/] The tree")
            tables.status(status_document(dataset.name, health, record.ledger.spent(dataset.name)))
            tables.show("[bold]3.[/] Three questions; the answer is the cited context\n")
            for question in load_questions(folder / "gold.json"):
                _answer(record, dataset, question)
    finally:
        if not found_running and not user_of(deployment.home):
            embedded_postgres.stop(deployment.home)
    _farewell(folder, time.monotonic() - started)


def _examples() -> Path:
    folder = Path(overstory.__file__).resolve().parent.parent / "examples"
    if not (folder / configuration.FILE_NAME).is_file():
        raise SettingsError(
            "The sample corpus is not here", hint="It comes with the source: run 'make demo' in a checkout"
        )
    return folder


def _answer(record: PostgresRecord, dataset: Dataset, question: Question) -> None:
    """The best hits, and how many of the known facts are stated by a flat search and by the tree."""
    served = api.search(record, dataset, question.text)
    tables.show(f"[bold cyan]{escape(question.text)}[/]")
    for rank, hit in enumerate(served.hits[:_CITED], start=1):
        tables.show(
            Padding(f"[bold]{rank}.[/] {escape(one_line(source_line(hit)))}", (0, 0, 0, 2)),
            Padding(f"[dim]{escape(one_line(_line(hit, question)))}[/]", (0, 0, 0, 5)),
        )
    flat = api.search(record, dataset, question.text, leaves=DEPTH, summaries=0)
    tree = _context_of_tree(record, dataset, question)
    total = len(question.nuggets)
    counts = " and ".join(
        f"{_stated(question, hits)} by {name}" for name, hits in (("a flat search", flat.hits), ("the tree", tree))
    )
    tables.show(f"  stated of {total} known facts, in {BUDGET_TOKENS:,} tokens: {counts}\n")


def _context_of_tree(record: PostgresRecord, dataset: Dataset, question: Question) -> Sequence[Hit]:
    """Leaves and summaries in the settings' proportion, deep enough to fill the context."""
    quota = dataset.retrieval
    summaries = round(DEPTH * quota.summaries / max(1, quota.leaves + quota.summaries))
    return api.search(record, dataset, question.text, leaves=DEPTH - summaries, summaries=summaries).hits


def _stated(question: Question, hits: Sequence[Hit]) -> int:
    from overstory.adapters.tokenizers import OpenAITokenizer

    context = pack(hits, BUDGET_TOKENS, OpenAITokenizer().count)
    return len(stated(question.nuggets, context.text))


def _line(hit: Hit, question: Question) -> str:
    """The line of a hit that states a known fact, else its first."""
    lines = [line.strip() for line in hit.readable.splitlines() if line.strip()]
    best = next((line for line in lines if stated(question.nuggets, line)), lines[0] if lines else "")
    return best if len(best) <= 160 else f"{best[:160].rsplit(' ', 1)[0]} …"


def _farewell(folder: Path, seconds: float) -> None:
    here = Path.cwd()
    place = folder.relative_to(here) if folder.is_relative_to(here) else folder
    command = ".venv/bin/overstory" if (here / ".venv/bin/overstory").exists() else "overstory"
    tables.show(
        f"[bold]Done in {tables.duration(seconds)}.[/] What to do next:",
        f"  look at it in Dagster    {command} dev {place}/corpus",
        f'  index your own folder    {command} build DIR, then {command} search "…"',
        f"  know the price first     {command} plan DIR",
    )
