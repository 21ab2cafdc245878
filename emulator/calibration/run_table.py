"""A recorded run as a table of known runtimes, to which a topology's numbers can be fitted."""

from __future__ import annotations

from emulator.fidelity.iteration.table import Table, table_of
from emulator.fidelity.judgement import Judgement
from emulator.model.errors import InvalidInput
from emulator.runs.measured_iterations import MeasuredIterations, measured_iterations
from emulator.runs.run_directory import RunRecords


def run_table(run: RunRecords) -> Table:
    """Return a row for each kind of job of a live run, the mean of its jobs; void jobs are left out.

    Raises:
        InvalidInput: if no finished job recorded the time of its iterations, or all are void.
    """
    rows = [_row(measured) for measured in measured_iterations(run) if measured.judgement is not Judgement.VOID]
    if not rows:
        raise InvalidInput(f"{run.path}: all of its jobs are void, and say nothing about a topology: measure again.")
    return table_of(rows)


def _row(measured: MeasuredIterations) -> dict[str, object]:
    job, iterations = measured.job, measured.rows[0].iterations or 1
    return {
        "application": job.application,
        "grid": job.grid,
        "processors": job.processors,
        "clusters": ",".join(str(size) for _, size in job.parts) if len(job.parts) > 1 else "1",
        "on": ",".join(name for name, _ in job.parts),
        "interconnect": job.which,
        "iterations": iterations,
        "runtime_s": measured.iteration_s * iterations,
        "runs": len(measured.rows),
    }
