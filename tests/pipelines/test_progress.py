"""Log lines of a run: few, and only for what takes long."""

from __future__ import annotations

from pipelines.progress import LoggedProgress


def lines(ticks: list[tuple[float, int]], total: int = 100) -> list[str]:
    written: list[str] = []
    now = [0.0]
    progress = LoggedProgress(written.append, lambda: now[0])
    for at, done in ticks:
        now[0] = at
        progress("leaves", done, total)
    return written


def test_short_stage_writes_no_line() -> None:
    assert lines([(0.0, 0), (1.0, 50), (4.9, 100)]) == []


def test_line_says_how_far_the_stage_is() -> None:
    assert lines([(0.0, 0), (5.0, 40)]) == ["leaves: 40 of 100 (40%)"]


def test_lines_are_five_seconds_apart() -> None:
    assert len(lines([(second / 10, second) for second in range(100)])) == 1


def test_slow_stage_writes_a_line_every_ten_seconds() -> None:
    assert len(lines([(float(second), 1) for second in range(31)])) == 3
