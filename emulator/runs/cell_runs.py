"""Running the cells of a matrix, one job at a time, with reports of progress.

The cells of a problem take turns (1, 2, 4, 1, 2, 4, ... clusters), so that a slow drift of the host affects all of them
alike. A cell whose job fails is given up; the others go on. A run that is not valid is run again - at once, or after
the others if other work disturbed it -, and a problem that needs a larger dilation is left to another session;
`fidelity.repetition` decides.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from emulator.fidelity.repetition import LARGER_BY, Next, needs_larger, next_step
from emulator.fidelity.verdict import Verdict
from emulator.model.job import JobState
from emulator.model.records import SupersededRow
from emulator.model.views import EventView, RunView, Submission
from emulator.runs.extension_factors import factors_so_far
from emulator.runs.following import ended_early, follow_until
from emulator.runs.holding import Testbed
from emulator.runs.matrix import Cell, Layout, Problem
from emulator.runs.progress import ProgressReport, ReportProgress, jobs_progress
from emulator.runs.recording import EndedJob, Finished, Recorder
from emulator.runs.run_directory import supersede


@dataclass(frozen=True, slots=True)
class CellRuns:
    """The outcome of the cells: their finished jobs, and a sentence for each cell that was given up.

    The problems in `raised` have no finished jobs: they need a larger dilation.
    """

    finished: dict[str, list[EndedJob]]
    failures: tuple[str, ...]
    raised: tuple[Problem, ...] = ()


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

    `known` counts the runs that finished earlier, `repeated` those that were run again; `host_taken_s` are the host
    seconds that runs took, by cell.
    """

    layout: Layout
    repeat: int
    known: int
    repeated: int = 0
    host_taken_s: dict[str, list[float]] = field(default_factory=dict)

    def event_reporter(
        self, recorder: Recorder, waiting: Sequence[Cell], turn: int, report_progress: ReportProgress
    ) -> Callable[[EventView], None]:
        """Return a function that reports each event of run number `turn` of the first cell in `waiting`."""
        cells, cell = self.layout.cells, waiting[0]
        number = 1 + [known_cell.name for known_cell in cells].index(cell.name)
        stage = f"cell {number} of {len(cells)} ({cell.shown}), run {turn} of {self.repeat}"
        expected, host_left_s = self.repeat * len(cells) + self.repeated, self.host_left_s(waiting)

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


@dataclass(slots=True)
class _Repetitions:
    """The tries of the present run of each cell, and the repetitions of each problem for a busy host."""

    recorder: Recorder
    report_progress: ReportProgress
    may_raise: Callable[[Problem], bool]
    tries: dict[str, list[Verdict]] = field(default_factory=dict)
    disturbed: Counter[Problem] = field(default_factory=Counter)

    def after(self, cell: Cell, job: EndedJob) -> Next:
        """Return what follows a finished run of `cell`, and note what it supersedes."""
        tries = self.tries.setdefault(cell.name, [])
        tries.append(job.verdict)
        problem = cell.problem
        step = next_step(tries, disturbed_before=self.disturbed[problem], may_raise=self.may_raise(problem))
        if step is Next.AGAIN:
            self.disturbed[problem] += len(tries) > 1
            self._remark(cell, job, f"run again at dilation {self.recorder.dilation.factor:g}")
            self.supersede([job], "run again at the same dilation")
        else:
            del self.tries[cell.name]
        if step is Next.LARGER:
            larger = LARGER_BY * self.recorder.dilation.factor
            self._remark(cell, job, f"its problem is measured at dilation {larger:g}")
        return step

    def supersede(self, jobs: Sequence[EndedJob], because: str) -> None:
        """Note in the records that `jobs` no longer count."""
        for folder in dict.fromkeys(job.folder for job in jobs):
            rows = [_superseded(job, because) for job in jobs if job.folder == folder]
            supersede(folder, rows)

    def _remark(self, cell: Cell, job: EndedJob, what: str) -> None:
        why = "; ".join(job.verdict.reasons[:2])
        sentence = f"{cell.shown} was {job.verdict.judgement}: {why} ({what})"
        self.report_progress(ProgressReport(what, remark=sentence))


def _superseded(job: EndedJob, because: str) -> SupersededRow:
    return SupersededRow(
        job=job.id,
        name=job.specification.name,
        dilation=job.dilation,
        verdict=job.verdict.judgement,
        reasons="; ".join(job.verdict.reasons),
        because=because,
    )


