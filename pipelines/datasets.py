"""A dataset of the deployment as a group of assets with its jobs, its schedule and its sensors."""

from __future__ import annotations

import warnings

import dagster as dg

from overstory.settings import Dataset, Settings
from pipelines.assets.cluster_summaries import cluster_summaries_asset
from pipelines.assets.document_summaries import document_summaries_asset
from pipelines.assets.documents import documents_asset
from pipelines.assets.index_health import index_health_asset
from pipelines.assets.leaves import leaves_asset
from pipelines.assets.memberships import memberships_asset
from pipelines.jobs import build_all, build_changed
from pipelines.resources.deployment import Deployment
from pipelines.schedules import nightly
from pipelines.sensors.reupload import reupload
from pipelines.sensors.staleness import staleness


def dataset_definitions(dataset: Dataset) -> dg.Definitions:
    """The assets, jobs, schedule and sensors of one dataset."""
    with warnings.catch_warnings():
        # Partitioned checks and backfill policies are new in Dagster 1.13; tests/pipelines would see them change.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        warnings.simplefilter("ignore", dg.BetaWarning)
        return _dataset_definitions(dataset)


def _dataset_definitions(dataset: Dataset) -> dg.Definitions:
    name, summarizer = dataset.name, dataset.summarizer.kind
    changed = build_changed(name)
    return dg.Definitions(
        assets=[
            documents_asset(name),
            leaves_asset(name),
            document_summaries_asset(name, summarizer),
            memberships_asset(name),
            cluster_summaries_asset(name, summarizer),
            index_health_asset(name),
        ],
        jobs=[build_all(name), changed],
        schedules=[nightly(name, changed)],
        sensors=[reupload(name, changed), staleness(name, changed)],
    )


def shared_definitions() -> dg.Definitions:
    """What all datasets share: the deployment, and one process for all steps of a run."""
    return dg.Definitions(resources={"deployment": Deployment.configure_at_launch()}, executor=dg.in_process_executor)


def build_definitions(settings: Settings) -> dg.Definitions:
    """The definitions of all datasets of a deployment."""
    return dg.Definitions.merge(shared_definitions(), *(dataset_definitions(dataset) for dataset in settings.datasets))
