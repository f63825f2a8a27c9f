"""How much of the index says what its sources say."""

from collections.abc import Iterator

import dagster as dg

from pipelines import health
from pipelines.assets.stage import Result, level, opened
from pipelines.resources.deployment import Deployment

DESCRIPTION = """The state of every node, by the record's hashes: fresh, stale, missing, failed or orphaned.
It is the number to watch; a build or the nightly schedule refreshes it."""


def index_health_asset(dataset: str) -> dg.AssetsDefinition:
    """The asset that measures staleness and coverage."""

    @level(
        dataset,
        after=("cluster_summaries",),
        kinds={"python", "postgres"},
        description=DESCRIPTION,
        checks=health.check_specs,
    )
    def index_health(context: dg.AssetExecutionContext, deployment: Deployment) -> Iterator[Result]:
        from overstory.building.drifting import measure_drift
        from overstory.building.health import examine

        with opened(context, deployment, alone=False) as stage:
            found, drift = examine(stage.ctx), measure_drift(stage.ctx)
        yield dg.MaterializeResult(
            metadata=health.metadata(found, drift), check_results=health.check_results(context.asset_key, found)
        )

    return index_health
