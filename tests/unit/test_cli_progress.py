from __future__ import annotations

import pytest

from overstory.cli.progress import Bars, Notice, remaining


def test_without_a_terminal_each_stage_is_a_line_when_it_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    with Bars() as bars:
        bars("document_summaries", 1, 1200)
        bars("document_summaries", 1200, 1200)
        bars("document_summaries", 1200, 1200)
        bars("leaves", 0, 0)
    assert capsys.readouterr() == ("", "document summaries: 1,200 done\n")


def test_without_a_stage_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with Bars():
        pass
    assert capsys.readouterr() == ("", "")


def test_without_a_terminal_a_notice_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Notice() as notice:
        notice("Starting Dagster")
        notice(None)
        notice("Ending Dagster")
    assert capsys.readouterr() == ("", "Starting Dagster …\nEnding Dagster …\n")


@pytest.mark.parametrize(
    ("done", "total", "seconds", "said"),
    [
        (50, 100, 10.0, "about 10 s left"),
        (1000, 10_000, 60.0, "about 9 min left"),
        (50, 100, 2.0, ""),
        (1, 100, 10.0, ""),
        (100, 100, 10.0, ""),
        (0, None, 10.0, ""),
    ],
)
def test_rest_is_told_once_the_rate_is_known(done: int, total: int | None, seconds: float, said: str) -> None:
    assert remaining(done, total, seconds) == said
