"""Puts a dataset's ports together: the one place where core and adapters meet, for the CLI, Dagster and programs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from overstory import settings as configuration
from overstory.building.context import BuildContext, no_progress
from overstory.errors import SettingsError
from overstory.home import create_home, find_home, refuse_inside
from overstory.identity import DocumentId, document_id
from overstory.settings import Dataset, OpenAISummarizer, Settings

if TYPE_CHECKING:
    from overstory.adapters.postgres.record import PostgresRecord
    from overstory.ports import Embedder, Progress, Summarizer, Tokenizer


def load_settings(start: Path, folder: Path | None = None, name: str | None = None) -> Settings:
    """The settings found upward from ``start``; defaults for ``folder`` where there is no file.

    Raises:
        SettingsError: Neither a file nor a folder, or a setting is wrong.
    """
    found = configuration.find_file(start)
    if found is not None:
        return configuration.load(found)
    if folder is not None:
        return configuration.for_folder(folder, name)
    raise SettingsError("There is no overstory.toml here or above", hint="Name a folder: overstory build DIR")


def home_of(settings: Settings, environ: Mapping[str, str] = os.environ) -> Path:
    """The home folder of a deployment, made if it is missing.

    Raises:
        SettingsError: It lies inside a source, or cannot be made.
    """
    home = find_home(settings.folder, environ)
    refuse_inside(home, [Path(dataset.source) for dataset in settings.datasets])
    create_home(home)
    return home


def open_record(home: Path, environ: Mapping[str, str] = os.environ) -> PostgresRecord:
    """The record of a deployment, migrated; starts the embedded server where no other is named."""
    from overstory.adapters.database_url import database_url, sqlalchemy_url
    from overstory.adapters.postgres.record import PostgresRecord

    return PostgresRecord.open(sqlalchemy_url(database_url(environ, home), "psycopg"))


def open_dataset(
    dataset: Dataset,
    record: PostgresRecord,
    *,
    run_id: str = "",
    progress: Progress = no_progress,
    workers: int | None = None,
) -> BuildContext:
    """A dataset with the ports that its settings name.

    Args:
        dataset: Its settings.
        record: The record that it lives in.
        run_id: Names the build in the ledger.
        progress: Told how far each stage is.
        workers: Processes for the work of this machine; as many as it has processors by default.

    Raises:
        SettingsError: The dataset's name belongs to another source in this record.
    """
    from overstory.adapters.folder_source import FolderSource
    from overstory.adapters.tokenizers import OpenAITokenizer

    record.ensure_dataset(dataset.name, dataset.source)
    tokenizer = OpenAITokenizer()
    processes = workers or os.cpu_count() or 1
    return BuildContext(
        dataset=dataset,
        record=record,
        source=FolderSource(Path(dataset.source), dataset.include, dataset.exclude, dataset.max_document_bytes),
        embedder=open_embedding(dataset),
        summarizer=_summarizer(dataset, tokenizer, processes),
        tokenizer=tokenizer,
        run_id=run_id,
        workers=processes,
        progress=progress,
        clock=time.monotonic,
    )


def open_embedding(dataset: Dataset) -> Embedder:
    """The embedder that the dataset's settings name; its model is loaded when first needed."""
    from overstory.adapters.embedders import open_embedder

    chosen = dataset.embedding
    if chosen.name.startswith("openai:"):
        return open_embedder(
            chosen.name,
            base_url=chosen.base_url,
            api_key_env=chosen.api_key_env,
            dimension=chosen.dimension,
            concurrency=chosen.concurrency,
        )
    if chosen.name.startswith("fastembed:"):
        return open_embedder(chosen.name, model_folder=chosen.model_folder, allow_download=chosen.allow_download)
    return open_embedder(chosen.name)


def _summarizer(dataset: Dataset, tokenizer: Tokenizer, workers: int) -> Summarizer:
    chosen = dataset.summarizer
    if isinstance(chosen, OpenAISummarizer):
        from overstory.adapters.openai_client import OpenAISummarizer as Client

        return Client(
            base_url=chosen.base_url,
            model=chosen.model,
            tokenizer=tokenizer,
            api_key_env=chosen.api_key_env,
            concurrency=chosen.concurrency,
            prices=dataset.prices,
            timeout_seconds=chosen.timeout_seconds,
            max_attempts=chosen.max_attempts,
            prompt=chosen.prompt,
            window_tokens=chosen.window_tokens,
        )
    from overstory.extractive import ExtractiveSummarizer

    return ExtractiveSummarizer(workers=workers)


def choose_documents(ctx: BuildContext, names: Iterable[str]) -> frozenset[DocumentId]:
    """Ids of the documents that people name by path or by id.

    Raises:
        SettingsError: Neither the record nor the source has such a document.
    """
    by_name = {row.path: row.id for row in ctx.record.documents.rows(ctx.name)}
    by_name |= {document: document for document in by_name.values()}
    by_name |= {file.path: document_id(ctx.name, file.path) for file in ctx.source.files() if file.path not in by_name}
    chosen = set()
    for name in names:
        if name not in by_name:
            raise SettingsError(
                f"Dataset '{ctx.name}' has no document '{name}'", hint="Give its path within the source, or its id"
            )
        chosen.add(by_name[name])
    return frozenset(chosen)
