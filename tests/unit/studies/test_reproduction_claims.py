"""C25 to C28 on cells as they were published: what shows there, what does not, and what void cells leave undecided."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from emulator.model.cell_rows import BorderExchangeRow, CommunicationRow, ReproductionRow
from emulator.studies.claims import decide
from emulator.studies.published_runtimes import Setup, find_communication, find_published
from emulator.studies.reproduction_claims import reproduction_claims
from emulator.studies.reproduction_rows import COMMUNICATION, RUNTIME

# Figure 9: seconds of each process over two clusters, rows from the top, a process in each of four columns.
FIGURE_9 = {
    100: ("5.29 6.44 6.87 .89", ".68 6.83 6.66 1.12", "1.06 12.9 11.5 5.66", ".74 5.72 7.41 5.83"),
    4000: ("56 107 137 81", "54 107 134 83", "75 117 128 96", "68 118 112 91"),
}


def cell(quantity: str, application: str, grid: int | None, processors: int, setup: Setup, found, single, **changes):
    return ReproductionRow.model_validate(
        {
            "quantity": quantity, "application": application, "grid": grid, "processors": processors,
            "setup": setup.value, "dilation": 8, "processor_speed": 1, "iteration_s": found.iteration_s,
            "factor": None if setup is Setup.PBS_1 else found.iteration_s / single.iteration_s,
            "published_s": 1.0, "calibrated": False, "n": 1, "verdict": "valid", **changes,
        }
    )  # fmt: skip


def published_cells(application: str, problems, **changes) -> list[ReproductionRow]:
    return [
        cell(RUNTIME, application, grid, processors, setup, found, single, **changes)
        for grid, processors in problems
        if (single := find_published(application, grid, processors, Setup.PBS_1)) is not None
        for setup in Setup
        if (found := find_published(application, grid, processors, setup)) is not None
    ]


def published_communication() -> list[ReproductionRow]:
    return [
        cell(COMMUNICATION[synchronized], "poisson", grid, 16, setup, found, single)
        for grid in (100, 400, 4000)
        for synchronized in (False, True)
        if (single := find_communication("poisson", grid, 16, Setup.PBS_1, synchronized=synchronized)) is not None
        for setup in Setup
        if (found := find_communication("poisson", grid, 16, setup, synchronized=synchronized)) is not None
    ]


def figure_9() -> list[BorderExchangeRow]:
    return [
        BorderExchangeRow(
            application="poisson", grid=grid, processors=16, clusters=2, synchronized=True, process=4 * column + row,
            column=column, row=row, component=column // 2, total_s=float(text), n=1,
        )
        for grid, lines in FIGURE_9.items()
        for row, line in enumerate(reversed(lines))
        for column, text in enumerate(line.split())
    ]  # fmt: skip


def total(grid: int, clusters: int, verdict: str, *, synchronized: bool = True) -> CommunicationRow:
    """The communication of a cell of Figure 9, or of another of its problem."""
    return CommunicationRow(
        application="poisson", grid=grid, processors=16, components=(16 // clusters,) * clusters, clusters=clusters,
        dilation=8, synchronized=synchronized, iterations=100, communication_s=1, least_s=1, most_s=1, n=1,
        verdict=verdict,
    )  # fmt: skip


def decided(rows=(), borders=(), totals=()):
    part = SimpleNamespace(border_exchange=list(borders), communication=list(totals))
    reproduced = SimpleNamespace(parts=[part])
    return {claim.id: decide(claim) for claim in reproduction_claims(reproduced, list(rows))}


def test_the_studys_own_numbers_show_its_claims():
    rows = [
        *published_cells("poisson", [(grid, 16) for grid in (50, 100, 400, 4000)]),
        *published_cells("ensflow", [(None, processors) for processors in (12, 15, 20, 30)]),
        *published_communication(),
    ]
    found = decided(rows, figure_9())
    assert {name: claim.verdict.value for name, claim in found.items()} == dict.fromkeys(
        ("C25", "C26", "C27", "C28"), "shown"
    )


def test_an_efficiency_that_does_not_fall_counts_against_c25():
    rows = published_cells("ensflow", [(None, 12)])
    (twelve,) = (row for row in rows if row.setup == Setup.PBS_1)
    sixty = twelve.model_copy(update={"processors": 60, "iteration_s": twelve.iteration_s / 5})
    assert decided([*rows, sixty])["C25"].verdict.value == "not shown"
    sixty = twelve.model_copy(update={"processors": 60, "iteration_s": twelve.iteration_s / 5 / 0.7})
    assert decided([*rows, sixty])["C25"].verdict.value == "shown"


@pytest.mark.parametrize(("verdict", "says"), [("valid", "shown"), ("suspect", "shown"), ("void", "undecided")])
def test_void_cells_decide_nothing(verdict, says):
    rows = published_cells("poisson", [(100, 16), (4000, 16)], verdict=verdict)
    assert decided(rows)["C26"].verdict.value == says


@pytest.mark.parametrize(("verdict", "says"), [("valid", "shown"), ("suspect", "shown"), ("void", "undecided")])
def test_border_exchanges_of_void_cells_decide_nothing(verdict, says):
    totals = [total(grid, 2, verdict) for grid in FIGURE_9]
    assert decided(borders=figure_9(), totals=totals)["C27"].verdict.value == says


def test_a_void_cell_in_one_cluster_leaves_the_factors_of_communication_over_it_undecided():
    void = [
        row.model_copy(update={"verdict": "void"}) if row.setup == Setup.PBS_1 and row.grid == 400 else row
        for row in published_communication()
    ]
    decisions = decided(void)["C28"].decisions
    of_grid = [decision for decision in decisions if "grid 400:" in decision.says]
    assert of_grid
    assert {decision.verdict.value for decision in of_grid} == {"undecided"}


def test_a_void_cell_leaves_undecided_what_it_is_a_part_of_and_nothing_else():
    totals = [total(100, 2, "valid"), total(4000, 2, "void")]
    decisions = decided(borders=figure_9(), totals=totals)["C27"].decisions
    assert [decision.verdict.value for decision in decisions] == ["shown", "undecided", "undecided"]
    others = [total(100, 4, "void"), total(100, 2, "void", synchronized=False), total(400, 2, "void")]
    assert decided(borders=figure_9(), totals=others)["C27"].verdict.value == "shown"


def test_an_interval_that_reaches_across_decides_nothing():
    rows = published_cells("poisson", [(100, 16), (4000, 16)])
    dilated = [row if row.factor is None else row.model_copy(update={"ci_low": 1.0, "ci_high": 60.0}) for row in rows]
    assert decided(dilated)["C26"].verdict.value == "undecided"


def test_of_what_was_not_measured_nothing_is_said():
    assert decided(published_cells("poisson", [(100, 16)])) == {}
