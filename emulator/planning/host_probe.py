"""Measuring a host: a small testbed is brought up, runs jobs one after another, and is taken down.

What runs there is what runs in any testbed - Slurm, `start-rank`, the router - so that what it costs is what it will
cost. The jobs are few and short: Poisson for the numbers of ranks between which is interpolated, after phases of
several lengths, over each kind of interconnect, over two clusters and four; and each other application with a kernel of
its own. Where ranks are often late, how often differs between two runs of the same job by more than a factor of two: of
those jobs there are several rounds, minutes apart. It takes eight minutes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from apps.registry import application_named
from emulator.containers import engine
from emulator.containers.down import take_down
from emulator.containers.names import PartNames
from emulator.containers.state import TestbedSpec
from emulator.containers.up import bring_up
from emulator.containers.usage import Usage, container_usage
from emulator.model.clock import Dilation
from emulator.model.documents import validate
from emulator.model.errors import RunFailed, TestbedNotUp
from emulator.model.interconnects import WhichInterconnect
from emulator.model.job import JobSpecification, JobState
from emulator.model.project import PROJECT_ROOT
from emulator.model.records import RunKind
from emulator.model.request import RequestKind
from emulator.model.topology import Topology
from emulator.model.views import EventKind, EventView, JobView, RunRequest, RunView, Submission
from emulator.planning.costs import MessagesOver
from emulator.runs.container_testbed import testbed_named
from emulator.runs.following import follow_until
from emulator.runs.holding import Testbed, held
from emulator.runs.progress import ProgressReport, ReportProgress
from emulator.runs.recorded_run import begun_manifest, conclude, recorded
from emulator.runs.recording import Recorder

PROBE_NAME: Final = "host-probe"
PROBE_FILE: Final = PROJECT_ROOT / "compose" / "host-probe.yaml"
USUAL_DILATION: Final = Dilation(8.0)
SMALLER_DILATION: Final = Dilation(1.0)
"""What does not dilate shows as the difference between a job's iterations at both; here ranks hardly ever wait."""

ROUNDS: Final = 3
"""How often those jobs are run whose ranks are often late."""

MOST_RANKS: Final = 64
"""The largest job: by then ranks cost what more of them cost, too."""


