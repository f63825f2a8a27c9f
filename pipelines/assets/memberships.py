"""Which documents share a cluster."""

from collections.abc import Iterator

import dagster as dg

from pipelines import health, reporting
from pipelines.assets.stage import Result, finished, level, opened
from pipelines.resources.deployment import Deployment

DESCRIPTION = """All clusters with their members and weights; not partitioned, since a document may join any cluster.
It is stale when a document summary is new, gone or different. Unchanged documents keep their clusters."""


def memberships_asset(dataset: str) -> dg.AssetsDefinition:
    """The asset that places new and changed documents among the clusters."""

    @level(dataset, after=("document_summaries",), kinds={"numpy", "postgres"}, description=DESCRIPTION)
    def memberships(context: dg.AssetExecutionContext, deployment: Deployment) -> Iterator[Result]:
        from overstory.building.memberships import update_memberships
        from overstory.building.shard_states import membership_version

        with opened(context, deployment) as stage:
            report = finished(update_memberships(stage.ctx))
            version = membership_version(stage.ctx)
            sizes = health.cluster_sizes(stage.ctx)
        yield dg.MaterializeResult(metadata=reporting.overview(report, sizes), data_version=dg.DataVersion(version))

    return memberships
