"""Figures of measured numbers that stand in tables of the pages themselves, so that figure and table agree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from emulator.model.cell_rows import AttributionRow, ReproductionRow
from emulator.reports.attribution_figure import draw_attribution
from emulator.reports.figures.drawing import one_legend, panels
from emulator.reports.figures.figure import DataRow, ReportFigure
from emulator.reports.reproduction_figures import reproduction_figure
from emulator.studies.published_runtimes import Setup, find_published
from emulator.studies.reproduction_rows import RUNTIME

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLE: Final = re.compile(r"(?:^\|.*\|\n)+", re.MULTILINE)
CALIBRATED_GRIDS: Final = (100, 400, 4000)
PROCESSORS: Final = 16
VALID: Final = "valid"
Cells = Sequence[str]


def tables(page: Path) -> Iterator[tuple[Cells, list[Cells]]]:
    """Yield the tables of a page: the words of the heading, and the cells of each row."""
    for found in TABLE.findall(page.read_text(encoding="utf-8")):
        lines: list[Cells] = [[cell.strip() for cell in line.strip("|").split("|")] for line in found.splitlines()]
        yield lines[0], lines[2:]


def attributed_parts(page: Path) -> ReportFigure:
    """Return the parts of the factor that the page measured, as ``testbed measure --attribute`` draws them."""
    (found,) = (rows for head, rows in tables(page) if head[:3] == ["part", "in one cluster", "added"])
    rows = [_attribution(cells) for cells in found]
    shown: list[DataRow] = [
        {"part": row.part, "in_one_cluster": row.single_share, "added": row.added, "low": row.ci_low,
         "high": row.ci_high}
        for row in rows
    ]  # fmt: skip
    shows = "Two bars as high as the runtime over that in one cluster, made of their parts."
    return ReportFigure("attribution", "What a factor is made of", shows, shown, lambda: draw_attribution(rows))


def _attribution(cells: Cells) -> AttributionRow:
    """Return a row of the table; the job is that of the command above it."""
    low, high = map(float, cells[3].split(" to "))
    return AttributionRow(
        application="poisson", grid=400, processors=PROCESSORS, components=(8, 8), clusters=2, dilation=12,
        part=cells[0], single_share=float(cells[1]), added=float(cells[2]), added_s=0.0, ci_low=low, ci_high=high,
        n=3, verdict=VALID,
    )  # fmt: skip


def reproduced(page: Path) -> bytes:
    """Return the figure of the published and the measured runtimes on the page, as ``testbed reproduce`` draws it."""
    rows: list[ReproductionRow] = []
    for head, found in tables(page):
        if head[:3] == ["grid", "K", "setup"]:
            rows += [_reproduction([cells[0], str(PROCESSORS), *cells[1:]]) for cells in found]
        elif head[:3] == ["grid", "processors", "K"]:
            rows += [_reproduction(cells) for cells in found if cells[4]]
    return reproduction_figure(rows, "Poisson on das2: published and measured")


def _reproduction(cells: Cells) -> ReproductionRow:
    grid, processors, setup = int(cells[0]), int(cells[1]), Setup(cells[3])
    published = find_published("poisson", grid, processors, setup)
    iterations = 1 if published is None else published.iterations
    factors = [float(cell) if cell else None for cell in cells[7:9]]
    return ReproductionRow(
        quantity=RUNTIME, application="poisson", grid=grid, processors=processors, setup=setup,
        dilation=float(cells[2]), processor_speed=1.0, iterations=iterations, iteration_s=float(cells[5]) / iterations,
        published_s=float(cells[4]), measured_s=float(cells[5]), error=_percent(cells[6]),
        published_factor=factors[0], factor=factors[1], factor_error=_percent(cells[9]),
        calibrated=processors == PROCESSORS and grid in CALIBRATED_GRIDS, n=3, verdict=VALID,
    )  # fmt: skip


def _percent(cell: str) -> float | None:
    return float(cell.rstrip("%")) / 100 if cell else None


def second_opinion(page: Path) -> ReportFigure:
    """Return published and predicted factors on 16 processors, by grid and number of clusters."""
    (found,) = (rows for head, rows in tables(page) if head[:3] == ["grid", "processors", "setup"])
    rows: list[DataRow] = [
        {"grid": int(cells[0]), "setup": cells[2], "published": float(cells[6]), "smpi": float(cells[7])}
        for cells in found
        if cells[1] == str(PROCESSORS) and cells[6]
    ]
    shows = "Extension factors, published and by SMPI."
    return ReportFigure("second-opinion", "Factors on 16 processors", shows, rows, lambda: _factors(rows))


def _factors(rows: list[DataRow]) -> Figure:
    figure, (axis,) = panels(2.6)
    labels = [f"{row['setup']}\ngrid {row['grid']}" for row in rows]
    for offset, key, words in ((-0.2, "published", "published (DAS-2)"), (0.2, "smpi", "SMPI")):
        at = [place + offset for place in range(len(rows))]
        axis.bar(at, [float(row[key] or 0.0) for row in rows], 0.38, label=words)
    axis.set_xticks(range(len(rows)), labels, rotation=60)
    axis.set_yscale("log")
    axis.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
    axis.minorticks_off()
    axis.set_ylabel("extension factor")
    one_legend(figure, [axis])
    return figure
