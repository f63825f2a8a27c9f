"""Level 0: chunks of the documents' current versions."""

from collections.abc import Iterator

import dagster as dg

from pipelines import health
from pipelines.assets.stage import Result, finished, level, opened, told
from pipelines.resources.deployment import Deployment

DESCRIPTION = """One partition: the leaves of the shard's documents, with offsets into the text and vectors.
It is stale when a document has a new version, or the settings ask for other chunks or another embedder.
Cutting a new version first deletes the summaries of the old one."""


def leaves_asset(dataset: str) -> dg.AssetsDefinition:
    """The asset that cuts new versions into leaves and makes them current."""

    @level(dataset, after=("documents",), kinds={"python", "postgres"}, description=DESCRIPTION, sharded=True)
    def leaves(context: dg.AssetExecutionContext, deployment: Deployment) -> Iterator[Result]:
        from overstory.building.leaves import cut_leaves
        from overstory.building.shard_states import leaf_states

        with opened(context, deployment) as stage:
            report = finished(cut_leaves(stage.ctx, stage.shards))
            states = leaf_states(stage.ctx, stage.shards)
            sizes = health.leaf_sizes(stage.ctx, stage.shards)
        yield from told(context, report, states, sizes)

    return leaves
