"""A recorded run as a table of known runtimes, to which a topology's numbers can be fitted."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean

from apps.descriptor import Arguments, StatedWork
from apps.registry import application_named
from emulator.fidelity.iteration.once import PassedOnce
from emulator.fidelity.iteration.predicted import ModelJob
from emulator.fidelity.iteration.table import Table, table_of
from emulator.fidelity.judgement import Judgement
from emulator.model.errors import InvalidInput
from emulator.runs.measured_iterations import MeasuredIterations, measured_iterations
from emulator.runs.run_directory import RunRecords


def run_table(run: RunRecords) -> Table:
    """Return a row for each kind of job of a live run, the mean of its jobs; void and synchronized ones are left out.

    What a job passes on once is no part of its iterations: what that takes by the model, on the run's own topology, is
    not in the runtime of its row.

    Raises:
        InvalidInput: if no finished job recorded the time of its iterations, all are void, or a table cannot say what
            one of them was.
    """
    kinds = [kept for measured in measured_iterations(run) if (kept := _not_void(measured)).rows]
    if not kinds:
        raise InvalidInput(f"{run.path}: all of its jobs are void, and say nothing about a topology: measure again.")
    for measured in kinds:
        _check_sayable(run, measured.job)
    return table_of([_row(run, measured) for measured in kinds])


def _not_void(measured: MeasuredIterations) -> MeasuredIterations:
    """Return the jobs that are not void."""
    return replace(measured, rows=tuple(row for row in measured.rows if row.verdict != Judgement.VOID))


def _check_sayable(run: RunRecords, job: ModelJob) -> None:
    if job.processor_speed != 1:
        raise InvalidInput(
            f"{run.path}: its jobs had processors {job.processor_speed:g} times as fast as the topology's "
            "(processor_speed), which a table cannot say: measure jobs without it."
        )
    usual = application_named(job.application).form.exchange
    if (exchange := job.arguments.get("exchange", usual)) != usual:
        raise InvalidInput(
            f"{run.path}: {job.application} exchanged its borders {str(exchange)!r} (exchange), and in a table it does "
            f"so {usual!r}: measure jobs without that argument."
        )
    for name, value in job.arguments.items():
        if _decided(job, {name: value}) != _decided(job, {}):
            raise InvalidInput(
                f"{run.path}: {job.application} ran with {name} = {value}, which changes its iterations and which a "
                "table cannot say: measure jobs without that argument."
            )


def _decided(job: ModelJob, arguments: Arguments) -> tuple[object, ...]:
    """Return what `arguments` decide of an iteration: whether it is possible, its work, and its meetings."""
    known = application_named(job.application)
    objection = known.objection(job.grid, job.processors, arguments)
    if objection is not None:
        return (objection,)
    work, form = known.work, known.form
    if isinstance(work, StatedWork):
        share: object = (arguments.get(work.points), arguments.get(work.duration_s))
    else:
        share = work.largest_share(job.grid, job.processors, arguments)
    exchanged = None if form.all_to_all_bytes is None else form.all_to_all_bytes(job.grid, arguments)
    return share, form.phases_to_meeting(arguments), exchanged


def _computed_s(run: RunRecords, measured: MeasuredIterations) -> float:
    """Return the time of an iteration without the share of what a job passes on once."""
    job = measured.job
    try:
        once = PassedOnce(run.manifest.topology, job)
        of_iteration_s = mean(once.takes_s(row.iterations or 1) / (row.iterations or 1) for row in measured.rows)
    except InvalidInput as error:
        raise InvalidInput(
            f"{run.path}: what its {job.application} jobs pass on once cannot be told ({str(error).rstrip('.')}): "
            "measure them in emulated clusters, or in one cluster."
        ) from error
    if of_iteration_s >= measured.iteration_s:
        raise InvalidInput(
            f"{run.path}: its {job.application} jobs took less time than what they pass on once takes by the model: "
            "measure longer ones."
        )
    return measured.iteration_s - of_iteration_s


def _row(run: RunRecords, measured: MeasuredIterations) -> dict[str, object]:
    job, iterations = measured.job, measured.rows[0].iterations or 1
    return {
        "application": job.application,
        "grid": job.grid,
        "processors": job.processors,
        "clusters": ",".join(str(size) for _, size in job.parts) if len(job.parts) > 1 else "1",
        "on": ",".join(name for name, _ in job.parts),
        "interconnect": job.which,
        "iterations": iterations,
        "runtime_s": _computed_s(run, measured) * iterations,
        "runs": len(measured.rows),
    }
