"""Pilots on the running testbed: short runs of the very jobs, from the smallest dilation upwards, until one suffices.

`fidelity.pilots` decides which pilot is needed next; this module runs it. All that is needed at one dilation runs in
one session, so that links are programmed once for each. Links are programmed and not measured: the sessions that follow
do that. Every pilot is a row of ``pilots.csv`` and has its records beside it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from apps.descriptor import ApplicationDescriptor
from apps.registry import application_named
from emulator.fidelity.measures import JobMeasures
from emulator.fidelity.pilots import Chosen, Needed, Pilot, most_own_time, next_pilot, strains
from emulator.fidelity.verdict import Remedy, Verdict
from emulator.model.clock import Dilation
from emulator.model.documents import validate
from emulator.model.job import JobSpecification, JobState
from emulator.model.records import PilotRow, RunKind
from emulator.model.views import RunRequest, RunView, Submission
from emulator.planning.plan import HOST_PILOT_S
from emulator.planning.planned_runs import planned_fixed
from emulator.runs.following import follow_until
from emulator.runs.holding import Testbed, held
from emulator.runs.progress import ProgressReport, ReportProgress
from emulator.runs.recorded_run import (
    begun_manifest,
    carried_traffic,
    conclude,
    evidence_gathered,
    program_links,
    recorded,
)
from emulator.runs.recording import EndedJob, Recorder
from emulator.runs.run_directory import read_rows, replace_rows

FEWEST_ITERATIONS: Final = 8
"""The iterations of a pilot, at least. Jobs that run at once have fewer where these would take too long."""

LONGEST: Final = 10
"""A pilot takes at most so many times its usual time because of its meetings, or of jobs that are tried with it."""

MOST_TRIES: Final = 3
"""A pilot is made at most this often at one dilation, if other work disturbs it."""

DISTURBED_BY: Final = 4.0
"""A larger strain than this is not due to other work alone: the pilot is not made again."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Jobs that run at once as a pilot, and about how long an iteration of each takes, in emulated seconds."""

    name: str
    specifications: tuple[JobSpecification, ...]
    iterations_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """A problem or a campaign, which gets one dilation: all `trials` must suffice there; none is made below `floor`."""

    name: str
    trials: tuple[Trial, ...]
    floor: float


@dataclass(frozen=True, slots=True)
class Pace:
    """Whether the topology's middleware takes its time before jobs start, as in a campaign, divided by `time_scale`.

    Then jobs that are submitted at once iterate at once, and starting one disturbs no other.
    """

    paced_middleware: bool = False
    time_scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Tried:
    """The dilation that pilots chose for a subject, and the pilots by trial."""

    chosen: Chosen
    pilots: Mapping[str, Sequence[Pilot]]

    def slowest_s(self) -> float:
        """Return the longest iteration that a pilot showed, nearest to the chosen dilation; 0 if none ran."""
        nearest = [
            min(made, key=lambda pilot: abs(pilot.dilation - self.chosen.dilation)).iteration_s
            for made in self.pilots.values()
            if made
        ]
        return max(nearest, default=0.0)


@dataclass(slots=True)
class _Trying:
    """The pilots of a subject so far."""

    subject: Subject
    made: dict[str, list[Pilot]] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)

    @property
    def next(self) -> Chosen | Needed:
        """What is needed next; a trial whose jobs fail tells nothing, the run itself will."""
        trials = [trial.name for trial in self.subject.trials if trial.name not in self.failed]
        if not trials:
            return Chosen(self.subject.floor, sufficed=False)
        return next_pilot(trials, self.made, self.subject.floor)

    def needed_at(self, factor: float) -> Trial | None:
        """Return the trial that is needed next, if it is at the dilation `factor`."""
        needed = self.next
        if not isinstance(needed, Needed) or needed.dilation != factor:
            return None
        return next(trial for trial in self.subject.trials if trial.name == needed.trial)

    def iterations_s(self, trial: Trial) -> tuple[float, ...]:
        """Return how long an iteration of each job of `trial` takes, as its last pilot showed or as planned."""
        made = self.made.get(trial.name)
        return (made[-1].iteration_s,) if made and len(trial.specifications) == 1 else trial.iterations_s


