"""Backfills from the browser: over some shards and over all, seen through by the daemon."""

from __future__ import annotations

import dagster as dg
import pytest
from dagster._core.execution.asset_backfill import AssetBackfillData

from pipelines.datasets import build_definitions
from pipelines.partitions import SHARD_KEYS
from tests.pipelines.conftest import DATASET, Site
from tests.pipelines.served import Served, serving, wait_for

LEVELS = ("documents", "leaves", "document_summaries", "memberships", "cluster_summaries", "index_health")
SHARDED = ("documents", "leaves", "document_summaries", "cluster_summaries")
SENSORS = (f"{DATASET}__reupload", f"{DATASET}__staleness")
LAUNCH = """
mutation($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
    __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }
"""
STATUS = """
query($id: String!) { partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill { status
    error { message } } } }
"""


def backfilled(ui: Served, **what: object) -> dict[str, object]:
    """How a backfill of the whole graph ended."""
    params = {"assetSelection": [{"path": [DATASET, level]} for level in LEVELS], **what}
    backfill = ui.asked(LAUNCH, params=params)["launchPartitionBackfill"]["backfillId"]
    found: dict[str, object] = {}

    def ended() -> bool:
        found.update(ui.asked(STATUS, id=backfill)["partitionBackfillOrError"])
        return found["status"] not in ("REQUESTED", "COMPLETED")

    wait_for(ended, 300)
    return found


def test_backfill_over_all_shards_makes_every_level(site: Site, instance: dg.DagsterInstance) -> None:
    with serving(site, off=SENSORS) as ui:
        assert backfilled(ui, allPartitions=True) == {"status": "COMPLETED_SUCCESS", "error": None}
    made = [instance.get_materialized_partitions(dg.AssetKey([DATASET, level])) for level in SHARDED]
    assert made == [set(SHARD_KEYS)] * 4
    health = instance.get_latest_materialization_event(dg.AssetKey([DATASET, "index_health"]))
    assert health is not None
    assert health.asset_materialization is not None
    assert health.asset_materialization.metadata["coverage"].value == 1.0


@pytest.mark.filterwarnings("ignore:.*sources:DeprecationWarning")  # Dagster's own
def test_backfill_over_some_shards_reaches_every_level(site: Site, instance: dg.DagsterInstance) -> None:
    graph = build_definitions(site.settings).resolve_asset_graph()
    aimed = AssetBackfillData.from_asset_partitions(
        asset_graph=graph,
        partition_names=["05", "41"],
        asset_selection=[dg.AssetKey([DATASET, level]) for level in LEVELS],
        dynamic_partitions_store=instance,
        backfill_start_timestamp=0.0,
        all_partitions=False,
    ).target_subset
    shards = {
        key.path[-1]: set(subset.get_partition_keys()) for key, subset in aimed.partitions_subsets_by_asset_key.items()
    }
    assert shards == {level: {"05", "41"} for level in SHARDED}
    assert {key.path[-1] for key in aimed.non_partitioned_asset_keys} == {"memberships", "index_health"}
