"""From hits to the text a model is given: as many as fit, each with a number to cite it by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from overstory.identity import NodeId
from overstory.nodes import NodeKind, NodeState
from overstory.retrieval.hits import Composition, Hit, compose


@dataclass(frozen=True, slots=True)
class Citation:
    """What a number in a context stands for."""

    number: int
    node_id: NodeId
    kind: NodeKind
    path: str
    """Empty for a cluster."""
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Context:
    """Hits packed into one text."""

    text: str
    tokens: int
    citations: tuple[Citation, ...]
    composition: Composition


def pack(hits: Sequence[Hit], budget_tokens: int, count: Callable[[str], int]) -> Context:
    """Hits in their order, as many as fit into ``budget_tokens``; one that does not fit is passed over.

    Args:
        hits: From a search, the best first.
        budget_tokens: Tokens of the whole text at most; 0 or less gives an empty context.
        count: Tokens of a text.
    """
    text, packed = "", list[Hit]()
    for hit in hits:
        longer = f"{text}\n\n{_passage(hit, len(packed) + 1)}" if text else _passage(hit, 1)
        if count(longer) <= budget_tokens:
            text = longer
            packed.append(hit)
    return Context(
        text=text,
        tokens=count(text),
        citations=tuple(
            Citation(number, hit.node_id, hit.kind, hit.path, hit.start, hit.end)
            for number, hit in enumerate(packed, start=1)
        ),
        composition=compose(tuple(packed)),
    )


def _passage(hit: Hit, number: int) -> str:
    return f"[{number}] {source_line(hit)}\n{hit.readable.strip()}"


def source_line(hit: Hit) -> str:
    """Where a hit comes from, on one line."""
    if hit.kind is NodeKind.CLUSTER_SUMMARY:
        line = f"summary of {len(hit.children)} nodes"
    else:
        place = " > ".join((hit.path, *hit.headings))
        what = "" if hit.kind is NodeKind.LEAF else f"{hit.kind.replace('_', ' ')} of "
        characters = f", characters {hit.start}-{hit.end}" if hit.start is not None else ""
        line = f"{what}{place}{characters}"
    return line if hit.state is NodeState.FRESH else f"{line} ({hit.state}: {hit.reason})"
