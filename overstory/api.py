"""Puts a dataset's ports together: the one place where core and adapters meet, for the CLI, Dagster and programs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from overstory import settings as configuration
from overstory.building.context import BuildContext, no_progress
from overstory.errors import SettingsError
from overstory.home import create_home, find_home, refuse_inside
from overstory.identity import DocumentId, with_parameters
from overstory.relocation import settle_source
from overstory.settings import Dataset, Embedding, OpenAISummarizer, Settings
from overstory.sizes import parameters

if TYPE_CHECKING:
    from overstory.adapters.folder_source import FolderSource
    from overstory.adapters.postgres.inspection import PostgresInspection
    from overstory.adapters.postgres.record import PostgresRecord
    from overstory.adapters.postgres.traces import PostgresTexts
    from overstory.building.health import Health
    from overstory.building.report import StageReport
    from overstory.planning import Plan
    from overstory.ports import Call, Embedder, Progress, Summarizer, Tokenizer
    from overstory.retrieval.collapsed import SearchContext
    from overstory.retrieval.hits import SearchResult
    from overstory.retrieval.serving import ServingEmbedders
    from overstory.retrieval.view import NodeView
    from overstory.tree import Recipes


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


def open_texts(record: PostgresRecord, *, own_server: bool = False) -> PostgresTexts:
    """Every place of the record's database that may hold text, for a deletion proof.

    Args:
        record: In the database.
        own_server: Whether the server is the embedded one, whose log of changes may be cleared.
    """
    from overstory.adapters.postgres.traces import PostgresTexts

    return PostgresTexts(record.db, own_server=own_server)


def open_inspection(record: PostgresRecord) -> PostgresInspection:
    """All that a record's stores hold, row by row, for ``verify``."""
    from overstory.adapters.postgres.inspection import PostgresInspection

    return PostgresInspection(record.db)


