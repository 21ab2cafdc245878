"""The communication of the finished jobs of a matrix: border exchange by process and direction, totals, rates.

As in the measurement study on DAS-2 (papers' appendix, Tables 9 and 10, Figures 9 and 10): the total communication time
of a run is, summed over its iterations, the time from the last process's end of computation to the last one's end of
communication. A process's border exchange is its own time in each of the four steps. The data rate is what an interior
process sends and receives, over the synchronized communication time.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

from emulator.fidelity.intervals import Estimate, mean_of_positive
from emulator.model.cell_rows import BorderExchangeRow, CommunicationRow
from emulator.model.units import rate_mbit
from emulator.model.views import JobView
from emulator.runs.extension_factors import interconnect, judged, values
from emulator.runs.matrix import Cell, Layout
from emulator.runs.recording import EndedJob, Finished

DIRECTIONS: Final = ("top", "bottom", "left", "right")


@dataclass(frozen=True, slots=True)
class CommunicationRows:
    """The communication of each cell and of each process; empty where the matrix did not ask for it."""

    totals: tuple[CommunicationRow, ...] = ()
    processes: tuple[BorderExchangeRow, ...] = ()


def communication_rows(layout: Layout, finished: Finished) -> CommunicationRows:
    """Return the rows of the cells that have finished runs, in the order of the matrix."""
    found = [(cell, finished.get(cell.name, ())) for cell in layout.cells]
    measured = [(cell, jobs) for cell, jobs in found if values(jobs, "communication_s")]
    totals = tuple(_total(cell, jobs) for cell, jobs in measured)
    return CommunicationRows(totals, tuple(row for cell, jobs in measured for row in _processes(cell, jobs)))


def _total(cell: Cell, jobs: Sequence[EndedJob]) -> CommunicationRow:
    times_s = values(jobs, "communication_s")
    around = mean_of_positive(times_s) or Estimate(0.0, None, None, len(times_s))
    record = _record(jobs[0])
    iterations, moved_bytes = int(record["iterations"]), int(record["border_exchange_bytes"])
    data_rate_mbit = None
    if cell.synchronized and around.value > 0:
        data_rate_mbit = rate_mbit(moved_bytes * iterations, around.value)
    return CommunicationRow(
        **cell.columns,
        interconnect=interconnect(jobs),
        dilation=jobs[0].dilation,
        exchange=str(record.get("exchange", "")),
        synchronized=cell.synchronized,
        iterations=iterations,
        communication_s=around.value,
        ci_low=around.low,
        ci_high=around.high,
        least_s=min(times_s),
        most_s=max(times_s),
        border_exchange_bytes=moved_bytes,
        data_rate_mbit=data_rate_mbit,
        n=len(times_s),
        verdict=judged(jobs).judgement,
    )


def _processes(cell: Cell, jobs: Sequence[JobView]) -> Iterator[BorderExchangeRow]:
    records = [_record(job) for job in jobs]
    per_column = int(records[0]["process_rows"])
    for process in range(cell.problem.processors):
        exchanges: list[Mapping[str, float]] = [record["border_exchange_s"][process] for record in records]
        by_direction = {
            f"{direction}_s": statistics.fmean(exchange[direction] for exchange in exchanges)
            for direction in DIRECTIONS
            if all(direction in exchange for exchange in exchanges)
        }
        totals_s = [sum(exchange.values()) for exchange in exchanges]
        around = mean_of_positive(totals_s) or Estimate(statistics.fmean(totals_s), None, None, len(totals_s))
        yield BorderExchangeRow(
            **cell.columns,
            interconnect=interconnect(jobs),
            synchronized=cell.synchronized,
            process=process,
            column=process // per_column,
            row=process % per_column,
            component=_component(cell, process),
            total_s=around.value,
            ci_low=around.low,
            ci_high=around.high,
            n=len(exchanges),
            **by_direction,
        )


def _component(cell: Cell, process: int) -> int:
    """Return the component of a process: components are consecutive blocks of processes."""
    ends = accumulate(cell.specification.components)
    return next(component for component, end in enumerate(ends) if process < end)


def _record(job: JobView) -> Mapping[str, Any]:
    return job.result or {}
