"""Builds through Dagster: what they do to the index, and what Dagster then knows of them."""

from __future__ import annotations

from collections import Counter

import dagster as dg
import pytest
from dagster._core.storage.partition_status_cache import get_and_update_asset_status_cache_value
from dagster._serdes import serialize_value

from overstory.errors import BuildLocked, QuotaExhausted, SettingsError
from overstory.identity import document_id, shard_key, shard_of
from pipelines import events
from pipelines.datasets import build_definitions
from pipelines.deployment import settings_file
from pipelines.jobs import build_changed_name
from pipelines.partitions import SHARD_KEYS, shards
from tests.llm_behaviors import insufficient_quota, refusal
from tests.llm_server import LLMServer
from tests.pipelines.conftest import DATASET, TEXTS, Site, plan

LEVELS = ("documents", "leaves", "document_summaries", "memberships", "cluster_summaries", "index_health")
SHARDED = ("documents", "leaves", "document_summaries", "cluster_summaries")
BROKEN = {"broken.pdf": b"\x00\x01\x02 no pdf"}


def key(level: str, dataset: str = DATASET) -> dg.AssetKey:
    return dg.AssetKey([dataset, level])


def shard(path: str) -> str:
    return shard_key(shard_of(document_id(DATASET, path)))


def materialization(instance: dg.DagsterInstance, level: str, partition: str) -> dg.AssetMaterialization:
    wanted = dg.AssetRecordsFilter(asset_key=key(level), asset_partitions=[partition])
    found = instance.fetch_materializations(wanted, limit=1).records[0].asset_materialization
    assert found is not None
    return found


def versions(instance: dg.DagsterInstance, level: str) -> dict[str, str]:
    return {k: materialization(instance, level, k).tags["dagster/data_version"] for k in SHARD_KEYS}  # type: ignore[index]


def whole(instance: dg.DagsterInstance, level: str, dataset: str = DATASET) -> dict[str, object]:
    """What the page of a level shows of the last run as a whole."""
    event = instance.get_latest_materialization_event(key(level, dataset))
    assert event is not None
    assert event.asset_materialization is not None
    found: dict[str, object] = {n: value.value for n, value in event.asset_materialization.metadata.items()}
    if level not in SHARDED:
        return found
    return {name.removeprefix(events.WHOLE): value for name, value in found.items() if name.startswith(events.WHOLE)}


def check(instance: dg.DagsterInstance, level: str, partition: str) -> dg.AssetCheckEvaluation:
    from dagster._core.event_api import PartitionKeyFilter

    history = instance.event_log_storage.get_asset_check_execution_history(
        dg.AssetCheckKey(key(level), events.CHECK), limit=1, partition_filter=PartitionKeyFilter(key=partition)
    )
    assert history[0].event is not None
    data = history[0].event.get_dagster_event().event_specific_data
    assert isinstance(data, dg.AssetCheckEvaluation)
    return data


def failed_shards(instance: dg.DagsterInstance, level: str) -> set[str]:
    status = get_and_update_asset_status_cache_value(instance, key(level), shards)
    assert status is not None
    return set(status.deserialize_failed_partition_subsets(shards).get_partition_keys())


def test_first_build_makes_every_level(site: Site) -> None:
    reports = site.reports(site.build())
    assert {name: report.total.written for name, report in reports.items()} == {
        "documents": 8,
        "leaves": 16,
        "document_summaries": 8,
        "memberships": 1,
        "cluster_summaries": 1,
    }