@dataclass(frozen=True, slots=True)
class ProbeJob:
    """A job that is run to see what it costs; its grid gives a process of most of them 10,000 points.

    Messages inside a cluster are `paced` to a stated interconnect, or go through shared memory. It is run once in each
    of so many `rounds`, and what was seen is added up.
    """

    application: str
    grid: int
    ranks: int
    iterations: int
    clusters: int = 1
    paced: bool = False
    dilation: Dilation = USUAL_DILATION
    rounds: int = field(default=1, compare=False)

    @property
    def name(self) -> str:
        """The job's name."""
        inside = "-paced" if self.paced else ""
        return (
            f"{self.application}-{self.grid}-on-{self.ranks}-over-{self.clusters}{inside}-at-{self.dilation.factor:g}"
        )

    @property
    def over(self) -> MessagesOver:
        """What carries its messages."""
        if self.clusters > 1:
            return MessagesOver.WIDE_AREA
        return MessagesOver.INTERCONNECT if self.paced else MessagesOver.SHARED_MEMORY

    def specification(self, clusters: list[str]) -> JobSpecification:
        """Return the job, on the first of `clusters`."""
        known = application_named(self.application)
        return JobSpecification(
            name=self.name,
            application=self.application,
            arguments={**known.fixed, "grid": self.grid, known.length: self.iterations},
            components=(self.ranks // self.clusters,) * self.clusters,
            request=RequestKind.FIXED,
            clusters=tuple(clusters[: self.clusters]),
            interconnect=WhichInterconnect.SINGLE_CLUSTER if self.paced else WhichInterconnect.COALLOCATED,
        )


TRIALS: Final = (
    ProbeJob("poisson", 200, 4, 200),
    ProbeJob("poisson", 400, 16, 200),
    ProbeJob("poisson", 566, 32, 150),
    ProbeJob("poisson", 800, MOST_RANKS, 150),
    ProbeJob("poisson", 1000, 16, 30),
    ProbeJob("poisson", 2000, 16, 8),
    ProbeJob("poisson", 400, 16, 200, paced=True),
    ProbeJob("poisson", 800, MOST_RANKS, 150, paced=True),
    ProbeJob("poisson", 282, 8, 60, clusters=2, paced=True),
    ProbeJob("poisson", 400, 16, 60, clusters=2, paced=True),
    ProbeJob("poisson", 800, MOST_RANKS, 40, clusters=2, paced=True),
    ProbeJob("poisson", 400, 16, 60, clusters=2),
    ProbeJob("poisson", 800, MOST_RANKS, 30, clusters=2),
    ProbeJob("poisson", 400, 16, 60, clusters=4, paced=True),
    ProbeJob("poisson", 50, 16, 100, clusters=2, paced=True, rounds=ROUNDS),
    ProbeJob("poisson", 50, 16, 100, clusters=4, paced=True, rounds=ROUNDS),
    ProbeJob("poisson", 96, MOST_RANKS, 60, clusters=2, paced=True, rounds=ROUNDS),
    ProbeJob("poisson", 96, MOST_RANKS, 60, clusters=4, paced=True, rounds=ROUNDS),
    ProbeJob("laplace", 400, 16, 120),
    ProbeJob("heat", 400, 16, 150),
    ProbeJob("ensflow", 64, 20, 2),
    ProbeJob("poisson", 400, 16, 400, paced=True, dilation=SMALLER_DILATION, rounds=ROUNDS),
    ProbeJob("poisson", 282, 8, 400, paced=True, dilation=SMALLER_DILATION),
    ProbeJob("poisson", 800, MOST_RANKS, 100, paced=True, dilation=SMALLER_DILATION),
    ProbeJob("poisson", 400, 16, 200, dilation=SMALLER_DILATION),
    *(
        ProbeJob("poisson", grid, ranks, iterations, clusters, paced=True, dilation=SMALLER_DILATION, rounds=ROUNDS)
        for clusters in (2, 4)
        for grid, ranks, iterations in ((400, 16, 100), (100, 16, 200), (282, 8, 100), (800, MOST_RANKS, 60))
    ),
)
"""What is run. Poisson at grid 1000 and 2000 is out of some caches; all others are in them.

At the smaller dilation phases are so short that it shows when the ranks are ready for their ends, while they keep the
cores busy; on grids 50 and 96 they are as short at the usual one, while the cores are nearly idle.
"""


@dataclass(slots=True)
class Probe:
    """What was seen: each trial's jobs, the router before and after each of them, memory idle and in use.

    `idle_bytes` is all the probe's containers hold while nothing runs, `busy_bytes` what its first cluster does while
    the largest job runs, of which it held `cluster_idle_bytes` before. `record_bytes` is what a job left on the disk.
    """

    topology: Topology
    router_backend: str = ""
    jobs: dict[ProbeJob, list[JobView]] = field(default_factory=dict)
    router: dict[ProbeJob, list[tuple[Usage, Usage]]] = field(default_factory=dict)
    idle_bytes: int = 0
    cluster_idle_bytes: int = 0
    busy_bytes: int = 0
    record_bytes: int = 0


def probe_host(report_progress: ReportProgress) -> Probe:
    """Bring the probe up, run every trial, and take it down again, whatever happens.

    Raises:
        EngineUnavailable: if Docker is missing, stopped or fails.
        RunFailed: if a trial failed.
    """
    with _standing(report_progress) as testbed, tempfile.TemporaryDirectory() as folder:
        probe = Probe(testbed.topology)
        records = Path(folder) / "records"
        for dilation in (USUAL_DILATION, SMALLER_DILATION):
            _run_trials(testbed, dilation, records / f"{dilation.factor:g}", probe, report_progress)
        sizes = [file.stat().st_size for file in records.rglob("*") if file.is_file()]
        probe.record_bytes = sum(sizes) // sum(map(len, probe.jobs.values()))
    return probe


@contextmanager
def _standing(report_progress: ReportProgress) -> Iterator[Testbed]:
    with suppress(TestbedNotUp):
        take_down(PROBE_NAME)
    bring_up(
        TestbedSpec(PROBE_NAME, PROBE_FILE),
        lambda step: report_progress(ProgressReport(f"measuring this host: {step.stage}, {step.detail}")),
    )
    try:
        with testbed_named(PROBE_NAME) as testbed:
            yield testbed
    finally:
        take_down(PROBE_NAME)


def _run_trials(
    testbed: Testbed, dilation: Dilation, records: Path, probe: Probe, report_progress: ReportProgress
) -> None:
    """Run the trials of that dilation as one recorded run; at the usual one, look at memory and the router, too."""
    own = [trial for trial in TRIALS if trial.dilation == dilation]
    trials = [trial for number in range(ROUNDS) for trial in own if number < trial.rounds]
    stated = {"name": PROBE_NAME, "dilation": dilation.factor, "paced_middleware": False}
    request = validate(stated, RunRequest, source="plan")
    workload: dict[str, object] = {"trials": [trial.name for trial in trials]}
    manifest = begun_manifest(testbed, RunKind.MEASUREMENT, request, workload, len(trials))
    with held(testbed, request) as run, recorded(testbed, run, manifest, records) as recorder:
        probe.router_backend = testbed.wide_area.program(dilation)
        look = _Look(testbed, probe)
        if dilation == USUAL_DILATION:
            look.at_rest()
        testbed.client.start_run(run.id)
        for number, trial in enumerate(trials, start=1):
            report_progress(ProgressReport(f"measuring this host: job {number} of {len(trials)} ({trial.name})"))
            with look.at_router(trial):
                job = _run_one(testbed, run, recorder, trial, look.at_event(trial))
            probe.jobs.setdefault(trial, []).append(job)
        conclude(testbed, run, recorder, [], len(trials))


class _Look:
    """Looks at the containers of the probe, and notes what it sees."""

    def __init__(self, testbed: Testbed, probe: Probe) -> None:
        self._testbed, self._probe = testbed, probe
        self._docker, names = engine.connect(), PartNames(testbed.name)
        self._router, self._first_cluster = names.router, names.cluster(testbed.topology.cluster_names[0])

    def at_rest(self) -> None:
        """What all containers hold of the memory while nothing runs."""
        parts = [str(container.name) for container in engine.containers_of(self._docker, self._testbed.name)]
        held_bytes = {part: container_usage(self._docker, part).memory_bytes for part in parts}
        self._probe.idle_bytes, self._probe.cluster_idle_bytes = (
            sum(held_bytes.values()),
            held_bytes[self._first_cluster],
        )

    @contextmanager
    def at_router(self, trial: ProbeJob) -> Iterator[None]:
        """What the router carries for a job."""
        before = container_usage(self._docker, self._router)
        yield
        self._probe.router.setdefault(trial, []).append((before, container_usage(self._docker, self._router)))

    def at_event(self, trial: ProbeJob) -> Callable[[EventView], None]:
        """What the first cluster holds while the largest job runs in it."""

        def look(event: EventView) -> None:
            if event.kind is EventKind.STARTED and trial.ranks == MOST_RANKS and trial.clusters == 1:
                self._probe.busy_bytes = container_usage(self._docker, self._first_cluster).memory_bytes

        return look


def _run_one(
    testbed: Testbed, run: RunView, recorder: Recorder, trial: ProbeJob, look: Callable[[EventView], None]
) -> JobView:
    specification = trial.specification(testbed.topology.cluster_names)
    submitted = testbed.client.submit(Submission(specification=specification, run=run.id))
    follow_until(lambda: submitted.id in recorder.ended, testbed, run.id, recorder, look)
    job = recorder.ended[submitted.id]
    if job.state is not JobState.FINISHED or job.result is None:
        raise RunFailed(f"This host could not be measured: job {trial.name} {job.state.value}: {job.reason}")
    return job
