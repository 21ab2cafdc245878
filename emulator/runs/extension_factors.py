"""Extension factors from the finished jobs of a matrix: a row for each cell, with its interval and its verdict.

A factor compares a cell with the same problem in one cluster. Synchronized runs are for communication times only: their
barriers would lengthen the runtimes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from emulator.fidelity.intervals import ratio_of_means
from emulator.fidelity.measures import JobMeasures
from emulator.fidelity.verdict import Verdict, judge_job, judge_links
from emulator.model.clock import Dilation
from emulator.model.evidence import LinkCheck
from emulator.model.interconnects import WIDE_AREA
from emulator.model.records import ExtensionFactorRow
from emulator.model.rows import JOINED_BY
from emulator.model.views import JobView
from emulator.runs.cell_runs import Finished
from emulator.runs.matrix import Cell, Layout
from emulator.runs.recording import EndedJob


@dataclass(frozen=True, slots=True)
class MeasuredCell:
    """The measurement of one cell: its row, the verdict with its reasons, and the share of late phases."""

    row: ExtensionFactorRow
    verdict: Verdict
    late_phase_share: float | None


def measured_cells(
    layout: Layout, finished: Finished, dilation: Dilation, checks: Sequence[LinkCheck]
) -> tuple[MeasuredCell, ...]:
    """Return the cells that have finished runs, in the order of the matrix; `checks` are those of the wide area."""
    found: list[MeasuredCell] = []
    for cells in layout.problems:
        single = next((finished[cell.name] for cell in cells if cell.variant.is_single), [])
        for cell in cells:
            if finished[cell.name] and not cell.synchronized:
                found.append(_measured(cell, finished[cell.name], single, dilation, checks))
    return tuple(found)


def _measured(
    cell: Cell,
    jobs: Sequence[JobView],
    single: Sequence[JobView],
    dilation: Dilation,
    checks: Sequence[LinkCheck],
) -> MeasuredCell:
    runtimes_s, single_runtimes_s = values(jobs, "runtime_s"), values(single, "runtime_s")
    is_single = cell.variant.is_single
    factor = None if is_single else ratio_of_means(runtimes_s, single_runtimes_s)
    verdict = judged([*jobs, *single], dilation, judge_links(checks, cell.specification.clusters))
    row = ExtensionFactorRow(
        **cell.columns,
        interconnect_single=interconnect(single),
        interconnect_coallocated="" if is_single else interconnect(jobs),
        dilation=dilation.factor,
        runtime_s=sum(runtimes_s) / len(runtimes_s),
        iteration_s=_mean(values(jobs, "iteration_s")),
        extension_factor=1.0 if is_single else factor and factor.value,
        ci_low=1.0 if is_single else factor and factor.low,
        ci_high=1.0 if is_single else factor and factor.high,
        n=len(runtimes_s),
        verdict=verdict.judgement,
    )
    late, phases = sum(values(jobs, "late_phases")), sum(values(jobs, "phases"))
    return MeasuredCell(row, verdict, late / phases if phases else None)


def judged(jobs: Sequence[JobView], dilation: Dilation, links: Verdict) -> Verdict:
    """Return the worst of the verdicts on `jobs` and `links`, with every reason."""
    return Verdict.worst_of([links, *(_verdict_on(job, dilation) for job in jobs)])


def _verdict_on(job: JobView, dilation: Dilation) -> Verdict:
    """Return the verdict that all evidence gave when the job ended; otherwise that of its record alone."""
    return job.verdict if isinstance(job, EndedJob) else judge_job(JobMeasures.of(job, dilation))


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
