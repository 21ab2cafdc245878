"""Running the cells of a matrix as one recorded run: held, its links checked, concluded.

A measurement is one such session. Each of its controls is another one, with the wide area programmed otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from emulator.containers.wan.controls import Control
from emulator.fidelity.measures import RunMeasures
from emulator.fidelity.verdict import Verdict, judge_run
from emulator.model.clock import Dilation
from emulator.model.documents import validate
from emulator.model.evidence import LinkCheck
from emulator.model.records import RunKind
from emulator.model.views import JobView, RunRequest
from emulator.runs.cell_runs import CellRuns, Finished, run_in_turn, turns
from emulator.runs.extension_factors import judged
from emulator.runs.holding import Testbed, held
from emulator.runs.matrix import Layout, Matrix
from emulator.runs.progress import ReportProgress
from emulator.runs.recorded_run import begun_manifest, checked_links, conclude, recorded


@dataclass(frozen=True, slots=True)
class SessionRuns:
    """The outcome of the cells of a session, at its dilation, and the link checks of all its attempts."""

    dilation: Dilation
    runs: CellRuns
    checks: tuple[LinkCheck, ...]

    @property
    def finished(self) -> Finished:
        """The finished jobs of each cell, by its name."""
        return self.runs.finished

    @property
    def links(self) -> Verdict:
        """The verdict on the wide area of this session."""
        return judge_run(RunMeasures(self.checks), [])

    def judged(self, jobs: Sequence[JobView]) -> Verdict:
        """Return the worst of the verdicts on `jobs` of this session and on its links."""
        return judged(jobs, self.dilation, self.links)


@dataclass(frozen=True, slots=True)
class Session:
    """A run of the cells of `layout`, at the dilation of `matrix`, under a `control`; its records go to `records`.

    `finished` are jobs of earlier attempts, `checks` those of their links; what is missing of `matrix.repeat` is run.
    """

    matrix: Matrix
    layout: Layout
    records: Path
    control: Control = Control.AS_ASKED
    finished: Finished = field(default_factory=dict)
    checks: tuple[LinkCheck, ...] = ()

    @contextmanager
    def run(self, testbed: Testbed, report_progress: ReportProgress) -> Iterator[SessionRuns]:
        """Run the missing cells, and yield the runs of all cells; the testbed, if it was needed, is still held then.

        Raises:
            TestbedBusy: if another run holds the testbed.
            RunFailed: if the testbed was lost, or no job finished at all.
        """
        matrix, dilation = self.matrix, Dilation(self.matrix.dilation)
        jobs = len(turns(self.layout, matrix.repeat, self.finished))
        if jobs == 0:
            kept = {name: list(of_cell) for name, of_cell in self.finished.items()}
            yield SessionRuns(dilation, CellRuns(kept, ()), self.checks)
            return
        stated = {"name": matrix.name, "dilation": matrix.dilation, "paced_middleware": False}
        request = validate(stated, RunRequest, source="measure")
        testbed_here = self._controlled(testbed)
        manifest = begun_manifest(testbed_here, RunKind.MEASUREMENT, request, matrix.model_dump(mode="json"), jobs)
        manifest = manifest.model_copy(update={"control": self.control.value})
        with held(testbed, request) as run, recorded(testbed_here, run, manifest, self.records) as recorder:
            with checked_links(testbed_here, recorder, report_progress) as checks:
                runs = run_in_turn(
                    testbed_here, run, recorder, self.layout, matrix.repeat, self.finished, report_progress
                )
            conclude(testbed_here, run, recorder, checks, jobs)
            yield SessionRuns(dilation, runs, (*self.checks, *checks))

    def _controlled(self, testbed: Testbed) -> Testbed:
        """Return `testbed` with what the control leaves of its wide area; the original is needed to give it back."""
        topology = self.control.of(testbed.topology, Dilation(self.matrix.dilation))
        return replace(testbed, topology=topology, wide_area=testbed.wide_area.under(self.control))
