"""Running the cells of a matrix as one recorded run: held, its links checked for what is asked of them, concluded.

A measurement is one such session, each of its controls another one, with the wide area programmed otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from emulator.campaigns.cell_runs import CellRuns, Finished, run_in_turn, turns
from emulator.campaigns.conduct import Tell, begun_manifest, checked_links, conclude, recorded
from emulator.campaigns.extension_rows import judged
from emulator.campaigns.holding import Testbed, held
from emulator.campaigns.matrix import Layout, Matrix
from emulator.containers.wan.controls import Control
from emulator.fidelity.measures import RunMeasures
from emulator.fidelity.verdict import Verdict, judge_run
from emulator.model.clock import Dilation
from emulator.model.documents import validate
from emulator.model.evidence import LinkCheck
from emulator.model.records import RunKind
from emulator.model.views import JobView, RunRequest


@dataclass(frozen=True, slots=True)
class SessionRuns:
    """What became of the cells of a session, at its dilation, and what was found of its links in all its attempts."""

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
        """The worst of the verdicts on `jobs` of this session, and on its links."""
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
    def carried_out(self, testbed: Testbed, tell: Tell) -> Iterator[SessionRuns]:
        """All runs of the cells, once they are made and while the testbed is still held; if any had to be made.

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
        asked = {"name": matrix.name, "dilation": matrix.dilation, "paced_middleware": False}
        request = validate(asked, RunRequest, source="measure")
        testbed_here = self._controlled(testbed)
        manifest = begun_manifest(testbed_here, RunKind.MEASUREMENT, request, matrix.model_dump(mode="json"), jobs)
        manifest = manifest.model_copy(update={"control": self.control.value})
        with held(testbed, request) as run, recorded(testbed_here, run, manifest, self.records) as recorder:
            with checked_links(testbed_here, recorder, tell) as checks:
                runs = run_in_turn(testbed_here, run, recorder, self.layout, matrix.repeat, self.finished, tell)
            conclude(testbed_here, run, recorder, checks, jobs)
            yield SessionRuns(dilation, runs, (*self.checks, *checks))

    def _controlled(self, testbed: Testbed) -> Testbed:
        """`testbed` with what the control leaves of its wide area; who gives it back must know the whole of it."""
        topology = self.control.of(testbed.topology, Dilation(self.matrix.dilation))
        return replace(testbed, topology=topology, wide_area=testbed.wide_area.under(self.control))
