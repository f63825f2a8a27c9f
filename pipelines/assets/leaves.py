"""Level 0: chunks of the documents' current versions."""

from collections.abc import Iterator

import dagster as dg

from pipelines.assets.stage import Result, finished, level, opened, told
from pipelines.resources.deployment import Deployment

DESCRIPTION = """One partition: the leaves of the shard's documents, with offsets into the text and vectors.
It is stale when a document has a new version, or the settings ask for other chunks or another embedder.
Cutting a new version first deletes the summaries of the old one."""


def leaves_asset(dataset: str) -> dg.AssetsDefinition:
    """The asset that cuts new versions into leaves and makes them current."""

    @level(dataset, after=("documents",), kinds={"python", "postgres"}, description=DESCRIPTION, sharded=True)
    def leaves(context: dg.AssetExecutionContext, deployment: Deployment) -> Iterator[Result]:
        from overstory.building.data_versions import leaf_versions
        from overstory.building.leaves import cut_leaves

        with opened(context, deployment) as stage:
            report = finished(cut_leaves(stage.ctx, stage.shards))
            versions = leaf_versions(stage.ctx, stage.shards)
        yield from told(context, report, versions)

    return leaves