def choose_dilations(
    testbed: Testbed,
    subjects: Sequence[Subject],
    folder: Path,
    report_progress: ReportProgress,
    pace: Pace = Pace(),
    traffic: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, Tried]:
    """Make the pilots of `subjects` with records in `folder`; return the dilation of each by name.

    The links are left as the last pilots needed them; `traffic` is background traffic that is sent meanwhile.

    Raises:
        TestbedBusy: if another run holds the testbed.
        RunFailed: if the testbed was lost.
    """
    trying = [_Trying(subject) for subject in subjects]
    rows = read_rows(folder, PilotRow)
    while needed := [step.dilation for each in trying if isinstance(step := each.next, Needed)]:
        session = _PilotSession(testbed, Dilation(min(needed)), folder, rows, report_progress, pace, traffic)
        session.run(trying)
    chosen: dict[str, Tried] = {}
    for each in trying:
        step = each.next
        assert isinstance(step, Chosen)
        chosen[each.subject.name] = Tried(step, each.made)
    return chosen


@dataclass(slots=True)
class _PilotSession:
    """All pilots that are needed at one dilation, as one recorded run."""

    testbed: Testbed
    dilation: Dilation
    folder: Path
    rows: list[PilotRow]
    report_progress: ReportProgress
    pace: Pace
    traffic: Mapping[str, float]

    def run(self, trying: Sequence[_Trying]) -> None:
        """Make the pilots that `trying` need at this dilation, until none is needed at it."""
        number = 1 + sum(1 for entry in self.folder.glob("*") if entry.is_dir())
        stated = {"name": "pilots", "dilation": self.dilation.factor, **asdict(self.pace)}
        request = validate(stated, RunRequest, source="pilots")
        workload: dict[str, object] = {"subjects": [each.subject.name for each in trying]}
        manifest = begun_manifest(self.testbed, RunKind.MEASUREMENT, request, workload, 0)
        with (
            held(self.testbed, request, more_follow=True) as run,
            recorded(self.testbed, run, manifest, self.folder / str(number)) as recorder,
        ):
            program_links(self.testbed, recorder, self.report_progress)
            with evidence_gathered(self.testbed, recorder), carried_traffic(self.testbed, self.traffic, recorder):
                self.testbed.client.start_run(run.id)
                for each in trying:
                    while trial := each.needed_at(self.dilation.factor):
                        self._make(run, recorder, each, trial)
            conclude(self.testbed, run, recorder, [], len(recorder.ended))

    def _make(self, run: RunView, recorder: Recorder, trying: _Trying, trial: Trial) -> None:
        """Make a pilot of `trial`, and again if it did not suffice while other work disturbed it; keep the best."""
        stage = f"pilot at dilation {self.dilation.factor:g}: {trial.name}"
        pilots: list[Pilot] = []
        for _ in range(MOST_TRIES):
            self.report_progress(ProgressReport(stage))
            host_began_s = time.monotonic()
            jobs = self._run_jobs(run, recorder, trying, trial)
            if jobs is None:
                trying.failed.add(trial.name)
                return
            once_s = planned_fixed(jobs[0].specification, self.testbed.topology).once_s
            pilots.append(_pilot(jobs, once_s, self.dilation, self.pace))
            self._note(trying.subject.name, trial, jobs, pilots[-1], time.monotonic() - host_began_s, recorder)
            disturbed = any(Remedy.ANOTHER_RUN in job.verdict.remedies for job in jobs)
            if not (disturbed and 1.0 < pilots[-1].strain <= DISTURBED_BY):
                break
        trying.made.setdefault(trial.name, []).append(min(pilots, key=lambda pilot: pilot.strain))

    def _run_jobs(self, run: RunView, recorder: Recorder, trying: _Trying, trial: Trial) -> list[EndedJob] | None:
        """Run the jobs of a trial at once; return None if one of them fails."""
        client = self.testbed.client
        alone = len(trial.specifications) == 1
        short = (
            _short(specification, iteration_s, self.dilation, alone=alone)
            for specification, iteration_s in zip(trial.specifications, trying.iterations_s(trial), strict=True)
        )
        numbers = [client.submit(Submission(specification=job, run=run.id)).id for job in short]
        follow_until(
            lambda: all(number in recorder.ended for number in numbers),
            self.testbed,
            run.id,
            recorder,
            lambda event: None,
        )
        jobs = [recorder.ended[number] for number in numbers]
        whole = all(job.state is JobState.FINISHED and job.result and job.measures for job in jobs)
        return jobs if whole else None

    def _note(
        self, subject: str, trial: Trial, jobs: Sequence[EndedJob], pilot: Pilot, host_s: float, recorder: Recorder
    ) -> None:
        measures = _measures(jobs)
        verdict = Verdict.worst_of(job.verdict for job in jobs)
        result: Mapping[str, Any] = jobs[0].result or {}
        row = PilotRow(
            problem=subject,
            trial=trial.name,
            dilation=self.dilation.factor,
            jobs=len(jobs),
            iterations=result.get("iterations"),
            iteration_s=pilot.iteration_s,
            host_duration_s=host_s,
            late_phase_share=max((each.late_phase_share or 0.0 for each in measures), default=None),
            lateness_share=max((each.lateness_share or 0.0 for each in measures), default=None),
            cpu_pressure=max((_cpu_pressure(each) for each in measures), default=None),
            binding=pilot.binding,
            strain=pilot.strain,
            verdict=verdict.judgement,
            reasons="; ".join(verdict.reasons),
            folder=recorder.directory.path.name,
        )
        self.rows.append(row)
        replace_rows(self.folder, PilotRow, self.rows)


