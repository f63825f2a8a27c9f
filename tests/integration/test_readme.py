"""The Python sample of the README runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.scenarios.workbench import Workbench

README = Path(__file__).parents[2] / "README.md"


def test_python_sample_of_the_readme_runs(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = Workbench(tmp_path / "docs", database_url)
    bench.write("a.md", "The price changed to $40 on 3 July 2025.")
    bench.record.close()
    (tmp_path / "overstory.toml").write_text('[datasets.docs]\nsource = "docs"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OVERSTORY_DATABASE_URL", database_url)
    monkeypatch.setenv("OVERSTORY_HOME", str(tmp_path / "home"))
    (sample,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    exec(compile(sample, str(README), "exec"), {})
    told = capsys.readouterr().out
    assert "documents 1 []" in told
    assert "The price changed to $40" in told
    assert told.endswith("\n0.0\n")
