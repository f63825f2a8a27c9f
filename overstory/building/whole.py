"""A whole build: the stages in their order, with the dataset held from the first to the last."""

from __future__ import annotations

from overstory.building.cluster_summaries import summarize_clusters
from overstory.building.context import BuildContext
from overstory.building.document_summaries import summarize_documents
from overstory.building.documents import sync_documents
from overstory.building.leaves import cut_leaves
from overstory.building.memberships import update_memberships
from overstory.building.report import StageReport
from overstory.record import Hold

STAGES = (sync_documents, cut_leaves, summarize_documents, update_memberships, summarize_clusters)
"""The use cases of a build, in the order of the assets."""


def build(ctx: BuildContext, hold: Hold) -> list[StageReport]:
    """Bring the dataset up to date; returns what each stage did, in order.

    Args:
        ctx: Of the build.
        hold: Takes the dataset before the first stage; before every other one it sees that it still has it.

    Raises:
        BuildLocked: Another build holds the dataset; nothing was done.
    """
    reports = []
    for stage in STAGES:
        hold.take(ctx.name)
        reports.append(stage(ctx))
    return reports