def _pilot(jobs: Sequence[EndedJob], once_s: float, dilation: Dilation, pace: Pace) -> Pilot:
    """Return what the jobs of a pilot showed: the largest strain of each kind, and the iteration of a single job.

    Where the first job passes on data once, for `once_s`, the mean over its iterations has a part of that, and a larger
    one in the shorter pilots at larger dilations. The median of them has none.
    """
    measures = _measures(jobs)
    found: dict[str, float] = {}
    for each in measures:
        for name, strain in strains(each).items():
            found[name] = max(found.get(name, 0.0), strain)
    if len(jobs) > 1:
        # In a campaign jobs are not started all at once.
        found.pop("middleware", None)
    result: Mapping[str, Any] = jobs[0].result or {}
    alone = len(jobs) == 1
    passes_on = alone and measures[0].lateness_adds_up
    own_time = most_own_time(in_a_campaign=pace.paced_middleware)
    spread_s = result.get("iteration_spread_s") if once_s > 0.0 else None
    iteration_s = float(spread_s["median"] if spread_s else result["iteration_s"])
    return Pilot(dilation.factor, iteration_s, found, passes_on, own_time)


def _measures(jobs: Sequence[EndedJob]) -> list[JobMeasures]:
    return [job.measures for job in jobs if job.measures is not None]


def _cpu_pressure(measures: JobMeasures) -> float:
    return max((host.cpu_pressure or 0.0 for host in measures.conditions), default=0.0)


def _short(specification: JobSpecification, iteration_s: float, dilation: Dilation, *, alone: bool) -> JobSpecification:
    """Return the job with iterations for a pilot's time, and no more than it has: from meeting to meeting, unless that
    takes much longer.

    Otherwise an iteration of a short pilot would contain another share of a meeting than one of a long pilot.
    """
    known = application_named(specification.application)
    stated = specification.arguments.get(known.length, known.default_length)
    host_iteration_s, host_longest_s = dilation.host_duration_s(iteration_s), LONGEST * HOST_PILOT_S
    length = max(FEWEST_ITERATIONS, round(HOST_PILOT_S / host_iteration_s)) if host_iteration_s > 0 else 100
    if not alone and length * host_iteration_s > host_longest_s:
        length = max(1, int(host_longest_s / host_iteration_s))
    if known.measured_length is not None:
        length = max(length, known.measured_length)
    cycle = _iterations_to_meeting(known, specification)
    if cycle * host_iteration_s > host_longest_s:
        cycle = 1
    length = cycle * math.ceil(length / cycle)
    if isinstance(stated, int | float):
        most = int(stated)
        length = min(length, most - most % cycle or most)
    return specification.model_copy(update={"arguments": {**specification.arguments, known.length: length}})


def _iterations_to_meeting(known: ApplicationDescriptor, specification: JobSpecification) -> int:
    """Return the iterations from one meeting to the next; 1 if there is none."""
    phases = known.form.phases_to_meeting(specification.arguments)
    return 1 if phases is None else max(1, phases // known.form.phases)
