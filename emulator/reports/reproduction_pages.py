"""The page of a reproduction: errors, claims and every cell beside the published one; and its figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from emulator.model.cell_rows import ReproductionRow
from emulator.model.counts import number_of
from emulator.model.whole_files import written_whole
from emulator.reports.claim_tables import claim_table, part_table
from emulator.reports.reproduction_figures import reproduction_figure
from emulator.reports.reproduction_tables import QUANTITIES, error_table, factor_table, total_table
from emulator.reports.text import markdown_table
from emulator.studies.claims import DecidedClaim
from emulator.studies.reproduction import Reproduced


def write_page(
    reproduced: Reproduced, rows: Sequence[ReproductionRow], claims: Sequence[DecidedClaim], folder: Path
) -> Path:
    """Write the page and its figure, named after the table, into `folder`; return the page's path."""
    name = reproduced.reproduction.name
    (folder / f"{name}.png").write_bytes(reproduction_figure(rows, reproduced.reproduction.table.heading))
    page = folder / f"{name}.md"
    with written_whole(page) as text:
        text.write(_page(reproduced, rows, claims))
    return page


def _page(reproduced: Reproduced, rows: Sequence[ReproductionRow], claims: Sequence[DecidedClaim]) -> str:
    name, table = reproduced.reproduction.name, reproduced.reproduction.table
    topologies = ", ".join(dict.fromkeys(f"`{records.manifest.topology.name}`" for records in reproduced.parts))
    speeds = " and ".join(dict.fromkeys(f"{row.processor_speed:g}" for row in rows))
    runs = " and ".join(dict.fromkeys(number_of(row.n, "run") for row in rows))
    faster = f" Processors computed {speeds} times as fast; published times are divided by that."
    scaled = "" if speeds == "1" else faster
    sections = [
        f"# {table.heading}",
        f"Measured on {topologies} by `testbed reproduce {name}`, {runs} of each cell; K is the "
        f"dilation, intervals are 95%, factors are relative to pbs-1.{scaled}",
        f"![{table.heading}]({name}.png)",
        "## Mean absolute errors (cells)",
        markdown_table(error_table(rows)),
    ]
    if claims:
        sections += ["## Claims", markdown_table(claim_table(claims)), markdown_table(part_table(claims))]
    for quantity in QUANTITIES:
        of_quantity = [row for row in rows if row.quantity == quantity]
        if of_quantity:
            sections += [f"## Every cell: {quantity}", markdown_table(total_table(of_quantity))]
            sections += [f"## Relative to pbs-1: {quantity}", markdown_table(factor_table(of_quantity))]
    if reproduced.left_out:
        sections += ["## Left out", "\n".join(f"- {sentence}" for sentence in reproduced.left_out)]
    return "\n\n".join(sections) + "\n"