def run_in_turn(
    testbed: Testbed,
    run: RunView,
    recorder: Recorder,
    layout: Layout,
    repeat: int,
    earlier: Finished,
    report_progress: ReportProgress,
    may_raise: Callable[[Problem], bool] = lambda problem: False,
    *,
    every_run_counts: bool = False,
) -> CellRuns:
    """Run each cell `repeat` times, less the runs in `earlier`; return the jobs of both.

    What is not valid is run again, unless `every_run_counts`; `may_raise` tells whether a problem may need a larger
    dilation instead.

    Raises:
        RunEndedEarly: if the testbed can no longer carry the run, or no job finished at all.
    """
    turn = _Turns(testbed, run, recorder, layout, repeat, earlier, report_progress, may_raise)
    testbed.client.start_run(run.id)
    while turn.waiting:
        turn.run_next(every_run_counts=every_run_counts)
    if turn.failures and not any(turn.finished.values()) and not turn.raised:
        raise ended_early(next(iter(turn.failures.values())), recorder)
    return CellRuns(turn.finished, tuple(turn.failures.values()), tuple(turn.raised))


class _Turns:
    """The runs that are `waiting`, in order, and what those before them left."""

    def __init__(
        self,
        testbed: Testbed,
        run: RunView,
        recorder: Recorder,
        layout: Layout,
        repeat: int,
        earlier: Finished,
        report_progress: ReportProgress,
        may_raise: Callable[[Problem], bool],
    ) -> None:
        self._testbed, self._run, self._recorder = testbed, run, recorder
        self._layout, self._report_progress = layout, report_progress
        self.finished = {cell.name: list(earlier.get(cell.name, ())) for cell in layout.cells}
        self.failures: dict[str, str] = {}
        self.raised: list[Problem] = []
        self.waiting = turns(layout, repeat, self.finished)
        self._shown: set[str] = set()
        self._progress = _CellProgress(layout, repeat, known=sum(len(jobs) for jobs in self.finished.values()))
        self._repetitions = _Repetitions(recorder, report_progress, may_raise)

    def run_next(self, *, every_run_counts: bool) -> None:
        """Make the first run that is waiting; keep its job, give its cell up, or let it run again."""
        cell, host_began_s = self.waiting[0], time.monotonic()
        turn = len(self.finished[cell.name]) + 1
        report = self._progress.event_reporter(self._recorder, self.waiting, turn, self._report_progress)
        job = _run_one(self._testbed, self._run, self._recorder, cell, report)
        if job.state is not JobState.FINISHED or job.result is None:
            self.failures[cell.name] = f"Job {job.id} ({cell.name}) {job.state.value}: {job.reason.rstrip('.')}"
            self.waiting = [other for other in self.waiting if other.name != cell.name]
            return
        self._progress.host_taken_s.setdefault(cell.name, []).append(time.monotonic() - host_began_s)
        step = Next.KEEP if every_run_counts else self._repetitions.after(cell, job)
        if step is Next.KEEP:
            self._keep(cell, job)
        else:
            self._repeat(cell, job, step)

    def _keep(self, cell: Cell, job: EndedJob) -> None:
        self.finished[cell.name].append(job)
        self.waiting = self.waiting[1:]
        for name, sentence in factors_so_far(self._cells_of(cell.problem), self.finished).items():
            if name not in self._shown:
                self._shown.add(name)
                self._report_progress(ProgressReport("measuring", remark=sentence))

    def _cells_of(self, problem: Problem) -> tuple[Cell, ...]:
        return tuple(cell for cell in self._layout.cells if cell.problem == problem)

    def _repeat(self, cell: Cell, job: EndedJob, step: Next) -> None:
        self._progress.repeated += 1
        if step is Next.AGAIN and not needs_larger(job.verdict):
            # The disturbance may be over when the other cells have run.
            self.waiting = [*self.waiting[1:], cell]
        if step is Next.LARGER:
            self.raised.append(cell.problem)
            self.waiting = [other for other in self.waiting if other.problem != cell.problem]
            # Cells that were given up are run again there, too.
            for other in self._cells_of(cell.problem):
                self.failures.pop(other.name, None)
            counted = _taken_out(self.finished, self._layout, cell.problem)
            self._repetitions.supersede([*counted, job], "its problem was measured at a larger dilation")


def _taken_out(finished: dict[str, list[EndedJob]], layout: Layout, problem: Problem) -> list[EndedJob]:
    """Take the jobs of all cells of `problem` out of `finished`, and return them."""
    names = [cell.name for cell in layout.cells if cell.problem == problem]
    taken = [job for name in names for job in finished[name]]
    finished |= {name: [] for name in names}
    return taken


def _run_one(
    testbed: Testbed, run: RunView, recorder: Recorder, cell: Cell, report: Callable[[EventView], None]
) -> EndedJob:
    submitted = testbed.client.submit(Submission(specification=cell.specification, run=run.id))
    follow_until(lambda: submitted.id in recorder.ended, testbed, run.id, recorder, report)
    return recorder.ended[submitted.id]