@pytest.mark.parametrize("level", LEVELS)
def test_level_can_be_materialized_alone_before_anything_is_built(
    level: str, site: Site, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OVERSTORY_SETTINGS", str(settings_file(site.settings, site.home)))
    job = build_definitions(site.settings).resolve_job_def(build_changed_name(DATASET))
    assert job.execute_in_process(instance=instance, asset_selection=[key(level)]).success


def test_run_without_a_partition_is_one_over_all_shards(
    site: Site, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OVERSTORY_SETTINGS", str(settings_file(site.settings, site.home)))
    job = build_definitions(site.settings).resolve_job_def(build_changed_name(DATASET))
    assert job.execute_in_process(instance=instance).success
    for level in SHARDED:
        assert instance.get_materialized_partitions(key(level)) == set(SHARD_KEYS)


def test_second_build_writes_nothing(site: Site) -> None:
    site.build()
    total = Counter[str]()
    for report in site.build().reports:
        counts = report.total
        total.update(written=counts.written, deleted=counts.deleted, failed=counts.failed, embedded=counts.embedded)
    assert total.total() == 0


def test_every_shard_is_materialized_by_one_run(site: Site, instance: dg.DagsterInstance) -> None:
    run_id = site.build().run_id
    for level in SHARDED:
        assert instance.get_materialized_partitions(key(level)) == set(SHARD_KEYS)
    assert [run.run_id for run in instance.get_runs()] == [run_id]


def test_same_content_has_the_same_data_version(site: Site, instance: dg.DagsterInstance) -> None:
    site.build()
    before = {level: versions(instance, level) for level in SHARDED}
    site.build()
    assert {level: versions(instance, level) for level in SHARDED} == before


def test_edit_changes_the_data_version_of_its_own_shard_only(site: Site, instance: dg.DagsterInstance) -> None:
    site.build()
    before = {level: versions(instance, level) for level in SHARDED}
    site.write({"plans/plan-3.md": plan(3, 99)})
    site.build()
    for level in ("documents", "leaves", "document_summaries"):
        after = versions(instance, level)
        assert {k for k in SHARD_KEYS if after[k] != before[level][k]} == {shard("plans/plan-3.md")}


def test_metadata_counts_what_was_done(site: Site, instance: dg.DagsterInstance) -> None:
    site.build()
    shown = whole(instance, "leaves")
    assert (shown["status"], shown["nodes written"], shown["texts embedded"]) == ("complete", 16, 16)


def test_shard_metadata_is_its_own(site: Site, instance: dg.DagsterInstance) -> None:
    site.build()
    counted = Counter(shard(path) for path in TEXTS)
    shown = {k: materialization(instance, "documents", k).metadata["nodes written"].value for k in SHARD_KEYS}
    assert shown == {k: counted[k] for k in SHARD_KEYS}


def test_metadata_and_logs_hold_no_text_and_no_path(site: Site, instance: dg.DagsterInstance) -> None:
    site.write(BROKEN)
    run_id = site.build().run_id
    kept = "\n".join(serialize_value(entry) for entry in instance.all_logs(run_id))
    assert [word for word in ("plan-1", "broken", "a seat", "$41", "requests a minute") if word in kept] == []


def test_run_keeps_ids_of_the_chosen_documents_and_no_path(site: Site, instance: dg.DagsterInstance) -> None:
    run = instance.get_run_by_id(site.build(documents=["plans/plan-2.md"]).run_id)
    kept = serialize_value(run)
    assert str(document_id(DATASET, "plans/plan-2.md")) in kept
    assert "plan-2" not in kept


def test_case_66_a_failing_document_fails_itself_only(site: Site, instance: dg.DagsterInstance) -> None:
    site.write(BROKEN)
    reports = site.reports(site.build())
    broken = document_id(DATASET, "broken.pdf")
    shown = whole(instance, "documents")
    assert shown["status"] == "partial"
    assert f"`{broken}` | document: unreadable" in str(shown["failures"])
    assert reports["cluster_summaries"].total.written == 1
    assert whole(instance, "index_health")["coverage"] == pytest.approx(8 / 9, abs=1e-4)


def test_check_warns_for_the_shard_that_failed(site: Site, instance: dg.DagsterInstance) -> None:
    site.write(BROKEN)
    site.build()
    found = check(instance, "documents", shard("broken.pdf"))
    assert (found.passed, found.severity, found.metadata["failed"].value) == (False, dg.AssetCheckSeverity.WARN, 1)


def test_case_64_check_of_one_shard_stays_when_another_passes(site: Site, instance: dg.DagsterInstance) -> None:
    site.write(BROKEN)
    site.build()
    failing = shard_of(document_id(DATASET, "broken.pdf"))
    site.build(shards=[(failing + 1) % 64])
    assert not check(instance, "documents", shard_key(failing)).passed


def test_case_20_one_failed_summary_leaves_the_others(
    site: Site, instance: dg.DagsterInstance, llm_server: LLMServer
) -> None:
    use_model(site, llm_server)
    llm_server.when("The plan costs $44", refusal())
    site.build()
    shown = whole(instance, "document_summaries")
    assert (shown["status"], shown["nodes written"], shown["nodes failed"]) == ("partial", 7, 1)
    assert "document_summary: refusal" in str(shown["failures by kind"])


def test_quota_ends_the_run_with_one_line(site: Site, instance: dg.DagsterInstance, llm_server: LLMServer) -> None:
    use_model(site, llm_server)
    llm_server.default = insufficient_quota()
    with pytest.raises(QuotaExhausted) as caught:
        site.build()
    run = instance.get_runs()[0]
    failure = next(e for e in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_FAILURE))
    data = failure.get_dagster_event().step_failure_data
    assert run.status is dg.DagsterRunStatus.FAILURE
    assert data.user_failure_data is not None
    assert data.user_failure_data.description == str(caught.value)


def test_shards_of_a_failed_step_show_as_failed(
    site: Site, instance: dg.DagsterInstance, llm_server: LLMServer
) -> None:
    use_model(site, llm_server)
    llm_server.default = insufficient_quota()
    with pytest.raises(QuotaExhausted):
        site.build()
    assert failed_shards(instance, "document_summaries") == set(SHARD_KEYS)
    assert failed_shards(instance, "leaves") == set()


def test_build_after_a_quota_stop_makes_the_rest(
    site: Site, instance: dg.DagsterInstance, llm_server: LLMServer
) -> None:
    use_model(site, llm_server)
    llm_server.when(lambda call: call.index >= 3, insufficient_quota(), times=4)
    with pytest.raises(QuotaExhausted):
        site.build()
    paid = llm_server.statuses.count(200)
    llm_server.reset()
    site.build()
    assert failed_shards(instance, "document_summaries") == set()
    assert 0 < paid < 9
    assert llm_server.statuses.count(200) == 9 - paid


def test_range_of_two_shards_touches_no_other(site: Site, instance: dg.DagsterInstance) -> None:
    first, second = 10, 11
    site.build(shards=[first, second])
    for level in SHARDED:
        assert instance.get_materialized_partitions(key(level)) == {"10", "11"}


def test_chosen_document_is_the_only_one_built(site: Site) -> None:
    reports = site.reports(site.build(documents=["plans/plan-2.md"]))
    assert reports["documents"].total.written == 1
    assert reports["document_summaries"].total.written == 1


def test_unknown_document_is_told(site: Site) -> None:
    with pytest.raises(SettingsError, match=r"has no document 'nope\.md'"):
        site.build(documents=["nope.md"])


def test_two_datasets_stay_apart(site: Site, instance: dg.DagsterInstance) -> None:
    site.tables["other"] = {"source": "other"}
    site.write({"a.md": "# A\n\nOnly here since 2025-01-01.\n"}, dataset="other")
    site.build()
    site.build("other")
    assert whole(instance, "documents")["nodes written"] == 8
    assert whole(instance, "documents", "other")["nodes written"] == 1


def test_case_21_second_build_of_a_dataset_is_refused(site: Site, instance: dg.DagsterInstance) -> None:
    from overstory import api

    record = api.open_record(site.home)
    with record.lock(DATASET), pytest.raises(BuildLocked):
        site.build()
    record.close()
    assert instance.get_runs() == []


def test_case_59_no_name_becomes_a_key(site: Site, instance: dg.DagsterInstance) -> None:
    names = [
        "a b.md",
        'q"uote.md',
        "com,ma.md",
        "odd...md",
        "100%.md",
        "#hash.md",
        "v1.0.md",
        "v1.1.md",
        "ß[x]|y.md",
        "A.md",
        "a.md",
    ]
    site.write({f"names/{name}": f"# {name}\n\nText of {name} since 2025-01-01.\n" for name in names})
    before = {path: path.read_bytes() for path in site.source.rglob("*.md")}
    reports = site.reports(site.build())
    assert reports["documents"].total.written == 8 + len(names)
    assert instance.get_materialized_partitions(key("documents")) == set(SHARD_KEYS)
    assert {path: path.read_bytes() for path in site.source.rglob("*.md")} == before


def use_model(site: Site, server: LLMServer) -> None:
    site.tables[DATASET]["summarizer"] = {
        "kind": "openai",
        "model": "stub",
        "base_url": server.base_url,
        "concurrency": 2,
        "max_attempts": 2,
    }
