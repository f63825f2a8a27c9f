"""The settings of a deployment: one ``overstory.toml``, validated when it is loaded.

Every threshold of the product stands here with its source; nothing is inline elsewhere.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from overstory.errors import SettingsError
from overstory.patterns import EVERYTHING, flaw
from overstory.prompts import PromptTemplate
from overstory.setting_problems import first_problem
from overstory.setting_values import Address, Folder

FILE_NAME = "overstory.toml"

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,47}$")]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Chunking(_Section):
    """How documents are cut."""

    leaf_tokens: int = Field(256, ge=32, le=2048)
    """Tokens of a leaf at most (design: decision 19)."""
    overlap_tokens: int = Field(0, ge=0, le=512)
    section_tokens: int = Field(4000, ge=500, le=32_000)
    """Documents above it get section summaries of about this many tokens each."""

    @field_validator("overlap_tokens")
    @classmethod
    def _overlap_below_half(cls, value: int, info: Any) -> int:
        if value * 2 > info.data.get("leaf_tokens", 256):
            raise ValueError("must be at most half of leaf_tokens")
        return value


class Summaries(_Section):
    """Which summaries are made, and how long they are."""

    chunk: bool = False
    """A summary for each leaf, as a search proxy (seeds: Dify's Summary Index)."""
    chunk_tokens: int = Field(60, ge=16, le=1024)
    section_tokens: int = Field(220, ge=32, le=2048)
    document_tokens: int = Field(220, ge=32, le=2048)
    """Target of a document summary (seeds: the chapter)."""
    cluster_tokens: int = Field(380, ge=32, le=4096)
    """Target of a cluster summary (seeds: the chapter)."""
    growth: float = Field(2.0, ge=1.0, le=4.0)
    """A target may grow with the number of distinct facts, to at most this multiple."""
    facts_per_target: int = Field(20, ge=1)
    """Distinct facts that fit the plain target; each one more adds ``tokens_per_fact``."""
    tokens_per_fact: int = Field(6, ge=0, le=64)


class ExtractiveSummarizer(_Section):
    """The free, private, deterministic default: sentences of the source."""

    kind: Literal["extractive"] = "extractive"


class OpenAISummarizer(_Section):
    """Any endpoint that speaks the OpenAI chat protocol."""

    kind: Literal["openai"]
    model: str = Field(min_length=1, pattern=r"\S")
    base_url: Address = "https://api.openai.com/v1"
    api_key_env: str = Field("OPENAI_API_KEY", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Name of the environment variable that holds the key; the key itself never stands in a file."""
    concurrency: int = Field(64, ge=1, le=1024)
    """Calls in flight at most (seeds: the chapter's 64)."""
    timeout_seconds: float = Field(60.0, gt=0, le=3600)
    max_attempts: int = Field(5, ge=1, le=20)
    window_tokens: int = Field(16_000, ge=1_000)
    """The model's context window; larger requests are split and summarized in two passes."""
    requests_per_minute: float | None = Field(None, gt=0)
    tokens_per_minute: float | None = Field(None, gt=0)
    """Pace of the calls, as an account's limits ask for it; without them, as fast as ``concurrency`` lets them come."""
    seed: int | None = None
    """Sent along where the endpoint knows one; part of the recipe."""
    prompt: str | None = None
    """Replaces the built-in prompt; placeholders are checked at load."""

    @field_validator("prompt")
    @classmethod
    def _known_placeholders(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                PromptTemplate(value)
            except SettingsError as error:
                raise ValueError(str(error)) from error
        return value


class Clusters(_Section):
    """How document summaries are grouped (source and measurements: docs/decisions/0004-clusters.md)."""

    target_size: int = Field(20, ge=3, le=100)
    mean_memberships: float = Field(1.5, ge=1.0, le=2.5)
    max_level: int = Field(2, ge=2, le=6)
    """2 for clusters of documents only; 3 and above add clusters of clusters."""


class Prices(_Section):
    """What the endpoints charge, in US dollars a million tokens (defaults: the chapter's small model)."""

    usd_per_mtok_in: float = Field(0.25, ge=0)
    usd_per_mtok_out: float = Field(1.25, ge=0)
    usd_per_mtok_embedding: float = Field(0.02, ge=0)
    seconds_per_call: float = Field(2.0, gt=0)
    """For the minutes in a plan (the chapter: two seconds an edit)."""


class Budget(_Section):
    """A limit per run: it stops a build before it is passed; the next build goes on with as much again."""

    usd: float | None = Field(None, ge=0)


class Embedding(_Section):
    """Which embedder, and what it needs."""

    name: str = Field("wordllama", pattern=r"^(wordllama|fastembed:.+|openai:.+)$")
    base_url: Address = "https://api.openai.com/v1"
    api_key_env: str = Field("OPENAI_API_KEY", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    dimension: int | None = Field(None, ge=8, le=4096)
    """Only for ``openai:``: the number of dimensions to ask for."""
    model_folder: str | None = None
    """Only for ``fastembed:``: a folder that holds the model's files."""
    allow_download: bool = False
    """Only for ``fastembed:``: whether a missing model may be fetched."""
    concurrency: int = Field(8, ge=1, le=256)


class Deletions(_Section):
    """How many documents may vanish from the source in one scan before their deletion is withheld."""

    max_share: float = Field(0.5, ge=0, le=1)
    """Of the known documents; a source that lists nothing at all withholds every deletion."""
    min_documents: int = Field(20, ge=1)
    """Fewer are deleted whatever their share is."""


class Retrieval(_Section):
    """Defaults of a search."""

    leaves: int = Field(6, ge=0, le=100)
    summaries: int = Field(2, ge=0, le=100)
    """Slots by level (seeds: the chapter's six leaves plus two summaries)."""
    semantic_weight: float = Field(0.5, ge=0, le=10)
    """Of the ranking by meaning, where the one by words counts 1 (docs/decisions/0008-search.md)."""
    language: str = Field("english", pattern=r"^[a-z_]+$")
    """Text search configuration of Postgres; ``simple`` for languages without one."""


class Dataset(_Section):
    """A corpus with its settings."""

    name: Name
    source: Folder
    """Folder of the documents; relative paths start at the settings file."""
    relative_source: str | None = Field(None, exclude=True)
    """The source as the file spells it, where that is a relative path: such a folder moves along with the file."""
    include: tuple[str, ...] = Field((EVERYTHING,), min_length=1)
    exclude: tuple[str, ...] = ()
    """Which files are documents: patterns as in a ``.gitignore``, from the folder of the documents on.

    ``*.md`` and ``drafts/`` are at any depth; a slash before or within a pattern anchors it: ``/notes.md``,
    ``docs/*.md``. ``private/**``, ``/private/`` and ``private/*`` are all that is in the folder ``private``, its
    subfolders too, ``**/private/**`` in any folder of that name. A ``!`` before a pattern takes out again what an
    earlier one of the row has chosen. ``exclude`` wins over ``include``. A build notes patterns that match nothing.
    """
    max_document_bytes: int = Field(50_000_000, ge=1)
    deletions: Deletions = Deletions()
    chunking: Chunking = Chunking()
    embedding: Embedding = Embedding()
    summarizer: ExtractiveSummarizer | OpenAISummarizer = Field(default=ExtractiveSummarizer(), discriminator="kind")
    summaries: Summaries = Summaries()
    clusters: Clusters = Clusters()
    prices: Prices = Prices()
    budget: Budget = Budget()
    retrieval: Retrieval = Retrieval()

    @field_validator("include", "exclude")
    @classmethod
    def _sound_patterns(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for wrong in filter(None, map(flaw, value)):
            raise ValueError(wrong)
        return value


class Settings(_Section):
    """All datasets of a deployment, and where their settings came from."""

    datasets: tuple[Dataset, ...]
    folder: Path | None = None
    """The folder of ``overstory.toml``; None when there is no file."""

    def dataset(self, name: str | None) -> Dataset:
        """The dataset called ``name``, or the only one when ``name`` is None.

        Raises:
            SettingsError: There is no such dataset, or several to choose from.
        """
        known = ", ".join(d.name for d in self.datasets) or "none"
        if name is None and len(self.datasets) == 1:
            return self.datasets[0]
        for dataset in self.datasets:
            if dataset.name == name:
                return dataset
        if name is None:
            raise SettingsError("No dataset was named", hint=f"Choose one with --dataset: {known}")
        raise SettingsError(f"There is no dataset '{name}'", hint=f"Known datasets: {known}", dataset=name)


def find_file(start: Path) -> Path | None:
    """The nearest ``overstory.toml`` in ``start`` or a folder above it."""
    for folder in (start.resolve(), *start.resolve().parents):
        candidate = folder / FILE_NAME
        # A folder that is closed to this user is for others: what is above it may still be ours.
        with suppress(PermissionError):
            if candidate.is_file():
                return candidate
    return None


def load(path: Path) -> Settings:
    """The settings in the file at ``path``.

    Raises:
        SettingsError: The file cannot be read, is not TOML, or has an unknown, null or wrong key (named).
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SettingsError(
            f"The settings file {path} cannot be read: {error.strerror}",
            hint="Check its path and permissions",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"The settings file {path} is not TOML: {error}", hint="Mend that line") from error
    except RecursionError as error:
        raise SettingsError(f"The settings file {path} is nested too deeply", hint="It needs three levels") from error
    return parse(document, folder=path.resolve().parent)


def parse(document: Mapping[str, Any], *, folder: Path | None) -> Settings:
    """The settings in a parsed document of the form ``{"datasets": {name: {...}}}``.

    Raises:
        SettingsError: An unknown, null or wrong key, named with its path.
    """
    unknown = sorted(set(document) - {"datasets"})
    if unknown:
        raise SettingsError(f"Unknown setting '{unknown[0]}'", hint="The top level holds [datasets.NAME] tables only")
    tables = document.get("datasets")
    if not isinstance(tables, Mapping) or not tables:
        raise SettingsError("The settings name no dataset", hint="Add a table [datasets.NAME] with a source")
    return Settings(datasets=tuple(_dataset(n, t, folder) for n, t in tables.items()), folder=folder)


def _dataset(name: str, table: object, folder: Path | None) -> Dataset:
    where = f"datasets.{name}"
    if not isinstance(table, Mapping):
        raise SettingsError(f"Setting '{where}' must be a table", hint=f"Write [{where}]")
    _refuse_null(table, where)
    if "name" in table:
        raise SettingsError(f"Unknown setting '{where}.name'", hint="The name stands in the table's heading")
    if "relative_source" in table:
        raise SettingsError(f"Unknown setting '{where}.relative_source'", hint="A source may be a relative path")
    try:
        dataset = Dataset.model_validate(_tuples({"name": name, **table}))
    except ValidationError as error:
        raise SettingsError(first_problem(error, where, Dataset), hint="See README.md, Settings") from error
    if folder is None:
        return dataset
    written = Path(dataset.source).expanduser()
    relative = None if written.is_absolute() else dataset.source
    return dataset.model_copy(update={"source": str((folder / written).resolve()), "relative_source": relative})


def _refuse_null(table: Mapping[str, Any], where: str) -> None:
    for key, value in table.items():
        if value is None:
            raise SettingsError(f"Setting '{where}.{key}' is null", hint="Give it a value or leave it out")
        if isinstance(value, Mapping):
            _refuse_null(value, f"{where}.{key}")


def _tuples(table: Mapping[str, Any]) -> dict[str, Any]:
    """TOML arrays as the tuples that frozen settings hold; a summarizer without a kind is the default one."""
    result = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    if result.get("summarizer") == {}:
        del result["summarizer"]
    return result


def for_folder(folder: Path, name: str | None = None) -> Settings:
    """Default settings for a folder without a file; the dataset is called after the folder."""
    resolved = folder.expanduser().resolve()
    derived = re.sub(r"[^a-z0-9]+", "_", resolved.name.lower()).strip("_")[:40] or "documents"
    derived = derived if derived[0].isalpha() else f"d_{derived}"
    return parse({"datasets": {name or derived: {"source": str(resolved)}}}, folder=None)
