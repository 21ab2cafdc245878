"""The results of a reproduction beside the published ones: a row for each runtime and communication time; mean errors.

A published total has a published number of iterations; the measured total is the measured time of an iteration times
that number. Factors are relative to one cluster under PBS, on both sides. Cells from which the numbers of the shipped
topologies were taken are marked as calibrated; measurements of the other cells are predictions.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from emulator.fidelity.intervals import Estimate, quotient
from emulator.model.cell_rows import CommunicationRow, ExtensionFactorRow, ReproductionRow
from emulator.model.documents import validate
from emulator.runs.matrix import Matrix
from emulator.runs.run_directory import RunRecords
from emulator.studies.published_runtimes import (
    TEN_RUNS_PROCESSORS,
    PublishedCommunication,
    PublishedRuntime,
    Setup,
    find_communication,
    find_published,
)
from emulator.studies.reproduction import Reproduced

RUNTIME: Final = "runtime"
COMMUNICATION: Final = {False: "communication", True: "communication, synchronized"}
CALIBRATED_GRIDS: Final = (100, 400, 4000)
"""With Poisson on 16 processors, the only published cells that the numbers of `das2` and `four-by-32` came from."""

CALIBRATED_WEIGHT: Final = ("ensflow", 12, Setup.PBS_1)
"""The published cell that Ensflow's weight in the processor profile came from."""


def reproduction_rows(reproduced: Reproduced) -> tuple[ReproductionRow, ...]:
    """Return the rows of every problem, in order: runtimes, then communication where it was measured."""
    return tuple(row for records in reproduced.parts for row in _of_problem(records))


@dataclass(frozen=True, slots=True)
class Errors:
    """Mean absolute relative errors of totals and factors, and their numbers; None where there are none."""

    totals: float | None
    n_totals: int
    factors: float | None
    n_factors: int


def mean_errors(rows: Sequence[ReproductionRow], quantity: str, *, calibrated: bool) -> Errors:
    """Return the mean absolute errors of the cells that were calibrated on, or of those that were predicted."""
    chosen = [row for row in rows if row.quantity == quantity and row.calibrated is calibrated]
    totals = [abs(row.error) for row in chosen if row.error is not None]
    factors = [abs(row.factor_error) for row in chosen if row.factor_error is not None]
    return Errors(_mean(totals), len(totals), _mean(factors), len(factors))


def _mean(errors: Sequence[float]) -> float | None:
    return statistics.fmean(errors) if errors else None


def _of_problem(records: RunRecords) -> Iterator[ReproductionRow]:
    matrix = validate(records.manifest.workload, Matrix, source=str(records.path))
    for factors in records.extension_factors:
        yield from _runtime(factors, matrix.processor_speed)
    for row in records.communication:
        yield from _communication(row, records.communication)


def _runtime(row: ExtensionFactorRow, processor_speed: float) -> Iterator[ReproductionRow]:
    setup = Setup.of(row.clusters, as_coallocated=bool(row.interconnect_coallocated))
    if setup is None or row.iteration_s is None:
        return
    published = find_published(row.application, row.grid, row.processors, setup)
    single = find_published(row.application, row.grid, row.processors, Setup.PBS_1)
    is_single = setup is Setup.PBS_1
    found = _Found(row, setup, row.iteration_s, published, None if is_single else single)
    factor = None if is_single else row.extension_factor
    ends = (None, None) if is_single else (row.ci_low, row.ci_high)
    yield found.row(RUNTIME, processor_speed, factor, *ends)


def setup_of(row: CommunicationRow, rows: Sequence[CommunicationRow]) -> Setup | None:
    """Return the setup of a communication time among the `rows` of its problem; None if the study had none."""
    alone = _alone(row, rows)
    return Setup.of(row.clusters, as_coallocated=alone is not None and row.interconnect != alone.interconnect)


def iteration_of(row: CommunicationRow) -> Estimate:
    """Return the communication time of an iteration."""
    low, high = (None if end is None else end / row.iterations for end in (row.ci_low, row.ci_high))
    return Estimate(row.communication_s / row.iterations, low, high, row.n)


def _alone(row: CommunicationRow, rows: Sequence[CommunicationRow]) -> CommunicationRow | None:
    return next((other for other in rows if other.clusters == 1 and other.synchronized is row.synchronized), None)


def _communication(row: CommunicationRow, rows: Sequence[CommunicationRow]) -> Iterator[ReproductionRow]:
    alone, setup = _alone(row, rows), setup_of(row, rows)
    if setup is None:
        return
    is_single = setup is Setup.PBS_1
    published, single = (
        find_communication(row.application, row.grid, row.processors, run_as, synchronized=row.synchronized)
        for run_as in (setup, Setup.PBS_1)
    )
    measured = iteration_of(row)
    found = _Found(row, setup, measured.value, published, None if is_single else single)
    if is_single or alone is None:
        yield found.row(COMMUNICATION[row.synchronized], 1.0, None, None, None)
    else:
        factor = quotient(measured, iteration_of(alone))
        yield found.row(COMMUNICATION[row.synchronized], 1.0, factor.value, factor.low, factor.high)


@dataclass(frozen=True, slots=True)
class _Found:
    """A measured cell with its published values, and those of the same problem in one cluster (None: this is that)."""

    measured: ExtensionFactorRow | CommunicationRow
    setup: Setup
    iteration_s: float
    published: PublishedRuntime | PublishedCommunication | None
    single: PublishedRuntime | PublishedCommunication | None

    def row(
        self, quantity: str, processor_speed: float, factor: float | None, ci_low: float | None, ci_high: float | None
    ) -> ReproductionRow:
        """Return the row, with the errors of what was published."""
        measured, published = self.measured, self.published
        published_factor = None
        if published is not None and self.single is not None:
            published_factor = published.iteration_s / self.single.iteration_s
        return ReproductionRow(
            quantity=quantity,
            application=measured.application,
            grid=measured.grid,
            processors=measured.processors,
            setup=self.setup.value,
            dilation=measured.dilation,
            processor_speed=processor_speed,
            iterations=None if published is None else published.iterations,
            iteration_s=self.iteration_s,
            published_s=None if published is None else published.iteration_s * published.iterations,
            measured_s=None if published is None else self.iteration_s * published.iterations,
            error=None if published is None else self.iteration_s * processor_speed / published.iteration_s - 1,
            published_factor=published_factor,
            factor=factor,
            ci_low=ci_low,
            ci_high=ci_high,
            factor_error=None if factor is None or published_factor is None else factor / published_factor - 1,
            calibrated=_calibrated(measured, self.setup),
            n=measured.n,
            verdict=measured.verdict,
        )


def _calibrated(row: ExtensionFactorRow | CommunicationRow, setup: Setup) -> bool:
    if (row.application, row.processors) == ("poisson", TEN_RUNS_PROCESSORS):
        return row.grid in CALIBRATED_GRIDS
    return (row.application, row.processors, setup) == CALIBRATED_WEIGHT
