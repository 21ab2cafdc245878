"""Claims C25 to C28, of the measurement study on DAS-2, stated on what a reproduction measured.

Each part of a claim is a measured value and the range in which the claim says it lies. What a reproduction did not
measure is left out of its claims, and a value without an interval, as of a cell that ran once, decides nothing.
`claims` decides them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from emulator.fidelity.intervals import Estimate, quotient, ratio_of_means
from emulator.fidelity.verdict import Judgement
from emulator.model.cell_rows import BorderExchangeRow, CommunicationRow, ReproductionRow
from emulator.model.job import JobState
from emulator.model.records import JobRow
from emulator.studies.published_runtimes import Setup
from emulator.studies.reproduction import Reproduced
from emulator.studies.reproduction_rows import COMMUNICATION, RUNTIME, iteration_of, setup_of
from emulator.studies.statements import Claim, Range, ValuePart

ALIKE: Final = 0.15
"""The largest difference between Ensflow's runs in several clusters and in one: up to 14% in the study itself."""

EFFICIENCY: Final = (60, 0.6, 0.8)
"""Processors, and the range of Ensflow's efficiency on them relative to 12 processors, "about 0.7"."""

VANISHED: Final = 1.25
"""The extension factor from which on co-allocation does not pay (Ernemann et al.): below it a penalty is small."""

SYNCHRONIZED_RATIOS: Final = (9.8, 36.7)
"""Globus-2 and Globus-4 over PBS, synchronized, in Table 10; the text says 10 to 35."""

OTHER_RATIOS: Final = (4.6, 18.4)
"""The same where processes are not synchronized; the text says about 13."""

HELPS: Final = 1.2

CommunicationTimes = Mapping[tuple[int | None, Setup, bool], CommunicationRow]
"""The communication times of a reproduction by grid, setup, and whether processes are synchronized."""


def reproduction_claims(reproduced: Reproduced, rows: Sequence[ReproductionRow]) -> tuple[Claim, ...]:
    """Return the claims that `rows`, those of `reproduced`, and its border exchanges can decide."""
    borders = [row for records in reproduced.parts for row in records.border_exchange]
    totals = [row for records in reproduced.parts for row in records.communication]
    jobs = [job for records in reproduced.parts for job in records.jobs]
    claims = (
        Claim(
            "C25", "section 4.2", "Ensflow over several clusters takes about what it takes in one; relative to 12 "
            "processors its efficiency falls to about 0.7 on 60.", tuple(_ensflow(rows, jobs)),
        ),
        Claim(
            "C26", "Fig. 4", "The penalty of several clusters vanishes as Poisson's grid grows.",
            tuple(_vanishing(rows)),
        ),
        Claim(
            "C27", "Fig. 9", "Over two clusters, the columns beside the wide area communicate longest, relatively far "
            "more at grid 100 than at grid 4000.", tuple(_columns(borders, totals)),
        ),
        Claim(
            "C28", "Table 10", "Synchronized, one cluster communicates 10 to 35 times faster than several, otherwise "
            "about 13 times; desynchronizing helps several clusters at large grids, and not PBS.",
            tuple(_desynchronizing(rows, _communication_times(reproduced))),
        ),
    )  # fmt: skip
    return tuple(claim for claim in claims if claim.parts)


def _ensflow(rows: Sequence[ReproductionRow], jobs: Sequence[JobRow]) -> Iterator[ValuePart]:
    runs = [row for row in rows if row.application == "ensflow" and row.quantity == RUNTIME]
    for row in runs:
        if row.factor is not None and row.published_s is not None:
            says = f"{row.setup} on {row.processors} processors takes as long as pbs-1, within {ALIKE:.0%}"
            yield _within(says, _factor(row), 1 / (1 + ALIKE), 1 + ALIKE, [row])
    single = {row.processors: row for row in runs if row.setup == Setup.PBS_1}
    most, low, high = EFFICIENCY
    if {12, most} <= single.keys():
        says = f"efficiency of {most} processors relative to 12, {low:g} to {high:g}"
        yield _within(says, _efficiency(single[12], single[most], jobs), low, high, [single[12], single[most]])


def _efficiency(few: ReproductionRow, many: ReproductionRow, jobs: Sequence[JobRow]) -> Estimate:
    """Return the efficiency on many processors relative to few, with the interval of the `jobs` in one cluster."""
    iterations_s: dict[int, list[float]] = {few.processors: [], many.processors: []}
    for job in jobs:
        is_alone = (job.application, job.clusters, job.state) == (few.application, 1, JobState.FINISHED)
        if is_alone and job.iteration_s is not None and job.processors in iterations_s:
            iterations_s[job.processors].append(job.processors * job.iteration_s)
    found = ratio_of_means(iterations_s[few.processors], iterations_s[many.processors])
    used = few.processors * few.iteration_s / (many.processors * many.iteration_s)
    return found or Estimate(used, None, None, 1)


def _vanishing(rows: Sequence[ReproductionRow]) -> Iterator[ValuePart]:
    runs = [row for row in rows if (row.application, row.quantity) == ("poisson", RUNTIME) and row.factor is not None]
    for processors in dict.fromkeys(row.processors for row in runs):
        for setup in (Setup.GLOBUS_2, Setup.GLOBUS_4):
            by_grid = sorted(
                (row for row in runs if (row.processors, row.setup) == (processors, setup)),
                key=lambda row: row.grid or 0,
            )
            for smaller, larger in pairwise(by_grid):
                says = f"{setup} on {processors} processors: factor at grid {larger.grid} below that at {smaller.grid}"
                yield _within(says, quotient(_factor(larger), _factor(smaller)), 0.0, 1.0, [smaller, larger])
            if len(by_grid) > 1:
                says = f"{setup} on {processors} processors: factor at grid {by_grid[-1].grid} below {VANISHED}"
                yield _within(says, _factor(by_grid[-1]), 0.0, VANISHED, by_grid[-1:])


