"""Level 2 and above: summaries of clusters."""

from collections.abc import Iterator

import dagster as dg

from overstory.nodes import NodeKind
from pipelines import health
from pipelines.assets.stage import MARKS, Result, finished, level, opened, told
from pipelines.resources.deployment import Deployment

DESCRIPTION = """One partition: the summaries of the clusters whose id falls into the shard.
A summary is stale when a member came, went or got another summary, or the model, the prompt or the lengths changed."""


AFTER = ("document_summaries", "memberships")
"""Their texts, and who belongs together. By the first one, a backfill over some shards comes here too: Dagster does not
follow shards through an asset without any."""


def cluster_summaries_asset(dataset: str, summarizer: str) -> dg.AssetsDefinition:
    """The asset that makes every cluster summary that is not fresh."""

    @level(dataset, after=AFTER, kinds={MARKS[summarizer], "postgres"}, description=DESCRIPTION, sharded=True)
    def cluster_summaries(context: dg.AssetExecutionContext, deployment: Deployment) -> Iterator[Result]:
        from overstory.building.cluster_summaries import summarize_clusters
        from overstory.building.shard_states import cluster_states

        with opened(context, deployment) as stage:
            report = finished(summarize_clusters(stage.ctx, stage.shards))
            states = cluster_states(stage.ctx, stage.shards)
            kept = health.facts_kept(stage.ctx, NodeKind.CLUSTER_SUMMARY, stage.shards)
        yield from told(context, report, states, kept)

    return cluster_summaries
