"""How long a summary may be: a target by kind, which grows with the number of distinct facts."""

from __future__ import annotations

from dataclasses import dataclass

from overstory.nodes import NodeKind
from overstory.settings import Summaries


@dataclass(frozen=True, slots=True)
class Size:
    """Tokens of a summary."""

    target_tokens: int
    max_tokens: int


def base_tokens(kind: NodeKind, settings: Summaries) -> int:
    """The plain target of a kind (seeds/hierarchical-summary-index.txt: 220 for a document, 380 for a cluster)."""
    return {
        NodeKind.CHUNK_SUMMARY: settings.chunk_tokens,
        NodeKind.SECTION_SUMMARY: settings.section_tokens,
        NodeKind.DOCUMENT_SUMMARY: settings.document_tokens,
        NodeKind.CLUSTER_SUMMARY: settings.cluster_tokens,
    }[kind]


def size(kind: NodeKind, distinct_facts: int, settings: Summaries) -> Size:
    """Target and limit for children that state ``distinct_facts``."""
    base = base_tokens(kind, settings)
    limit = int(base * settings.growth)
    extra = settings.tokens_per_fact * max(0, distinct_facts - settings.facts_per_target)
    return Size(min(base + extra, limit), limit)


def parameters(kind: NodeKind, settings: Summaries) -> str:
    """What of the settings enters a recipe."""
    return (
        f"{base_tokens(kind, settings)} x{settings.growth} +{settings.tokens_per_fact}/fact>{settings.facts_per_target}"
    )
