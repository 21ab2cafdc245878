"""C25 to C28 on cells as they were published: what shows, what does not, and what leaves a part undecided.

The study printed no intervals. Here every value is taken as known to a ten-thousandth.
"""

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


NARROW = 1e-4
"""How far an interval reaches to either side, relative to its value."""


def cell(quantity: str, application: str, grid: int | None, processors: int, setup: Setup, found, single, **changes):
    factor = None if setup is Setup.PBS_1 else found.iteration_s / single.iteration_s
    return ReproductionRow.model_validate(
        {
            "quantity": quantity, "application": application, "grid": grid, "processors": processors,
            "setup": setup.value, "dilation": 8, "processor_speed": 1, "iteration_s": found.iteration_s,
            "factor": factor, "ci_low": factor and (1 - NARROW) * factor, "ci_high": factor and (1 + NARROW) * factor,
            "published_s": 1.0, "calibrated": False, "n": 3, "verdict": "valid", **changes,
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
            column=column, row=row, component=column // 2, total_s=float(text), ci_low=(1 - NARROW) * float(text),
            ci_high=(1 + NARROW) * float(text), n=3,
        )
        for grid, lines in FIGURE_9.items()
        for row, line in enumerate(reversed(lines))
        for column, text in enumerate(line.split())
    ]  # fmt: skip


def total(
    grid: int, clusters: int, verdict: str = "valid", *, synchronized: bool = True, iteration_s: float = 1.0
) -> CommunicationRow:
    """The communication of a cell of Figure 9, or of another of its problem."""
    total_s = 100 * iteration_s
    return CommunicationRow(
        application="poisson", grid=grid, processors=16, components=(16 // clusters,) * clusters, clusters=clusters,
        dilation=8, synchronized=synchronized, iterations=100, communication_s=total_s,
        ci_low=(1 - NARROW) * total_s, ci_high=(1 + NARROW) * total_s, least_s=total_s, most_s=total_s, n=3,
        verdict=verdict,
    )  # fmt: skip


def published_totals() -> list[CommunicationRow]:
    return [
        total(grid, setup.clusters, synchronized=synchronized, iteration_s=found.iteration_s)
        for grid in (100, 400, 4000)
        for setup in (Setup.PBS_1, Setup.GLOBUS_2, Setup.GLOBUS_4)
        for synchronized in (False, True)
        if (found := find_communication("poisson", grid, 16, setup, synchronized=synchronized)) is not None
    ]


def ensflow_jobs(processors: int, iteration_s: float) -> list[SimpleNamespace]:
    """Runs of Ensflow in one cluster."""
    return [
        SimpleNamespace(application="ensflow", clusters=1, state="finished", processors=processors, iteration_s=took_s)
        for took_s in (0.999 * iteration_s, iteration_s, 1.001 * iteration_s)
    ]


def decided(rows=(), borders=(), totals=(), jobs=()):
    part = SimpleNamespace(border_exchange=list(borders), communication=list(totals), jobs=list(jobs))
    reproduced = SimpleNamespace(parts=[part])
    return {claim.id: decide(claim) for claim in reproduction_claims(reproduced, list(rows))}


def test_the_studys_own_numbers_show_its_claims():
    rows = [
        *published_cells("poisson", [(grid, 16) for grid in (50, 100, 400, 4000)]),
        *published_cells("ensflow", [(None, processors) for processors in (12, 15, 20, 30)]),
        *published_communication(),
    ]
    found = decided(rows, figure_9(), published_totals())
    assert {name: claim.verdict.value for name, claim in found.items()} == dict.fromkeys(
        ("C25", "C26", "C27", "C28"), "shown"
    )


def test_an_efficiency_that_does_not_fall_counts_against_c25():
    rows = published_cells("ensflow", [(None, 12)])
    (twelve,) = (row for row in rows if row.setup == Setup.PBS_1)
    for efficiency, says in ((1.0, "not shown"), (0.7, "shown")):
        took_s = twelve.iteration_s / 5 / efficiency
        sixty = twelve.model_copy(update={"processors": 60, "iteration_s": took_s})
        jobs = [*ensflow_jobs(12, twelve.iteration_s), *ensflow_jobs(60, took_s)]
        found = decided([*rows, sixty], jobs=jobs)["C25"]
        assert found.verdict.value == says
        assert found.decisions[-1].value == pytest.approx(efficiency)
        assert decided([*rows, sixty], jobs=jobs[:1])["C25"].decisions[-1].verdict.value == "undecided"


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


def test_cells_that_ran_once_have_no_interval_and_decide_nothing():
    once = {"ci_low": None, "ci_high": None}
    rows = [
        row.model_copy(update=once)
        for row in (
            *published_cells("poisson", [(100, 16), (4000, 16)]), *published_cells("ensflow", [(None, 12)]),
            *published_communication(),
        )
    ]  # fmt: skip
    borders = [row.model_copy(update=once) for row in figure_9()]
    found = decided(rows, borders, [row.model_copy(update=once) for row in published_totals()])
    assert list(found) == ["C25", "C26", "C27", "C28"]
    verdicts = {decision.verdict.value for claim in found.values() for decision in claim.decisions}
    assert verdicts == {"undecided"}


def test_an_interval_of_communication_that_reaches_across_decides_nothing():
    wide = [
        row.model_copy(update={"ci_low": row.communication_s / 40, "ci_high": row.communication_s * 40})
        for row in published_totals()
    ]
    decisions = decided(published_communication(), totals=wide)["C28"].decisions
    helping = [part for part in decisions if "over not" in part.says]
    assert {part.verdict.value for part in helping} == {"undecided"}
    assert len(helping) == 3


def test_of_what_was_not_measured_nothing_is_said():
    assert decided(published_cells("poisson", [(100, 16)])) == {}
