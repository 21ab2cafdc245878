"""The sessions of a measurement, one for each dilation, from the smallest upwards.

A problem belongs to one dilation, so that its factors compare like with like. If its runs show that it needs a larger
one, all of them are superseded, and the problem joins the session at that dilation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from emulator.measurement.control_runs import ProblemsByDilation
from emulator.model.clock import Dilation
from emulator.model.records import RunProgress
from emulator.model.topology import Topology
from emulator.planning.choices import DilationChoice, estimates
from emulator.runs.cell_sessions import Session, SessionRuns
from emulator.runs.holding import Testbed
from emulator.runs.matrix import Cell, Layout, Matrix, Problem
from emulator.runs.progress import ProgressReport, ReportProgress
from emulator.runs.resuming import Earlier
from emulator.runs.run_directory import next_attempt


@dataclass
class DilationSessions:
    """The sessions of `matrix` on `testbed`, recorded in `path`; `choices` say the dilation of each problem by then."""

    testbed: Testbed
    matrix: Matrix
    path: Path
    choices: dict[Problem, DilationChoice]
    earlier: Earlier | None = None
    every_run_counts: bool = False
    _made: list[SessionRuns] = field(default_factory=list)

    def run(self, report_progress: ReportProgress) -> Iterator[SessionRuns]:
        """Run what is missing, and after each session yield the runs of all sessions so far.

        Raises:
            TestbedBusy: if another run holds the testbed.
            RunFailed: if the testbed was lost, or no job of a session finished.
        """
        waiting = dict(self.choices)
        # What earlier attempts found of the links counts against the whole, also if more is run now.
        self._made = [] if self.earlier is None else [SessionRuns({}, self.earlier.checks)]
        while waiting:
            dilation = min(choice.dilation for choice in waiting.values())
            now = [choice for choice in waiting.values() if choice.dilation == dilation]
            made = self._session(now, dilation, report_progress, more_follow=len(now) < len(waiting))
            self._made.append(made)
            for choice in now:
                del waiting[choice.problem]
            for problem in made.raised:
                self.choices[problem] = waiting[problem] = self.choices[problem].larger()
            yield SessionRuns.together(self._made)

    def _session(
        self, choices: Sequence[DilationChoice], dilation: float, report_progress: ReportProgress, *, more_follow: bool
    ) -> SessionRuns:
        layout, earlier = Layout(tuple(choice.cells for choice in choices), ()), self.earlier
        records = next_attempt(self.path)
        session = Session(
            self.matrix,
            layout,
            Dilation(dilation),
            records,
            finished={} if earlier is None else earlier.finished(layout, self.matrix.repeat, Dilation(dilation)),
            may_raise=lambda problem: self.choices[problem].may_raise,
            every_run_counts=self.every_run_counts,
            # The measurement's own manifest: it is complete once the factors are written.
            progress=RunProgress.INCOMPLETE if records == self.path else RunProgress.COMPLETE,
        )
        if session.jobs == 0:
            return SessionRuns({name: tuple(jobs) for name, jobs in session.finished.items()})
        return session.run(self.testbed, report_progress, more_follow=more_follow)


def known_choices(layout: Layout, earlier: Earlier) -> dict[Problem, DilationChoice]:
    """Return the choices of those problems of which jobs are left: at the largest dilation, of the length they have."""
    found: dict[Problem, DilationChoice] = {}
    for cells in layout.problems:
        names = {cell.name for cell in cells}
        jobs = [job for job in earlier.jobs if job.specification.name in names]
        if jobs:
            last = max(jobs, key=lambda job: job.dilation)
            of_length = tuple(cell.like(last.specification) for cell in cells)
            found[cells[0].problem] = DilationChoice(cells[0].problem, of_length, last.dilation, "as begun")
    return found


def problems_by_dilation(choices: Iterable[DilationChoice]) -> ProblemsByDilation:
    """Return the cells of each problem by the dilation that it ended at."""
    found: dict[float, list[Sequence[Cell]]] = {}
    for choice in choices:
        found.setdefault(choice.dilation, []).append(choice.cells)
    return found


def announced(choices: Sequence[DilationChoice], matrix: Matrix, topology: Topology) -> ProgressReport:
    """Return a report that says at which dilations a measurement runs, and about how long each cell will take."""
    cells, host_s = estimates(choices, matrix, topology)
    lines = [f"Measuring takes about {max(1, round(host_s / 60))} min:"]
    for choice in choices:
        lines.append(f"  {choice.problem.shown} at dilation {choice.dilation:g} ({choice.how})")
        own = (each for each in cells if each.cell.problem == choice.problem)
        lines += [f"    {each.cell.variant.shown}: about {max(1, round(each.host_s))} s" for each in own]
    return ProgressReport("measuring", remark="\n".join(lines))
