from __future__ import annotations

from overstory.building.report import StageReport, Tally
from overstory.nodes import NodeKind
from overstory.ports import Call


def call(usd: float) -> Call:
    return Call("node", NodeKind.DOCUMENT_SUMMARY, "new", "model", 100, 10, usd, 0.5, "ok")


def test_total_is_the_sum_over_shards() -> None:
    report = StageReport("leaves")
    report.shards[3].written += 2
    report.shards[7].written += 1
    report.shards[7].deleted += 4
    assert report.total == Tally(written=3, deleted=4)


def test_total_of_nothing_is_nothing() -> None:
    assert StageReport("leaves").total == Tally()


def test_total_does_not_change_what_it_sums() -> None:
    report = StageReport("leaves")
    report.shards[3].written = 2
    assert (report.total.written, report.total.written) == (2, 2)


def test_calls_are_counted_with_tokens_price_and_time() -> None:
    tally = Tally()
    tally.add_calls((call(0.5), call(0.25)))
    assert (tally.calls, tally.tokens_in, tally.tokens_out, tally.usd, tally.call_seconds) == (2, 200, 20, 0.75, 1.0)


def test_failure_is_counted_in_its_shard_and_keeps_its_reason() -> None:
    report = StageReport("documents")
    report.fail(5, "id", "a.md: it is empty", "document: unreadable")
    (problem,) = report.problems
    assert report.shards[5].failed == 1
    assert (problem.subject, problem.reason, problem.kind) == ("id", "a.md: it is empty", "document: unreadable")
