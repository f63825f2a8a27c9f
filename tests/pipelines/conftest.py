"""A deployment of the test's own: settings, home, and a database for index and Dagster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest

from overstory import settings as configuration
from overstory.adapters.database_url import VARIABLE
from overstory.building.report import StageReport
from overstory.home import HOME_VARIABLE, create_home
from overstory.settings import Settings
from pipelines import instance as instances
from pipelines import launch
from tests.llm_server import llm_server

__all__ = ["llm_server"]

DATASET = "docs"


def plan(number: int, price: int) -> str:
    """A document of two leaves, so that its summary takes a call."""
    limits = "\n\n".join(
        f"Step {step} of plan {number} allows {number * 100 + step} requests a minute, and support answers within "
        f"{number + step} hours on working days. Invoices of this step are due after {step + 10} days."
        for step in range(1, 9)
    )
    return f"# Plan {number}\n\nThe plan costs ${price} a seat since 2025-0{number}-01.\n\n{limits}\n"


TEXTS = {f"plans/plan-{number}.md": plan(number, 40 + number) for number in range(1, 9)}


@dataclass(slots=True)
class Site:
    """A deployment in a temporary folder."""

    folder: Path
    tables: dict[str, dict[str, object]]

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def source(self) -> Path:
        return self.folder / DATASET

    @property
    def settings(self) -> Settings:
        return configuration.parse({"datasets": self.tables}, folder=self.folder).model_copy(update={"folder": None})

    def write(self, texts: Mapping[str, str | bytes], dataset: str = DATASET) -> None:
        for path, text in texts.items():
            file = self.folder / dataset / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text if isinstance(text, bytes) else text.encode())

    def build(self, dataset: str = DATASET, **options: object) -> launch.Built:
        return launch.build(self.settings, dataset, home=self.home, **options)  # type: ignore[arg-type]

    def reports(self, built: launch.Built) -> dict[str, StageReport]:
        return {report.stage: report for report in built.reports}


@pytest.fixture
def site(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A deployment whose dataset ``docs`` holds eight small plans."""
    made = Site(tmp_path, {DATASET: {"source": DATASET}})
    create_home(made.home)
    made.write(TEXTS)
    monkeypatch.setenv(HOME_VARIABLE, str(made.home))
    monkeypatch.setenv(VARIABLE, database_url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    return made


@pytest.fixture
def instance(site: Site) -> Iterator[dg.DagsterInstance]:
    """Dagster's instance of the deployment."""
    with instances.opened(site.settings, site.home) as opened:
        yield opened
