"""Running the cells of a matrix, one job at a time, with reports of progress.

The cells of a problem take turns (1, 2, 4, 1, 2, 4, ... clusters), so that a slow drift of the host affects all of them
alike. A cell whose job fails is given up; the others go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from emulator.model.job import JobState
from emulator.model.views import EventView, JobView, RunView, Submission
from emulator.runs.following import ended_early, follow_until
from emulator.runs.holding import Testbed
from emulator.runs.matrix import Cell, Layout
from emulator.runs.progress import ReportProgress, jobs_progress
from emulator.runs.recording import Recorder

Finished = Mapping[str, Sequence[JobView]]
"""The finished jobs of each cell, by its name."""


@dataclass(frozen=True, slots=True)
class CellRuns:
    """The outcome of the cells: their finished jobs, and a sentence for each cell that was given up."""

    finished: dict[str, list[JobView]]
    failures: tuple[str, ...]


def turns(layout: Layout, repeat: int, finished: Finished) -> list[Cell]:
    """Return the runs that are missing, in order, beside the jobs that `finished` holds."""
    return [
        cell
        for cells in layout.problems
        for turn in range(repeat)
        for cell in cells
        if turn >= len(finished.get(cell.name, ()))
    ]


@dataclass(slots=True)
class _CellProgress:
    """The progress of the cells: the current run, the number of runs, and the time that the rest takes.

    `known` counts the runs that finished earlier; `host_taken_s` are the host seconds that runs took, by cell.
    """

    layout: Layout
    repeat: int
    known: int
    host_taken_s: dict[str, list[float]] = field(default_factory=dict)

    def event_reporter(
        self, recorder: Recorder, waiting: Sequence[Cell], turn: int, report_progress: ReportProgress
    ) -> Callable[[EventView], None]:
        """Return a function that reports each event of run number `turn` of the first cell in `waiting`."""
        cells, cell = self.layout.cells, waiting[0]
        number = 1 + [known_cell.name for known_cell in cells].index(cell.name)
        stage = f"cell {number} of {len(cells)} ({cell.shown}), run {turn} of {self.repeat}"
        expected, host_left_s = self.repeat * len(cells), self.host_left_s(waiting)

        def report(event: EventView) -> None:
            now = jobs_progress(recorder, stage, expected, event.time_s)
            report_progress(replace(now, finished=now.finished + self.known, host_left_s=host_left_s))

        return report

    def host_left_s(self, cells: Sequence[Cell]) -> float | None:
        """Estimate the host seconds that `cells` will take; None before any run.

        Each takes the mean of its own runs, or of all runs if it had none.
        """
        everything = [host_s for runs in self.host_taken_s.values() for host_s in runs]
        if not everything:
            return None
        runs_of = [self.host_taken_s.get(cell.name, everything) for cell in cells]
        return sum(sum(runs) / len(runs) for runs in runs_of)


def run_in_turn(
    testbed: Testbed,
    run: RunView,
    recorder: Recorder,
    layout: Layout,
    repeat: int,
    earlier: Finished,
    report_progress: ReportProgress,
) -> CellRuns:
    """Run each cell `repeat` times, less the runs in `earlier`; return the jobs of both.

    Raises:
        RunEndedEarly: if the testbed can no longer carry the run, or no job finished at all.
    """
    finished = {cell.name: list(earlier.get(cell.name, ())) for cell in layout.cells}
    failures: dict[str, str] = {}
    progress = _CellProgress(layout, repeat, known=sum(len(jobs) for jobs in finished.values()))
    waiting = turns(layout, repeat, finished)
    testbed.client.start_run(run.id)
    while waiting:
        cell, host_began_s = waiting[0], time.monotonic()
        report = progress.event_reporter(recorder, waiting, len(finished[cell.name]) + 1, report_progress)
        job = _run_one(testbed, run, recorder, cell, report)
        if job.state is JobState.FINISHED and job.result is not None:
            finished[cell.name].append(job)
            progress.host_taken_s.setdefault(cell.name, []).append(time.monotonic() - host_began_s)
            waiting = waiting[1:]
        else:
            failures[cell.name] = f"Job {job.id} ({cell.name}) {job.state.value}: {job.reason.rstrip('.')}"
            waiting = [other for other in waiting if other.name != cell.name]
    if not any(finished.values()):
        raise ended_early(next(iter(failures.values())), recorder)
    return CellRuns(finished, tuple(failures.values()))


def _run_one(
    testbed: Testbed, run: RunView, recorder: Recorder, cell: Cell, report: Callable[[EventView], None]
) -> JobView:
    submitted = testbed.client.submit(Submission(specification=cell.specification, run=run.id))
    follow_until(lambda: submitted.id in recorder.ended, testbed, run.id, recorder, report)
    return recorder.ended[submitted.id]
