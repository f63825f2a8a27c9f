"""Where Overstory keeps what it writes: the home folder and the folders in it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from overstory.errors import SettingsError

HOME_VARIABLE = "OVERSTORY_HOME"
FOLDER_NAME = ".overstory"


def find_home(settings_dir: Path | None, environ: Mapping[str, str]) -> Path:
    """The absolute path of the home folder, which need not exist yet.

    ``OVERSTORY_HOME`` wins; else ``.overstory`` in ``settings_dir``, the folder of the settings file; without
    a settings file the data folder of the user (XDG base directory specification).

    Raises:
        SettingsError: No variable tells where the data of the user belongs.
    """
    if chosen := environ.get(HOME_VARIABLE, "").strip():
        return _absolute(chosen, environ)
    if settings_dir is not None:
        return settings_dir.absolute() / FOLDER_NAME
    return _user_data_folder(environ) / "overstory"


def _user_data_folder(environ: Mapping[str, str]) -> Path:
    # The specification asks to ignore a relative XDG_DATA_HOME.
    if (data := environ.get("XDG_DATA_HOME", "")) and Path(data).is_absolute():
        return Path(data)
    return _user_home(environ) / ".local" / "share"


def _user_home(environ: Mapping[str, str]) -> Path:
    user_home = environ.get("HOME", "")
    if not user_home:
        raise SettingsError(
            "No folder is known to keep the index in: HOME is not set", hint=f"Set {HOME_VARIABLE} to a folder"
        )
    return Path(user_home).absolute()


def _absolute(chosen: str, environ: Mapping[str, str]) -> Path:
    path = Path(chosen)
    if path.parts[0] == "~":
        return _user_home(environ).joinpath(*path.parts[1:])
    return path.absolute()


def refuse_inside(home: Path, sources: Iterable[Path]) -> None:
    """Make sure that the home is in no source folder, where it would be indexed itself.

    Raises:
        SettingsError: The home is a source folder or lies in one, symbolic links resolved.
    """
    place = home.resolve()
    for source in sources:
        if place.is_relative_to(source.resolve()):
            raise SettingsError(
                f"The home folder {home} lies inside the source folder {source}",
                hint=f"Set {HOME_VARIABLE} to a folder outside of every source",
                home=home,
                source=source,
            )


def dagster_home(home: Path) -> Path:
    """Where Dagster keeps its settings and what runs leave behind."""
    return home / "dagster"


def log_folder(home: Path) -> Path:
    """Where log files are written."""
    return home / "logs"


def create_home(home: Path) -> None:
    """Create the home and its folders where they are missing; change nothing that exists.

    Nobody but the owner reads them. A home that root creates lets others pass through, not look around
    (0711): the database in it runs as a user of its own, since Postgres refuses root.

    Raises:
        SettingsError: A folder cannot be created, or a file is in its place.
    """
    try:
        if not home.is_dir():
            home.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
            (home / ".gitignore").write_text("*\n", encoding="utf-8")
        for folder in (dagster_home(home), log_folder(home)):
            _make_private(folder, home)
    except OSError as error:
        raise SettingsError(
            f"The home folder {home} cannot be created: {error.strerror}",
            hint=f"Make it writable or set {HOME_VARIABLE} to a folder that is",
            home=home,
        ) from error


def _make_private(folder: Path, home: Path) -> None:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return
    if os.geteuid() == 0:
        # Root worked in a user's home: the user has to be able to go on.
        os.chown(folder, home.stat().st_uid, home.stat().st_gid)
