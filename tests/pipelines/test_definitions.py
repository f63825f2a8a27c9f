"""The asset graph itself: what people and other programs see of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from overstory import settings as configuration
from pipelines.datasets import build_definitions
from pipelines.deployment import SETTINGS_VARIABLE, read_settings, settings_file, settings_or_nothing
from pipelines.jobs import ALL_SHARDS, CAUSE_TAG

ROOT = Path(__file__).parents[2]

SETTINGS = configuration.parse({"datasets": {"docs": {"source": "docs"}, "wiki": {"source": "wiki"}}}, folder=None)


@pytest.fixture(scope="module")
def definitions() -> dg.Definitions:
    return build_definitions(SETTINGS)


def picture(definitions: dg.Definitions) -> dict[str, object]:
    repository = definitions.get_repository_def()
    graph = repository.asset_graph
    return {
        "assets": {
            key.to_user_string(): {
                "group": node.group_name,
                "after": sorted(parent.to_user_string() for parent in node.parent_keys),
                "partitions": len(node.partitions_def.get_partition_keys()) if node.partitions_def else 0,
                "checks": sorted(check.name for check in node.check_keys),
                "kinds": sorted(node.kinds),
                "owners": sorted(node.owners),
            }
            for key in sorted(graph.get_all_asset_keys())
            for node in [graph.get(key)]
        },
        "jobs": sorted(name for name in repository.job_names if not name.startswith("__")),
        "schedules": {s.name: [s.cron_schedule, s.default_status.value] for s in repository.schedule_defs},
        "sensors": [sensor.name for sensor in repository.sensor_defs],
    }


def test_definitions_are_those_recorded(definitions: dg.Definitions, check_golden: Callable[[str, str], None]) -> None:
    check_golden("definitions.json", json.dumps(picture(definitions), indent=2) + "\n")


def test_every_asset_is_described_in_three_lines(definitions: dg.Definitions) -> None:
    graph = definitions.get_repository_def().asset_graph
    for node in (graph.get(key) for key in graph.get_all_asset_keys()):
        assert node.description
        assert len(node.description.splitlines()) <= 3


def test_case_62_nightly_schedule_asks_for_one_run_over_all_shards(definitions: dg.Definitions) -> None:
    schedule = definitions.get_repository_def().get_schedule_def("docs__nightly")
    data = schedule.evaluate_tick(dg.build_schedule_context())
    assert [
        (request.tags[CAUSE_TAG], ALL_SHARDS.items() <= request.tags.items()) for request in data.run_requests or []
    ] == [("schedule", True)]


def test_default_configuration_of_a_job_runs_as_it_is(definitions: dg.Definitions) -> None:
    job = definitions.resolve_job_def("docs__build_changed")
    assert dg.validate_run_config(job)["resources"]["deployment"]["config"] == {"documents": []}


def test_definitions_load_nothing_heavy(tmp_path: Path) -> None:
    script = "import sys, pipelines.definitions; print(*{name.split('.')[0] for name in sys.modules})"
    file = settings_file(SETTINGS, _home(tmp_path))
    environ = {**os.environ, SETTINGS_VARIABLE: str(file), "PYTHONPATH": str(ROOT)}
    loaded = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], env=environ, capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {
        "sklearn",
        "pandas",
        "numpy",
        "wordllama",
        "great_expectations",
        "openai",
        "pyarrow",
        "psycopg",
    }
    assert heavy & set(loaded) == set()


def test_batching_is_on_before_dagster_loads(tmp_path: Path) -> None:
    script = (
        "import pipelines, os, sys; assert 'dagster' not in sys.modules; print(os.environ['DAGSTER_EVENT_BATCH_SIZE'])"
    )
    environ = {name: value for name, value in os.environ.items() if not name.startswith("DAGSTER_")}
    environ["PYTHONPATH"] = str(ROOT)
    found = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "1000"


def test_settings_of_a_folder_come_back_from_their_file(tmp_path: Path) -> None:
    settings = configuration.for_folder(tmp_path)
    file = settings_file(settings, _home(tmp_path))
    assert read_settings({SETTINGS_VARIABLE: str(file)}) == settings


def test_written_settings_never_change_under_a_process(tmp_path: Path) -> None:
    first = settings_file(SETTINGS, _home(tmp_path))
    second = settings_file(configuration.for_folder(tmp_path), tmp_path / "home")
    assert first != second
    assert first.exists()


def test_settings_file_of_a_deployment_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "overstory.toml").write_text('[datasets.docs]\nsource = "docs"\n')
    settings = read_settings({}, tmp_path)
    assert settings_file(settings, tmp_path / "home") == tmp_path / "overstory.toml"


def test_without_settings_one_line_says_what_to_do(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert settings_or_nothing({}, tmp_path).datasets == ()
    assert [record.getMessage().endswith("Start the UI with 'overstory dev DIR'") for record in caplog.records] == [
        True
    ]


def _home(folder: Path) -> Path:
    (folder / "home" / "dagster").mkdir(parents=True)
    return folder / "home"
