"""Small pictures for the asset pages: SVG in markdown, drawn only when a step needs one."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import dagster as dg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = {"fresh": "#4c9a6a", "stale": "#e0a030", "missing": "#b8bcc4", "failed": "#c0504d", "orphaned": "#7a5ea8"}
"""Of node states: green to see at once, the others apart in lightness too."""

WIDTH_INCHES = 6.4


def stacked_bars(rows: Mapping[str, Mapping[str, int]]) -> dg.MetadataValue:
    """One bar a row, parted by state, each as a share of the row."""
    figure, axes = _figure(0.42 * max(len(rows), 1) + 0.7)
    for state, color in COLORS.items():
        shares = [_share(counts, state) for counts in rows.values()]
        before = [sum(_share(counts, s) for s in list(COLORS)[: list(COLORS).index(state)]) for counts in rows.values()]
        if any(shares):
            axes.barh(list(rows), shares, left=before, color=color, label=state, height=0.62)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0f} %")
    if rows:
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=5, frameon=False, fontsize=8)
    return _markdown(figure, "Node states by kind")


def _share(counts: Mapping[str, int], state: str) -> float:
    return 100 * counts[state] / (sum(counts.values()) or 1)


def histogram(values: Sequence[float], label: str, of: str, bins: Sequence[float] | None = None) -> dg.MetadataValue:
    """How often each value occurs."""
    figure, axes = _figure(2.0)
    edges = bins if bins is not None else [x - 0.5 for x in range(int(min(values)), int(max(values)) + 2)]
    axes.hist(values, bins=list(edges), color=COLORS["fresh"], edgecolor="white", linewidth=0.5)
    axes.locator_params(axis="y", integer=True)
    axes.set_xlabel(label, fontsize=8)
    axes.set_ylabel(of, fontsize=8)
    return _markdown(figure, f"Histogram: {label}")


def _figure(height_inches: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_INCHES, height_inches), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    return figure, axes


def _markdown(figure: Figure, title: str) -> dg.MetadataValue:
    buffer = io.BytesIO()
    # No date in the file: the same state gives the same bytes.
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    encoded = base64.b64encode(buffer.getvalue()).decode("ascii")
    return dg.MetadataValue.md(f"![{title}](data:image/svg+xml;base64,{encoded})")
