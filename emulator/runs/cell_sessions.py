"""Running the cells of a matrix at one dilation as one recorded run: held, its links checked, concluded.

A measurement consists of such sessions, one for each dilation. Each of its controls has others, with the wide area
programmed otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from emulator.containers.wan.controls import Control
from emulator.fidelity.verdict import Verdict, judge_links, judge_traffic
from emulator.model.clock import Dilation
from emulator.model.documents import validate
from emulator.model.evidence import LinkCheck
from emulator.model.records import RunKind, RunProgress
from emulator.model.views import RunRequest
from emulator.runs.cell_runs import CellRuns, run_in_turn, turns
from emulator.runs.holding import Testbed, held
from emulator.runs.matrix import Layout, Matrix, Problem
from emulator.runs.progress import ReportProgress
from emulator.runs.recorded_run import begun_manifest, carried_traffic, checked_links, conclude, recorded
from emulator.runs.recording import EndedJob, Finished


@dataclass(frozen=True, slots=True)
class SessionRuns:
    """The outcome of the cells of sessions: the finished jobs of each, and the link checks behind those.

    Jobs are judged by the checks of their own session, too. The problems in `raised` need a larger dilation.
    """

    finished: Mapping[str, tuple[EndedJob, ...]]
    checks: tuple[LinkCheck, ...] = ()
    failures: tuple[str, ...] = ()
    raised: tuple[Problem, ...] = ()

    @classmethod
    def together(cls, sessions: Iterable[SessionRuns]) -> SessionRuns:
        """Return the outcome of all `sessions`; cells that none of them ran have no jobs."""
        made = list(sessions)
        finished: dict[str, tuple[EndedJob, ...]] = {}
        for session in made:
            finished |= {name: (*finished.get(name, ()), *jobs) for name, jobs in session.finished.items()}
        return cls(
            finished,
            tuple(check for session in made for check in session.checks),
            tuple(failure for session in made for failure in session.failures),
        )

    def of(self, cell: str) -> tuple[EndedJob, ...]:
        """Return the finished jobs of the cell of that name."""
        return self.finished.get(cell, ())


@dataclass(frozen=True, slots=True)
class Session:
    """A run of the cells of `layout` at a dilation, under a `control`; its records go to `records`.

    `finished` are jobs of earlier sessions; what is missing of `matrix.repeat` is run. `may_raise` tells whether a
    problem may be left to a session at a larger dilation. What is not valid is run again, unless `every_run_counts`.
    `progress` is that of the records when it has ended: they are not complete if the measurement has more to write.
    """

    matrix: Matrix
    layout: Layout
    dilation: Dilation
    records: Path
    control: Control = Control.AS_ASKED
    finished: Finished = field(default_factory=dict)
    may_raise: Callable[[Problem], bool] = lambda problem: False
    every_run_counts: bool = False
    progress: RunProgress = RunProgress.COMPLETE

    @property
    def jobs(self) -> int:
        """How many runs are missing."""
        return len(turns(self.layout, self.matrix.repeat, self.finished))

    def run(self, testbed: Testbed, report_progress: ReportProgress, *, more_follow: bool = False) -> SessionRuns:
        """Run the missing cells, and return the runs of all cells; if `more_follow`, links are left as they are.

        Raises:
            TestbedBusy: if another run holds the testbed.
            RunFailed: if the testbed was lost, or no job finished at all.
        """
        matrix = self.matrix
        stated = {"name": matrix.name, "dilation": self.dilation.factor, "paced_middleware": False}
        request = validate(stated, RunRequest, source="measure")
        testbed_here = self._controlled(testbed)
        manifest = begun_manifest(testbed_here, RunKind.MEASUREMENT, request, matrix.model_dump(mode="json"), self.jobs)
        manifest = manifest.model_copy(update={"control": self.control.value})
        with (
            held(testbed, request, more_follow=more_follow) as run,
            recorded(testbed_here, run, manifest, self.records) as recorder,
        ):
            with (
                checked_links(testbed_here, recorder, report_progress) as checks,
                carried_traffic(testbed_here, matrix.traffic, recorder) as load,
            ):
                runs = run_in_turn(
                    testbed_here,
                    run,
                    recorder,
                    self.layout,
                    matrix.repeat,
                    self.finished,
                    report_progress,
                    self.may_raise,
                    every_run_counts=self.every_run_counts,
                )
            conclude(testbed_here, run, recorder, checks, self.jobs, self.progress)
        return self._judged(runs, tuple(checks), judge_traffic(load.missing_share), recorder.verdicts)

    def _judged(
        self, runs: CellRuns, checks: tuple[LinkCheck, ...], traffic: Verdict, verdicts: Mapping[int, Verdict]
    ) -> SessionRuns:
        """Return the runs with all that is held against those made here.

        That is the checks of the links, the verdict on `traffic`, and the last `verdicts` on the jobs by number.
        """
        finished = {}
        for cell in self.layout.cells:
            verdict = Verdict.worst_of([judge_links(checks, cell.specification.clusters), traffic])
            finished[cell.name] = tuple(
                job.judged_also(Verdict.worst_of([verdict, verdicts[job.id]])) if job.folder == self.records else job
                for job in runs.finished[cell.name]
            )
        return SessionRuns(finished, checks, runs.failures, runs.raised)

    def _controlled(self, testbed: Testbed) -> Testbed:
        """Return `testbed` with what the control leaves of its wide area; the original is needed to give it back."""
        topology = self.control.of(testbed.topology, self.dilation)
        return replace(testbed, topology=topology, wide_area=testbed.wide_area.under(self.control))