def _columns(borders: Sequence[BorderExchangeRow], totals: Sequence[CommunicationRow]) -> Iterator[ValuePart]:
    """Compare mean times of processes beside the wide area with those of the others, Globus-2, synchronized.

    The verdicts on their cells are in `totals`.
    """
    ratios: dict[int, Estimate] = {}
    for grid in sorted({row.grid for row in borders if row.grid is not None}):
        cell = [row for row in borders if (row.grid, row.clusters, row.synchronized) == (grid, 2, True)]
        beside = _beside(cell)
        of_both = [[row for row in cell if (row.column in beside) is is_beside] for is_beside in (True, False)]
        if all(of_both):
            ratios[grid] = quotient(_of_processes(of_both[0]), _of_processes(of_both[1]))
    cells = {
        grid: [row for row in totals if (row.grid, row.clusters, row.synchronized) == (grid, 2, True)]
        for grid in ratios
    }
    for grid, ratio in ratios.items():
        says = f"grid {grid}: columns beside the wide area over the others, above 1"
        yield _within(says, ratio, 1.0, math.inf, cells[grid])
    for smaller, larger in pairwise(ratios):
        relative = quotient(ratios[smaller], ratios[larger])
        says, both = f"the same at grid {smaller} over that at {larger}, above 1", [*cells[smaller], *cells[larger]]
        yield _within(says, relative, 1.0, math.inf, both)


def _of_processes(cell: Sequence[BorderExchangeRow]) -> Estimate:
    """Return the mean time of some processes of a cell.

    Those of one run are not independent, so its interval is as wide as if their times rose and fell together.
    """
    value, n = statistics.fmean(row.total_s for row in cell), min(row.n for row in cell)
    ends = [(row.ci_low, row.ci_high) for row in cell if row.ci_low is not None and row.ci_high is not None]
    if len(ends) < len(cell):
        return Estimate(value, None, None, n)
    low, high = (statistics.fmean(of_end) for of_end in zip(*ends, strict=True))
    return Estimate(value, low, high, n)


def _beside(cell: Sequence[BorderExchangeRow]) -> set[int]:
    """Return the columns next to one of another component."""
    component = {row.column: row.component for row in cell}
    return {
        column
        for column in component
        if any(component.get(other, component[column]) != component[column] for other in (column - 1, column + 1))
    }


def _desynchronizing(rows: Sequence[ReproductionRow], times: CommunicationTimes) -> Iterator[ValuePart]:
    found = {(row.grid, row.setup, row.quantity): row for row in rows if row.quantity in COMMUNICATION.values()}
    grids = sorted({row.grid for row in found.values() if row.grid is not None})
    for synchronized, (low, high) in ((True, SYNCHRONIZED_RATIOS), (False, OTHER_RATIOS)):
        for grid in grids:
            alone = found.get((grid, Setup.PBS_1, COMMUNICATION[synchronized]))
            for setup in (Setup.GLOBUS_2, Setup.GLOBUS_4):
                row = found.get((grid, setup, COMMUNICATION[synchronized]))
                if row is not None and row.factor is not None:
                    says = f"{COMMUNICATION[synchronized]}, grid {grid}: {setup} over pbs-1, {low:g} to {high:g}"
                    # Unlike a runtime's factor, this one has the verdict of its own cell alone.
                    yield _within(says, _factor(row), low, high, [row] if alone is None else [row, alone])
    yield from _helping(times)


def _helping(times: CommunicationTimes) -> Iterator[ValuePart]:
    """State what it helps not to synchronize, at the largest grid."""
    largest = max((grid for grid, _, _ in times if grid is not None), default=None)
    for setup, low, high in (
        (Setup.GLOBUS_2, HELPS, math.inf), (Setup.GLOBUS_4, HELPS, math.inf), (Setup.PBS_1, 0.0, HELPS),
    ):  # fmt: skip
        both = [times[key] for key in ((largest, setup, True), (largest, setup, False)) if key in times]
        if len(both) == 2:
            ratio = quotient(iteration_of(both[0]), iteration_of(both[1]))
            end = f"above {HELPS:g}" if low else f"below {HELPS:g}"
            yield _within(f"grid {largest}, {setup}: synchronized over not, {end}", ratio, low, high, both)


def _communication_times(reproduced: Reproduced) -> CommunicationTimes:
    found: dict[tuple[int | None, Setup, bool], CommunicationRow] = {}
    for records in reproduced.parts:
        for row in records.communication:
            setup = setup_of(row, records.communication)
            if setup is not None:
                found[row.grid, setup, row.synchronized] = row
    return found


def _factor(row: ReproductionRow) -> Estimate:
    return Estimate(row.factor or math.nan, row.ci_low, row.ci_high, row.n)


def _within(
    says: str, value: Estimate, low: float, high: float, rows: Sequence[ReproductionRow | CommunicationRow]
) -> ValuePart:
    """State that `value` lies between `low` and `high`; void if it has no interval, or a row behind it is void."""
    is_open = value.low is None or any(row.verdict == Judgement.VOID for row in rows)
    return ValuePart(says, value, Range(low, high), void=is_open)
