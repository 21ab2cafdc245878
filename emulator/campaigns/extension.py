"""Measuring extension factors: the same job in one cluster and spread over several, one job at a time.

The configurations take turns (1, 2, 4, 1, 2, 4, ...) so that a slow drift of the host meets them all alike. The product
is one row per configuration, and the run's directory with every single job behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulator.campaigns.conduct import Tell, begun_manifest, checked_links, conclude, jobs_progress, recorded
from emulator.campaigns.following import follow_until, kept
from emulator.campaigns.holding import Testbed, held
from emulator.campaigns.recording import Recorder
from emulator.campaigns.run_directory import check_free
from emulator.campaigns.statistics import ratio_of_means
from emulator.fidelity.measures import RunMeasures
from emulator.fidelity.verdict import Verdict, judge_run
from emulator.model.documents import validate
from emulator.model.errors import ImpossibleRequest, InvalidInput, RunFailed
from emulator.model.job import JobSpecification, JobState
from emulator.model.records import ExtensionFactorRow, RunKind
from emulator.model.request import RequestKind
from emulator.model.topology import Processor, Topology
from emulator.model.units import seconds_from_nanoseconds
from emulator.model.views import JobView, RunRequest, RunView, Submission

DEFAULT_DILATION = 8.0
DEFAULT_REPEAT = 3
_COMPUTE_AIM_S = 4.0
_FEWEST_ITERATIONS, _MOST_ITERATIONS = 20, 120


@dataclass(frozen=True, slots=True)
class Measurement:
    """What to measure: an application and its problem, on how many processors, over which numbers of clusters.

    `on` names the clusters in the order in which configurations use them; empty: the topology's order.
    """

    application: str
    grid: int
    processors: int
    clusters: tuple[int, ...]
    repeat: int
    iterations: int
    dilation: float
    on: tuple[str, ...] = ()

    def specifications(self, topology: Topology) -> list[JobSpecification]:
        """The job of each configuration: equal components on the first so many clusters.

        Raises:
            InvalidInput: if a number is out of range or named twice.
            ImpossibleRequest: if the processors do not divide among the clusters, or do not fit into them.
            UnknownName: if a cluster does not exist.
        """
        self._check()
        names = list(self.on) or topology.cluster_names
        return [self._specification(count, names, topology) for count in self.clusters]

    def _check(self) -> None:
        for name, value in (
            ("grid", self.grid),
            ("processors", self.processors),
            ("repeat", self.repeat),
            ("iterations", self.iterations),
            *(("clusters", count) for count in self.clusters),
        ):
            if value < 1:
                raise InvalidInput(f"{name}: must be at least 1, not {value}.")
        for name, values in (("clusters", self.clusters), ("on", self.on)):
            twice = {value for value in values if values.count(value) > 1}
            if twice:
                raise InvalidInput(f"{name}: {twice.pop()!r} is named twice.")

    def _specification(self, count: int, names: Sequence[str], topology: Topology) -> JobSpecification:
        if count > len(names):
            where = "named by --on" if self.on else f"of topology {topology.name!r}"
            raise ImpossibleRequest(f"The job cannot spread over {count} clusters: {len(names)} are {where}.")
        if self.processors % count:
            raise ImpossibleRequest(
                f"{self.processors} processors do not divide equally among {count} clusters (choose a multiple)."
            )
        specification = validate(
            {
                "name": f"{self.application}-over-{count}",
                "application": self.application,
                "arguments": {"grid": self.grid, "iterations": self.iterations, "tolerance": 0},
                "components": (self.processors // count,) * count,
                "request": RequestKind.FIXED,
                "clusters": tuple(names[:count]),
            },
            JobSpecification,
            source="measure",
        )
        specification.request_in(topology)
        return specification


def default_iterations(grid: int, processors: int, processor: Processor) -> int:
    """Iterations that compute for some emulated seconds: enough for a mean, short enough to wait for."""
    points = grid * grid / max(1, processors)
    compute_s = seconds_from_nanoseconds(points * processor.out_of_cache_ns_per_point)
    return round(min(max(_COMPUTE_AIM_S / compute_s, _FEWEST_ITERATIONS), _MOST_ITERATIONS)) if points else 1


@dataclass(frozen=True, slots=True)
class Configuration:
    """What was measured of one configuration: its row, the verdict with its reasons, and the share of late phases."""

    row: ExtensionFactorRow
    verdict: Verdict
    late_phase_share: float | None


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement's product."""

    configurations: tuple[Configuration, ...]
    verdict: Verdict


