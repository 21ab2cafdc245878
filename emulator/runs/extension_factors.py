"""Extension factors from the finished jobs of a matrix: a row for each cell, with its interval and its verdict.

A factor compares a cell with the same problem in one cluster. Synchronized runs are for communication times only: their
barriers would lengthen the runtimes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from emulator.fidelity.intervals import ratio_of_means
from emulator.fidelity.verdict import Verdict
from emulator.model.cell_rows import ExtensionFactorRow
from emulator.model.counts import number_of
from emulator.model.interconnects import WIDE_AREA
from emulator.model.rows import JOINED_BY
from emulator.model.views import JobView
from emulator.runs.matrix import Cell, Layout
from emulator.runs.recording import EndedJob, Finished


@dataclass(frozen=True, slots=True)
class MeasuredCell:
    """The measurement of one cell: its row, the verdict with its reasons, and the share of late phases."""

    row: ExtensionFactorRow
    verdict: Verdict
    late_phase_share: float | None


def measured_cells(layout: Layout, finished: Finished) -> tuple[MeasuredCell, ...]:
    """Return the cells that have finished runs, in the order of the matrix."""
    found: list[MeasuredCell] = []
    for cells in layout.problems:
        single = next((finished.get(cell.name, ()) for cell in cells if cell.variant.is_single), ())
        for cell in cells:
            if (jobs := finished.get(cell.name)) and not cell.synchronized:
                found.append(_measured(cell, jobs, single))
    return tuple(found)


def factors_so_far(cells: Sequence[Cell], finished: Finished) -> dict[str, str]:
    """Return a sentence about the factor of each of the `cells` of a problem that has one, by the cell's name."""
    single = next((finished.get(cell.name, ()) for cell in cells if cell.variant.is_single), ())
    found: dict[str, str] = {}
    for cell in cells:
        if cell.variant.is_single or cell.synchronized or not (jobs := finished.get(cell.name)) or not single:
            continue
        row = _measured(cell, jobs, single).row
        runs = number_of(row.n, "run")
        found[cell.name] = f"{cell.shown}: factor {row.extension_factor:.3f} so far ({runs}, {row.verdict})"
    return found


def _measured(cell: Cell, jobs: Sequence[EndedJob], single: Sequence[EndedJob]) -> MeasuredCell:
    runtimes_s, single_runtimes_s = values(jobs, "runtime_s"), values(single, "runtime_s")
    is_single = cell.variant.is_single
    factor = None if is_single else ratio_of_means(runtimes_s, single_runtimes_s)
    verdict = judged([*jobs, *single])
    row = ExtensionFactorRow(
        **cell.columns,
        interconnect_single=interconnect(single),
        interconnect_coallocated="" if is_single else interconnect(jobs),
        dilation=jobs[0].dilation,
        runtime_s=sum(runtimes_s) / len(runtimes_s),
        iteration_s=_mean(values(jobs, "iteration_s")),
        extension_factor=1.0 if is_single else factor and factor.value,
        ci_low=1.0 if is_single else factor and factor.low,
        ci_high=1.0 if is_single else factor and factor.high,
        n=len(runtimes_s),
        verdict=verdict.judgement,
        reasons="; ".join(verdict.reasons),
    )
    late, phases = sum(values(jobs, "late_phases")), sum(values(jobs, "phases"))
    return MeasuredCell(row, verdict, late / phases if phases else None)


def judged(jobs: Sequence[EndedJob]) -> Verdict:
    """Return the worst of the verdicts on `jobs`, with every reason."""
    return Verdict.worst_of(job.verdict for job in jobs)


def values(jobs: Sequence[JobView], key: str) -> list[float]:
    """Return the values under `key` in the applications' records that have one."""
    results: list[dict[str, Any]] = [job.result for job in jobs if job.result is not None]
    return [float(result[key]) for result in results if result.get(key) is not None]


def interconnect(jobs: Sequence[JobView]) -> str:
    """Return what carried the messages inside the clusters of `jobs`; empty if there are no jobs."""
    records = [job.result for job in jobs if job.result is not None]
    recorded = next((str(record["interconnects"]) for record in records if "interconnects" in record), "")
    return JOINED_BY.join(name for name in recorded.split(JOINED_BY) if name != WIDE_AREA)


def _mean(numbers: Sequence[float]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None
