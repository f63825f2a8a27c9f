"""Which settings, home and record a command works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from overstory import api
from overstory import settings as configuration
from overstory.errors import SettingsError, SourceError
from overstory.settings import Dataset, Settings

if TYPE_CHECKING:
    from overstory.adapters.postgres.record import PostgresRecord


@dataclass(frozen=True, slots=True)
class Deployment:
    """Settings with the home that belongs to them."""

    settings: Settings
    home: Path

    @contextmanager
    def record(self) -> Iterator[PostgresRecord]:
        """The record, given back when the block ends."""
        record = api.open_record(self.home)
        try:
            yield record
        finally:
            record.close()


def for_build(folder: Path | None, dataset: str | None) -> tuple[Deployment, list[Dataset]]:
    """What ``build`` and ``plan`` work on: a folder, one dataset of the settings file, or all of them.

    Raises:
        SettingsError: There is neither a settings file nor a folder.
        SourceError: None of the folders is there; what some lack, their own builds say.
    """
    settings, chosen = _chosen(folder, dataset)
    missing = [error for one in chosen if (error := _missing(one)) is not None]
    if len(missing) == len(chosen):
        # Before a home is made and a database started for it.
        raise missing[0]
    return Deployment(settings, api.home_of(settings)), chosen


def _missing(dataset: Dataset) -> SourceError | None:
    """Why the dataset's folder cannot be used."""
    try:
        api.open_source(dataset).check()
    except SourceError as error:
        return error
    return None


def _chosen(folder: Path | None, dataset: str | None) -> tuple[Settings, list[Dataset]]:
    if folder is None:
        settings = api.load_settings(Path.cwd())
        return settings, [settings.dataset(dataset)] if dataset else list(settings.datasets)
    settings = _settings_of_folder(folder, dataset)
    source = str(folder.expanduser().resolve())
    matching = [d for d in settings.datasets if d.source == source and dataset in (None, d.name)]
    return settings, matching or [settings.dataset(dataset)]


def _settings_of_folder(folder: Path, dataset: str | None) -> Settings:
    """The settings file whose dataset has this source, near the folder or here; else defaults."""
    source = str(folder.expanduser().resolve())
    for start in (folder.expanduser(), Path.cwd()):
        found = configuration.find_file(start)
        if found is not None:
            settings = configuration.load(found)
            if any(d.source == source for d in settings.datasets):
                return settings
    return configuration.for_folder(folder, dataset)


@contextmanager
def for_reading(dataset: str | None) -> Iterator[tuple[Deployment, Dataset, PostgresRecord]]:
    """What ``search`` and ``show`` work on: a dataset of the settings file, or of the user's own record.

    Raises:
        SettingsError: There is no such dataset, or there are several and none was named.
    """
    with for_overview(dataset) as (deployment, chosen, record):
        # One of several has to be named.
        yield deployment, chosen[0] if len(chosen) == 1 else deployment.settings.dataset(dataset), record


@contextmanager
def for_overview(dataset: str | None) -> Iterator[tuple[Deployment, list[Dataset], PostgresRecord]]:
    """What ``status`` works on: as for reading, but all datasets where none is named.

    Raises:
        SettingsError: There is no such dataset.
    """
    found = configuration.find_file(Path.cwd())
    if found is not None:
        settings = configuration.load(found)
        deployment = Deployment(settings, api.home_of(settings))
        chosen = [settings.dataset(dataset)] if dataset else list(settings.datasets)
        with deployment.record() as record:
            yield deployment, chosen, record
        return
    deployment = Deployment(Settings(datasets=()), api.home_of(Settings(datasets=())))
    with deployment.record() as record:
        settings = _recorded(record, dataset)
        yield Deployment(settings, deployment.home), list(settings.datasets), record


def _recorded(record: PostgresRecord, dataset: str | None) -> Settings:
    """Default settings for the datasets that were built from folders without a settings file."""
    known = record.datasets()
    if not known:
        raise SettingsError("Nothing has been built yet", hint="Build a folder first: overstory build DIR")
    wanted = [(name, source) for name, source in known if dataset in (None, name)]
    if not wanted:
        names = ", ".join(name for name, _ in known)
        raise SettingsError(f"There is no dataset '{dataset}'", hint=f"Known datasets: {names}")
    return Settings(datasets=tuple(configuration.for_folder(Path(s), n).datasets[0] for n, s in wanted))
