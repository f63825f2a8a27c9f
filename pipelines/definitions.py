"""What Dagster loads: the datasets of the settings that the environment names (``pipelines.deployment``)."""

from __future__ import annotations

from pipelines.datasets import build_definitions
from pipelines.deployment import settings_or_nothing

defs = build_definitions(settings_or_nothing())
