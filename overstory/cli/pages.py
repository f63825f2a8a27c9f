"""Search results and nodes as pages of text."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from overstory.cli.tables import show, words
from overstory.cli.terminal import one_line, printable
from overstory.nodes import NodeKind, NodeState
from overstory.retrieval.context import source_line
from overstory.retrieval.hits import Hit, MatchedVia, SearchResult
from overstory.retrieval.view import NodeRef, NodeView

_SHOWN_CHARS = 700
_RELATIVES_SHOWN = 12
_VIA = {
    MatchedVia.TEXT: "by its own text",
    MatchedVia.SUMMARY: "by its chunk summary",
    MatchedVia.PARENT: "as a child of a summary above",
}
"""Why a node is among the hits, in words."""


def search(result: SearchResult) -> None:
    """The hits, each with its source and state, then the composition by level."""
    if not result.hits:
        show("Nothing was found")
        return
    for rank, hit in enumerate(result.hits, start=1):
        show(_head(rank, hit), Padding(Text(printable(_shortened(hit.readable))), (0, 0, 1, 4)))
    composition = result.composition
    kinds = ", ".join(f"{count} {words(kind)}" for kind, count in composition.kinds.items())
    show(f"composition: {kinds}; {composition.stale} not fresh")


def _head(rank: int, hit: Hit) -> str:
    state = "[green]fresh[/]" if hit.state is NodeState.FRESH else f"[yellow]{hit.state}: {escape(hit.reason)}[/]"
    via = _VIA[hit.matched_via]
    return (
        f"[bold]{rank:>2}.[/] {escape(one_line(source_line(hit)))}\n"
        f"    [dim]level {hit.level}  score {hit.score:.4f}  found {via}  {hit.node_id[:8]}[/]  {state}"
    )


def _shortened(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS].rsplit(' ', 1)[0]} …"


def node(view: NodeView) -> None:
    """A node: what it is, its text, and the way up and down from it."""
    where = view.path or "cluster"
    place = f", characters {view.start}–{view.end}" if view.start is not None else ""
    state = view.state if view.state is NodeState.FRESH else f"{view.state}: {view.reason}"
    show(
        f"[bold]{words(view.kind)}[/] {view.node_id}",
        escape(one_line(" > ".join((where, *view.headings)) + place)),
        f"level {view.level}   {view.tokens:,} tokens   {escape(state)}",
    )
    if view.facts is not None:
        facts = view.facts
        lost = f"; lost: {', '.join(facts.lost[:_RELATIVES_SHOWN])}" if facts.lost else ""
        show(escape(one_line(f"facts: {facts.kept} of {facts.facts} kept{lost}")))
    show("", Padding(Text(printable((view.context + view.text).strip())), (0, 0, 1, 2)))
    _relatives("part of", view.parents)
    _relatives("made from", view.children)
    if view.kind is not NodeKind.LEAF and not view.children:
        show(f"over {len(view.leaves):,} leaves")


def _relatives(heading: str, nodes: Sequence[NodeRef]) -> None:
    if not nodes:
        return
    show(f"[bold]{heading}[/]")
    for one in nodes[:_RELATIVES_SHOWN]:
        show(f"  {one.node_id[:8]}  {words(one.kind):<17} {escape(one_line(one.label))}")
    if len(nodes) > _RELATIVES_SHOWN:
        show(f"  … and {len(nodes) - _RELATIVES_SHOWN:,} more (--json lists them all)")
