"""What Dagster adds to a build in which nothing changed: 64 shards, 6 assets, one run.

    python -m benchmarks.dagster_overhead

Each way of storing events builds the same small folder in processes of its own, on the embedded server; the first
build of a way is not counted. Three builds of each are printed: seconds of the wall clock, and of this process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from overstory import settings as configuration
from overstory.adapters.embedded_postgres import remove
from overstory.home import HOME_VARIABLE, create_home

REPEATS = 3
OURS = "module: pipelines.storage\n  class: ShardEventLogStorage"
DAGSTERS = "module: dagster_postgres.event_log\n  class: PostgresEventLogStorage"

WAYS = {
    "default settings, Dagster's storage": (
        {"DAGSTER_EVENT_BATCH_SIZE": "0", "DAGSTER_EMIT_PARTITION_SUBSET_IN_PLANNED_EVENTS": "0"},
        True,
    ),
    "both variables, Dagster's storage": ({}, True),
    "both variables, batches of checks and announcements": ({}, False),
}
"""By name: the environment, and whether Dagster's own event storage is used."""


def build(home: Path, source: Path, dagsters: bool) -> None:
    """Build once in this process and print what it took."""
    begun = time.perf_counter()
    from pipelines import instance, launch

    imported = time.perf_counter()
    if dagsters:
        instance.CONFIGURATION = instance.CONFIGURATION.replace(OURS, DAGSTERS)
    launch.build(configuration.for_folder(source), "docs", home=home)
    built = time.perf_counter()
    sys.stdout.write(f"{imported - begun:.2f} {built - imported:.2f} {time.process_time():.2f}\n")


def main() -> None:
    """Measure all ways."""
    with tempfile.TemporaryDirectory(prefix="overstory-benchmark-") as folder:
        # Root's server runs as another user, which must be able to pass.
        Path(folder).chmod(0o711)
        home, source = Path(folder) / "home", Path(folder) / "docs"
        source.mkdir()
        for number in range(8):
            (source / f"{number}.md").write_text(
                f"# Plan {number}\n\nIt costs ${number + 1} a seat.\n", encoding="utf-8"
            )
        create_home(home)
        for name, (environ, dagsters) in WAYS.items():
            sys.stdout.write(f"{name}\n  import  build  cpu (seconds)\n")
            for repeat in range(REPEATS + 1):
                output = _run(home, source, environ, dagsters)
                if repeat:
                    sys.stdout.write(f"  {output}")
        remove(home)


def _run(home: Path, source: Path, environ: dict[str, str], dagsters: bool) -> str:
    command = [sys.executable, "-m", "benchmarks.dagster_overhead", str(home), str(source), str(int(dagsters))]
    variables = {**os.environ, HOME_VARIABLE: str(home), **environ}
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    if len(sys.argv) > 1:
        build(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "1")
    else:
        main()