def embedded_data(home: Path, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The data folder of the embedded server; None where another server is named, or none was ever started."""
    from overstory.adapters.database_url import VARIABLE
    from overstory.adapters.embedded_postgres.layout import find_layout

    if environ.get(VARIABLE, "").strip():
        return None
    layout = find_layout(home)
    return layout.data if layout else None


def open_dataset(
    dataset: Dataset,
    record: PostgresRecord,
    *,
    run_id: str = "",
    progress: Progress = no_progress,
    workers: int | None = None,
    moved: bool = False,
) -> BuildContext:
    """A dataset with the ports that its settings name.

    Args:
        dataset: Its settings.
        record: The record that it lives in.
        run_id: Names the build in the ledger.
        progress: Told how far each stage is.
        workers: Processes for the work of this machine; as many as it has processors by default.
        moved: Take the folder of the settings for the one that the dataset is built from, wherever that was.

    Raises:
        SettingsError: The record has the dataset from another folder.
    """
    from overstory.adapters.extractors import LibraryExtractor
    from overstory.adapters.tokenizers import OpenAITokenizer

    if not moved:
        settle_source(record, dataset)
    tokenizer = OpenAITokenizer()
    processes = workers or os.cpu_count() or 1
    return BuildContext(
        dataset=dataset,
        record=record,
        source=open_source(dataset),
        extractor=LibraryExtractor(),
        embedder=open_embedding(dataset, record, run_id=run_id),
        summarizer=_summarizer(dataset, tokenizer, processes),
        tokenizer=tokenizer,
        run_id=run_id,
        workers=processes,
        progress=progress,
        clock=time.monotonic,
    )


def build(
    record: PostgresRecord, dataset: Dataset, *, documents: Iterable[str] = (), progress: Progress = no_progress
) -> list[StageReport]:
    """Bring a dataset up to date without Dagster, whose UI does not see it; returns what each stage did, in order.

    What cannot be made stands in the reports' ``problems``, and everything else is made. What was finished is kept,
    whatever ends the build: the next one goes on from there.

    Args:
        record: The record that the dataset lives in.
        dataset: Its settings.
        documents: Paths or ids of the only documents to bring up to date; all by default. Clusters above follow.
        progress: Told how far each stage is.

    Raises:
        BuildLocked: Another build holds the dataset; nothing was done.
        SettingsError: There is no such document, or the record has the dataset from another folder.
        SourceError: The dataset's folder is not there or cannot be listed.
        OverstoryError: Whatever else ended it.
    """
    from overstory.building import whole

    run_id = str(uuid4())
    with record.hold(run_id) as hold:
        hold.take(dataset.name)
        ctx = open_dataset(dataset, record, run_id=run_id, progress=progress)
        if chosen := tuple(documents):
            ctx = replace(ctx, only=choose_documents(ctx, chosen))
        return whole.build(ctx, hold)


def plan(record: PostgresRecord, dataset: Dataset, *, progress: Progress = no_progress) -> Plan:
    """What a build of the whole dataset would do now and cost; calls no model of the summarizer, writes nothing.

    Raises:
        SettingsError: The record has the dataset from another folder.
        SourceError: The dataset's folder is not there or cannot be listed.
    """
    from overstory.building.plan import plan as planned

    return planned(open_dataset(dataset, record, progress=progress))


def status(record: PostgresRecord, dataset: Dataset) -> Health:
    """How fresh every level of the index is; reads the record, not the source.

    Raises:
        SettingsError: The record has the dataset from another folder.
    """
    from overstory.building.health import examine

    return examine(open_dataset(dataset, record))


def relocate(record: PostgresRecord, dataset: Dataset) -> None:
    """Tell the record that a dataset's folder has moved to where the settings say; its documents stay what they are.

    Raises:
        BuildLocked: A build of the dataset is running.
        SettingsError: The record has no such dataset.
    """
    known = dict(record.datasets())
    if dataset.name not in known:
        names = ", ".join(f"{name} ({source})" for name, source in known.items()) or "none"
        raise SettingsError(
            f"There is no dataset '{dataset.name}' that could have moved",
            hint=f"Name it: overstory build DIR --dataset NAME --moved. Known: {names}",
        )
    if known[dataset.name] != dataset.source:
        with record.lock(dataset.name):
            record.relocate(dataset.name, dataset.source)


def open_source(dataset: Dataset) -> FolderSource:
    """The folder that a dataset's documents come from."""
    from overstory.adapters.folder_source import FolderSource

    return FolderSource(Path(dataset.source), dataset.include, dataset.exclude, dataset.max_document_bytes)


def open_embedding(
    dataset: Dataset, record: PostgresRecord | None = None, *, run_id: str = "", searching: bool = False
) -> Embedder:
    """The embedder that the dataset's settings name; its model is loaded when first needed.

    Args:
        dataset: Its settings.
        record: Recognizes the embedder, so that its hash and dimension cost no call.
        run_id: Names the build that it embeds for.
        searching: It embeds queries, nothing that is stored.
    """
    from overstory.adapters.embedders import open_embedder
    from overstory.known_embedders import Recognizable, RecognizedEmbedder

    options = _embedder_options(dataset.embedding)
    extra = {"prices": dataset.prices} if dataset.embedding.name.startswith("openai:") else {}
    embedder = open_embedder(dataset.embedding.name, **options, **extra)
    if record is None or not isinstance(embedder, Recognizable):
        return embedder
    return RecognizedEmbedder(
        embedder,
        embedder.recipe,
        {"name": dataset.embedding.name, **options},
        record.embedders,
        run_id=run_id,
        searching=searching,
        enter=partial(_enter, record, dataset.name, run_id) if run_id else None,
    )


def _enter(record: PostgresRecord, name: str, run_id: str, calls: Sequence[Call]) -> None:
    """Enter calls into the ledger, which a dataset has once it is built."""
    if record.source(name) is not None:
        record.ledger.add(name, run_id, calls)


def _embedder_options(chosen: Embedding) -> dict[str, Any]:
    """What of the settings an embedder of that kind takes."""
    if chosen.name.startswith("openai:"):
        return chosen.model_dump(include={"base_url", "api_key_env", "dimension", "concurrency"})
    if chosen.name.startswith("fastembed:"):
        return chosen.model_dump(include={"model_folder", "allow_download"})
    return {}


def search(
    record: PostgresRecord, dataset: Dataset, query: str, *, leaves: int | None = None, summaries: int | None = None
) -> SearchResult:
    """The nodes of all levels that answer a query best.

    Args:
        record: The record that the dataset lives in.
        dataset: Its settings.
        query: A question or words; of more than 8,192 characters only the beginning is asked.
        leaves: Slots for leaves; by default as the settings say.
        summaries: Slots for summaries; by default as the settings say.

    Raises:
        SettingsError: The query is empty, nothing is asked for, or the dataset has no index by its embedder.
    """
    from overstory.retrieval.collapsed import search as collapsed
    from overstory.retrieval.quota import Quota

    defaults = dataset.retrieval
    quota = Quota(
        leaves=defaults.leaves if leaves is None else leaves,
        summaries=defaults.summaries if summaries is None else summaries,
    )
    return collapsed(open_search(dataset, record), query, quota)


def open_search(dataset: Dataset, record: PostgresRecord) -> SearchContext:
    """A dataset with what is needed to search it many times."""
    from overstory.adapters.postgres.search import PostgresSearch
    from overstory.retrieval.collapsed import SearchContext

    return SearchContext(
        dataset=dataset.name,
        store=PostgresSearch(record.db),
        embedder_of=_serving(dataset, record),
        recipes=_recipes(dataset),
        chunk_recipe=_chunk_recipe(dataset),
        # Words are compared in the language that they were indexed in, until a build indexes them in another.
        language=record.leaves.language(dataset.name) or dataset.retrieval.language,
        semantic_weight=dataset.retrieval.semantic_weight,
        clock=time.monotonic,
    )


def _serving(dataset: Dataset, record: PostgresRecord) -> ServingEmbedders:
    from overstory.retrieval.serving import ServingEmbedders

    def opened(embedding: Embedding) -> Embedder:
        return open_embedding(dataset.model_copy(update={"embedding": embedding}), record, searching=True)

    return ServingEmbedders(
        dataset=dataset.name,
        named=lambda: opened(dataset.embedding),
        reopen=lambda known: opened(Embedding(**known.settings)),
        default=lambda: opened(Embedding()),
        known=record.embedders,
    )


def show(record: PostgresRecord, dataset: Dataset, node: str) -> NodeView | None:
    """The node of that id or unique beginning of one, or the summary of the document at that path; None if none.

    Raises:
        SettingsError: Several nodes' ids begin so.
    """
    from overstory.adapters.postgres.search import PostgresSearch
    from overstory.retrieval.view import Viewer

    with PostgresSearch(record.db).snapshot() as store:
        return Viewer(store, dataset.name, _recipes(dataset), _chunk_recipe(dataset)).view(node)


def _recipes(dataset: Dataset) -> Recipes:
    """By which summaries ought to be made, as ``building.summaries.recipes_of`` has it."""
    from overstory.adapters.tokenizers import OpenAITokenizer

    summarizer = _summarizer(dataset, OpenAITokenizer(), workers=1)
    return lambda kind: with_parameters(summarizer.recipe_hash(kind), parameters(kind, dataset.summaries))


def _chunk_recipe(dataset: Dataset) -> str:
    from overstory.adapters.tokenizers import OpenAITokenizer
    from overstory.building.leaves import Cutter

    return Cutter(dataset.chunking, OpenAITokenizer()).recipe


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
            requests_per_minute=chosen.requests_per_minute,
            tokens_per_minute=chosen.tokens_per_minute,
            seed=chosen.seed,
        )
    from overstory.adapters.tokenizers import OpenAITokenizer
    from overstory.extractive import ExtractiveSummarizer

    return ExtractiveSummarizer(OpenAITokenizer, workers=workers)


def choose_documents(ctx: BuildContext, names: Iterable[str]) -> frozenset[DocumentId]:
    """Ids of the documents that people name by path or by id.

    Raises:
        SettingsError: Neither the record nor the source has such a document.
    """
    from overstory.building.comparing import identify

    found = identify(ctx)
    # A new document has its id before it is built, and a run is told of it by that id.
    ids = found.known.keys() | {row.id for row in found.rows.values()}
    by_name = {row.path: row.id for row in found.missing} | {document: document for document in ids}
    by_name |= {path: row.id for path, row in found.rows.items()}
    chosen = set()
    for name in names:
        if name not in by_name:
            raise SettingsError(
                f"Dataset '{ctx.name}' has no document '{name}'", hint="Give its path within the source, or its id"
            )
        chosen.add(by_name[name])
    return frozenset(chosen)