def measure(testbed: Testbed, measurement: Measurement, path: Path, tell: Tell) -> Measured:
    """Measure extension factors on `testbed` and record everything in the directory `path`.

    Raises:
        InvalidInput: if the measurement cannot be meant or cannot run on this testbed, or `path` is taken.
        TestbedBusy: if another run holds the testbed.
        RunFailed: if a job failed or the testbed was lost.
    """
    check_free(path)
    specifications = measurement.specifications(testbed.topology)
    jobs = len(specifications) * measurement.repeat
    asked = {
        "name": f"measure-{measurement.application}",
        "dilation": measurement.dilation,
        "paced_middleware": False,
    }
    request = validate(asked, RunRequest, source="measure")
    manifest = begun_manifest(testbed, RunKind.MEASUREMENT, request, _described(measurement), jobs)
    with held(testbed, request) as run, recorded(testbed, run, manifest, path) as recorder:
        with checked_links(testbed, recorder, tell) as checks:
            finished = _run_in_turn(testbed, run, recorder, specifications, measurement.repeat, tell)
        links = judge_run(RunMeasures(tuple(checks)), [])
        configurations = tuple(_configurations(measurement, specifications, finished, recorder, links))
        for configuration in configurations:
            recorder.directory.append(configuration.row)
        return Measured(configurations, conclude(testbed, run, recorder, checks, jobs))


def _described(measurement: Measurement) -> dict[str, object]:
    return {name: getattr(measurement, name) for name in Measurement.__dataclass_fields__}


def _run_in_turn(
    testbed: Testbed,
    run: RunView,
    recorder: Recorder,
    specifications: Sequence[JobSpecification],
    repeat: int,
    tell: Tell,
) -> dict[str, list[JobView]]:
    """Run each configuration in turn, `repeat` times; the finished jobs by the configuration's name."""
    expected = len(specifications) * repeat
    finished: dict[str, list[JobView]] = {specification.name: [] for specification in specifications}
    testbed.client.start_run(run.id)
    for specification in [*specifications] * repeat:
        submitted = testbed.client.submit(Submission(specification=specification, run=run.id))
        follow_until(
            lambda number=submitted.id: number in recorder.ended,  # type: ignore[misc]
            testbed,
            run.id,
            recorder,
            lambda event, stage=specification.name: tell(  # type: ignore[misc]
                jobs_progress(recorder, stage, expected, event.time_s)
            ),
        )
        job = recorder.ended[submitted.id]
        if job.state is not JobState.FINISHED or job.result is None:
            raise RunFailed(
                f"Job {job.id} ({specification.name}) {job.state.value}: {job.reason.rstrip('.')}; {kept(recorder)}."
            )
        finished[specification.name].append(job)
    return finished


def _configurations(
    measurement: Measurement,
    specifications: Sequence[JobSpecification],
    finished: dict[str, list[JobView]],
    recorder: Recorder,
    links: Verdict,
) -> list[Configuration]:
    single = next((finished[it.name] for it in specifications if len(it.components) == 1), [])
    return [
        _configuration(measurement, specification, finished[specification.name], single, recorder, links)
        for specification in specifications
    ]


def _configuration(
    measurement: Measurement,
    specification: JobSpecification,
    jobs: Sequence[JobView],
    single: Sequence[JobView],
    recorder: Recorder,
    links: Verdict,
) -> Configuration:
    runtimes_s, single_runtimes_s = _values(jobs, "runtime_s"), _values(single, "runtime_s")
    is_single = len(specification.components) == 1
    factor = None if is_single else ratio_of_means(runtimes_s, single_runtimes_s)
    verdict = Verdict.worst_of([links, *(recorder.verdicts[job.id] for job in (*jobs, *single))])
    row = ExtensionFactorRow(
        application=measurement.application,
        grid=measurement.grid,
        processors=measurement.processors,
        components=specification.components,
        clusters=len(specification.components),
        interconnect_single=_interconnect(single),
        interconnect_coallocated="" if is_single else _interconnect(jobs),
        dilation=measurement.dilation,
        runtime_s=sum(runtimes_s) / len(runtimes_s),
        iteration_s=_mean(_values(jobs, "iteration_s")),
        extension_factor=1.0 if is_single else factor and factor.value,
        ci_low=1.0 if is_single else factor and factor.low,
        ci_high=1.0 if is_single else factor and factor.high,
        n=len(runtimes_s),
        verdict=verdict.judgement,
    )
    late, phases = sum(_values(jobs, "late_phases")), sum(_values(jobs, "phases"))
    return Configuration(row, verdict, late / phases if phases else None)


def _values(jobs: Sequence[JobView], key: str) -> list[float]:
    results: list[dict[str, Any]] = [job.result for job in jobs if job.result is not None]
    return [float(result[key]) for result in results if result.get(key) is not None]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _interconnect(jobs: Sequence[JobView]) -> str:
    return next((str(job.result["interconnects"]) for job in jobs if job.result and "interconnects" in job.result), "")
