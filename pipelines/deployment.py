"""Which settings and which home the processes of Dagster work with.

``OVERSTORY_SETTINGS`` names the settings: an ``overstory.toml``, or the JSON file that ``overstory build DIR`` and
``overstory dev DIR`` write for a folder without one. Where it is not set, ``overstory.toml`` is looked for upward
from the working folder, as the command line does.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path

from overstory import api
from overstory import settings as configuration
from overstory.errors import SettingsError
from overstory.home import dagster_home
from overstory.settings import FILE_NAME, Settings

SETTINGS_VARIABLE = "OVERSTORY_SETTINGS"


def read_settings(environ: Mapping[str, str] = os.environ, start: Path | None = None) -> Settings:
    """The settings that the environment names, else those found upward from the working folder.

    Raises:
        SettingsError: There are none, or one of them is wrong.
    """
    named = environ.get(SETTINGS_VARIABLE, "").strip()
    if not named:
        return api.load_settings(start or Path.cwd())
    path = Path(named)
    if path.suffix != ".json":
        return configuration.load(path)
    try:
        return configuration.parse(json.loads(path.read_text(encoding="utf-8")), folder=None)
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"{SETTINGS_VARIABLE} names {path}, which cannot be read", hint="Start again with 'overstory dev'"
        ) from error


def settings_or_nothing(environ: Mapping[str, str] = os.environ, start: Path | None = None) -> Settings:
    """The settings; without datasets, and with one line in the log, where Dagster was started beside them.

    Raises:
        SettingsError: One of the settings is wrong.
    """
    place = start or Path.cwd()
    if not environ.get(SETTINGS_VARIABLE) and configuration.find_file(place) is None:
        logging.getLogger("dagster").warning(
            "There is no %s in %s or above it. Start the UI with 'overstory dev DIR'", FILE_NAME, place
        )
        return Settings(datasets=())
    return read_settings(environ, place)


def settings_file(settings: Settings, home: Path) -> Path:
    """The file that says these settings: their ``overstory.toml``, or a JSON file written into the home.

    The name of a written file depends on what it says, so that it never changes under a running process.
    """
    if settings.folder is not None:
        return settings.folder / FILE_NAME
    tables = {
        dataset.name: dataset.model_dump(mode="json", exclude={"name"}, exclude_none=True)
        for dataset in settings.datasets
    }
    text = json.dumps({"datasets": tables}, indent=1, sort_keys=True)
    path = dagster_home(home) / f"settings-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    if not path.exists():
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    return path
