from __future__ import annotations

from datetime import UTC, datetime, timedelta

from overstory.building.health import Health
from overstory.building.report import StageReport
from overstory.cli.tables import drift
from overstory.cli.views import build_document, plan_document, status_document
from overstory.clustering import Drift
from overstory.identity import NodeId
from overstory.nodes import NodeKind
from overstory.planning import Action, Estimate, Plan, Price
from overstory.record import LevelHealth, Spent

NOW = datetime(2025, 7, 1, 12, tzinfo=UTC)


def health(stale_since: datetime | None = None, documents: int = 4) -> Health:
    levels = (LevelHealth(NodeKind.DOCUMENT_SUMMARY, 1, fresh=3, stale=1),)
    return Health(documents, 0, 0, levels, stale_since, {})


def test_build_with_a_problem_is_partial() -> None:
    report = StageReport("documents")
    report.fail(1, "id", "a.md: it is empty", "document: unreadable")
    document = build_document("docs", "run", [report, StageReport("leaves")], 1.23456)
    assert document.partial
    assert [(p.stage, p.reason) for p in document.problems] == [("documents", "a.md: it is empty")]
    assert document.seconds == 1.235


def test_build_with_a_note_alone_is_whole() -> None:
    report = StageReport("documents")
    report.notes.append("3 deletions were withheld")
    document = build_document("docs", "run", [report], 1.0)
    assert (document.partial, document.notes) == (False, ("3 deletions were withheld",))


def test_window_is_the_age_of_the_oldest_stale_node() -> None:
    spent = Spent(0, 0, 0, 0.0)
    assert status_document("docs", health(NOW - timedelta(hours=2)), spent, NOW).staleness_window_seconds == 7200
    assert status_document("docs", health(), spent, NOW).staleness_window_seconds == 0


def test_status_says_whether_drift_calls_for_a_reclustering() -> None:
    found = status_document(
        "docs", health(), Spent(0, 0, 0, 0.0), NOW, drift=Drift(0.0312345678, 0.12, propose=True)
    ).drift
    assert found is not None
    assert (found.misplaced, found.turnover, found.recluster) == (0.031235, 0.12, True)
    assert drift(found).endswith("misplaced 3.1%   turnover 12.0%: re-clustering is worth proposing")


def test_drift_below_the_thresholds_proposes_nothing() -> None:
    found = status_document("docs", health(), Spent(0, 0, 0, 0.0), NOW, drift=Drift(0.0, 0.1, propose=False)).drift
    assert found is not None
    assert drift(found).endswith("misplaced 0.0%   turnover 10.0%")


def test_rates_are_shares() -> None:
    document = status_document("docs", health(), Spent(7, 100, 10, 0.5), NOW)
    assert (document.staleness_rate, document.coverage, document.calls) == (0.25, 0.75, 7)


def test_planned_summaries_are_grouped_by_kind_and_cause() -> None:
    def action(kind: NodeKind, cause: str) -> Action:
        return Action(NodeId("n"), kind, 1, "a.md", cause, Price(1, 10, 5, 0.5))

    actions = [
        action(NodeKind.DOCUMENT_SUMMARY, "new"),
        action(NodeKind.SECTION_SUMMARY, "new"),
        action(NodeKind.DOCUMENT_SUMMARY, "new"),
        action(NodeKind.DOCUMENT_SUMMARY, "edited"),
    ]
    nothing = Estimate((0, 0, 0), Price(), Price(), Price())
    plan = Plan("docs", {"new": 3}, tuple(actions), nothing, {"new": 4}, 20, 0.0, 0.0, 1.0, paid=True)
    found = [(part.kind, part.cause, part.summaries, part.usd) for part in plan_document(plan).exact]
    assert found == [
        ("document_summary", "edited", 1, 0.5),
        ("document_summary", "new", 2, 1.0),
        ("section_summary", "new", 1, 0.5),
    ]
