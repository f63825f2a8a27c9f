"""Source documents and their versions."""

from collections.abc import Iterator

import dagster as dg

from pipelines.assets.stage import Result, finished, level, opened, told
from pipelines.resources.deployment import Deployment

DESCRIPTION = """One partition: the source documents whose id falls into the shard, each with its newest text.
It is stale when a file of the source comes, goes, moves or changes its text."""


def documents_asset(dataset: str) -> dg.AssetsDefinition:
    """The asset that brings the record's documents in line with the source."""

    @level(dataset, after=(), kinds={"file", "postgres"}, description=DESCRIPTION, sharded=True)
    def documents(context: dg.AssetExecutionContext, deployment: Deployment) -> Iterator[Result]:
        from overstory.building.documents import sync_documents
        from overstory.building.shard_states import document_states

        with opened(context, deployment) as stage:
            report = finished(sync_documents(stage.ctx, stage.shards))
            states = document_states(stage.ctx, stage.shards)
        yield from told(context, report, states)

    return documents
