"""What Dagster loads: the datasets of the settings that the environment names (``pipelines.deployment``)."""

from __future__ import annotations

from pipelines.datasets import build_definitions
from pipelines.deployment import read_settings

defs = build_definitions(read_settings())
