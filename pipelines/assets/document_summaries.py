"""Level 1: summaries of documents, of their sections and, where wanted, of their leaves."""

from collections.abc import Iterator

import dagster as dg

from overstory.nodes import NodeKind
from pipelines import health
from pipelines.assets.stage import MARKS, Result, finished, level, opened, told
from pipelines.resources.deployment import Deployment

DESCRIPTION = """One partition: the summaries of the shard's documents, and of their sections and leaves.
A summary is stale when its leaves or sections changed, or the model, the prompt or the lengths did."""


def document_summaries_asset(dataset: str, summarizer: str) -> dg.AssetsDefinition:
    """The asset that makes every summary up to the document that is not fresh."""

    @level(dataset, after=("leaves",), kinds={MARKS[summarizer], "postgres"}, description=DESCRIPTION, sharded=True)
    def document_summaries(context: dg.AssetExecutionContext, deployment: Deployment) -> Iterator[Result]:
        from overstory.building.document_summaries import summarize_documents
        from overstory.building.shard_states import summary_states

        with opened(context, deployment) as stage:
            report = finished(summarize_documents(stage.ctx, stage.shards))
            states = summary_states(stage.ctx, stage.shards)
            kept = health.facts_kept(stage.ctx, NodeKind.DOCUMENT_SUMMARY, stage.shards)
        yield from told(context, report, states, kept)

    return document_summaries
