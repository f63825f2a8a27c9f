"""Small pictures for the asset pages: SVG in markdown, of a kilobyte or two, since Dagster keeps metadata for ever."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from itertools import pairwise

import dagster as dg

COLORS = {"fresh": "#4c9a6a", "stale": "#e0a030", "missing": "#b8bcc4", "failed": "#c0504d", "orphaned": "#7a5ea8"}
"""Of node states: green to see at once, the others apart in lightness too."""

INK = "#868c96"
"""Of text and lines: read on a light and on a dark page, since a picture does not learn the theme of the UI."""

WIDTH = 560
LEFT = 130
RIGHT = WIDTH - 20
ROW = 24
PLOT_HEIGHT = 120


def stacked_bars(rows: Mapping[str, Mapping[str, int]]) -> dg.MetadataValue:
    """One bar a row, parted by state, each as a share of the row."""
    shown = [state for state in COLORS if any(counts[state] for counts in rows.values())]
    parts = [_legend(place, state) for place, state in enumerate(shown)]
    for place, (name, counts) in enumerate(rows.items()):
        parts += _bar(30 + ROW * place, name, counts)
    bottom = 30 + ROW * len(rows)
    for percent in (0, 50, 100):
        parts.append(_text(LEFT + (RIGHT - LEFT) * percent / 100, bottom + 14, f"{percent} %", "middle"))
    return _markdown(parts, bottom + 20, "Node states by kind")


def _legend(place: int, state: str) -> str:
    x = LEFT + 82 * place
    return _box(x, 6, 10, 10, COLORS[state]) + _text(x + 14, 15, state)


def _bar(y: float, name: str, counts: Mapping[str, int]) -> list[str]:
    total, x = sum(counts.values()) or 1, float(LEFT)
    parts = [_text(LEFT - 8, y + 13, name, "end")]
    for state, color in COLORS.items():
        if width := (RIGHT - LEFT) * counts[state] / total:
            parts.append(_box(x, y, width, 16, color))
            x += width
    return parts


def histogram(values: Sequence[float], label: str, of: str, bins: Sequence[float] | None = None) -> dg.MetadataValue:
    """How often each value occurs; by at most 40 bins of whole numbers where none are given."""
    edges = list(bins) if bins is not None else _whole(min(values), max(values))
    counts = [sum(low <= value < high for value in values) for low, high in pairwise(edges)]
    counts[-1] += sum(value == edges[-1] for value in values)
    most, step = max(*counts, 1), (RIGHT - LEFT) / len(counts)
    parts = [
        _box(LEFT + step * place, 10 + PLOT_HEIGHT * (1 - n / most), max(step - 1, 0.5), PLOT_HEIGHT * n / most)
        for place, n in enumerate(counts)
        if n
    ]
    floor = 10 + PLOT_HEIGHT
    parts += [_box(LEFT, floor, RIGHT - LEFT, 1, INK), _text(LEFT - 8, 20, f"{most:,}", "end")]
    parts += [_text(LEFT - 8, floor, "0", "end"), _text(LEFT - 8, floor - PLOT_HEIGHT / 2, of, "end")]
    shift = 0 if bins is not None else 0.5
    parts += [
        _text(LEFT, floor + 16, f"{edges[0] + shift:,g}"),
        _text(RIGHT, floor + 16, f"{edges[-1] - shift:,g}", "end"),
    ]
    parts.append(_text((LEFT + RIGHT) / 2, floor + 16, label, "middle"))
    return _markdown(parts, floor + 24, f"Histogram: {label}")


def _whole(least: float, most: float) -> list[float]:
    """Borders between whole numbers, the bins equally wide."""
    low, high = int(least), int(most)
    width = (high - low) // 40 + 1
    return [low - 0.5 + width * step for step in range((high - low) // width + 2)]


def _box(x: float, y: float, width: float, height: float, color: str = COLORS["fresh"]) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{color}"/>'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{text}</text>'


def _markdown(parts: Sequence[str], height: float, title: str) -> dg.MetadataValue:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}"'
    svg = f'{head} font-family="sans-serif" font-size="12" fill="{INK}">{"".join(parts)}</svg>'
    encoded = base64.b64encode(svg.encode()).decode("ascii")
    return dg.MetadataValue.md(f"![{title}](data:image/svg+xml;base64,{encoded})")
