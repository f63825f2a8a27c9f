"""The Dagster side of Overstory: the only package that knows Dagster."""

import os

# Dagster reads these when it writes events. A run over 64 shards stores its materializations in one statement
# instead of 64, and announces an asset once instead of once a shard (docs/decisions/0007-dagster-graph.md).
os.environ.setdefault("DAGSTER_EVENT_BATCH_SIZE", "1000")
os.environ.setdefault("DAGSTER_EMIT_PARTITION_SUBSET_IN_PLANNED_EVENTS", "1")
