"""A figure of the parts of extension factors: a bar as high as each factor, made of its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

from emulator.fidelity.attribution import WHOLE, Part
from emulator.model.cell_rows import AttributionRow
from emulator.model.counts import number_of
from emulator.reports.attribution_tables import PARTS, Key, by_factor
from emulator.reports.communication_tables import clusters_title
from emulator.reports.pictures import as_png, blank_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ATTRIBUTION_FIGURE: Final = "attribution.png"

_COLOURS: Final[Mapping[str, str]] = {
    Part.COMPUTE: "#4c4c4c",
    Part.INTERCONNECT: "#a6a6a6",
    Part.LATENCY: "#1f77b4",
    Part.RATE: "#2ca02c",
    Part.CONTENTION: "#ff7f0e",
    Part.EMULATOR: "#d62728",
}
_LEGIBLE: Final = 0.06
"""The share of the highest bar above which a part is high enough for its number."""

Parts = Mapping[str, float]


def write_attribution(directory: Path, rows: Sequence[AttributionRow]) -> list[Path]:
    """Write the figure into `directory`, and return its path; nothing if there is none, or it cannot be written."""
    if not rows:
        return []
    path = directory / ATTRIBUTION_FIGURE
    try:
        path.write_bytes(attribution_figure(rows))
    except OSError:
        return []
    return [path]


def attribution_figure(rows: Sequence[AttributionRow]) -> bytes:
    """Return the figure of `draw_attribution` as PNG."""
    return as_png(draw_attribution(rows))


def draw_attribution(rows: Sequence[AttributionRow]) -> Figure:
    """Draw a group of bars per problem: one cluster, which is 1, then each number of clusters with its interval."""
    bars = _bars(rows)
    figure = blank_figure((max(4.5, 0.9 * len(bars) + 2.2), 3.8))
    axis = figure.subplots()
    highest = max(sum(value for value in parts.values() if value > 0) for _, parts, _ in bars)
    for place, (_, parts, whole) in enumerate(bars):
        top = _stack(axis, place, parts, highest)
        if whole is not None and whole.ci_low is not None and whole.ci_high is not None:
            errors = [[whole.added - whole.ci_low], [whole.ci_high - whole.added]]
            axis.errorbar([place], [top], yerr=errors, color="black", capsize=3, linewidth=0.8)
    axis.axhline(1.0, color="black", linewidth=0.6, linestyle=":")
    axis.axhline(0.0, color="black", linewidth=0.8)
    axis.set_xticks(range(len(bars)), [label for label, _, _ in bars], fontsize=7)
    axis.tick_params(axis="y", labelsize=7)
    axis.set_ylabel("runtime over that in one cluster", fontsize=8)
    axis.set_title("What extension factors are made of", fontsize=10)
    handles = [axis.bar([0], [0], color=_COLOURS[part], label=part) for part in PARTS]
    figure.legend(handles=handles, fontsize=7, loc="outside lower center", ncols=len(PARTS) // 2)
    return figure


def _bars(rows: Sequence[AttributionRow]) -> list[tuple[str, Parts, AttributionRow | None]]:
    """Return label, heights of the parts and whole of each bar; the bar of one cluster has no interval."""
    bars: list[tuple[str, Parts, AttributionRow | None]] = []
    for _, group in groupby(by_factor(rows), key=lambda factor: factor[0][:3]):
        factors = list(group)
        key, first = factors[0]
        bars.append((_label((*key[:3], "1")), {part: first[part].single_share for part in PARTS}, None))
        for key, parts in factors:
            heights = {part: parts[part].single_share + parts[part].added for part in PARTS}
            bars.append((_label(key), heights, parts[WHOLE]))
    return bars


def _label(key: Key) -> str:
    application, grid, processors, spread_over = key
    on_grid = "" if grid is None else f" {grid}"
    return f"{application}{on_grid}\n{number_of(processors, 'processor')}\n{clusters_title(spread_over, '')}"


def _stack(axis: Axes, place: int, parts: Parts, highest: float) -> float:
    """Draw one bar, with negative parts below zero, and return its height, the sum of all parts."""
    above, below = 0.0, 0.0
    for part, value in parts.items():
        bottom = above if value >= 0 else below
        axis.bar([place], [value], 0.6, bottom=bottom, color=_COLOURS[part])
        if abs(value) >= _LEGIBLE * highest:
            axis.text(place, bottom + value / 2, f"{value:.2f}", ha="center", va="center", fontsize=6, color="white")
        above, below = (above + value, below) if value >= 0 else (above, below + value)
    return above + below
