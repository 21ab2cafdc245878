"""A workload through the simulator: a campaign, a job list, a log, or the stream of a published study, by name or file.

A campaign has a topology, a discipline and middleware of its own. A file has jobs only, and is simulated without
middleware by default, as in the published simulations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sized
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TextIO

from emulator.campaigns.job_times import JobTimes
from emulator.campaigns.modelled_jobs import timed_jobs
from emulator.campaigns.simulated_background import controlled_background
from emulator.campaigns.simulated_run import NamedJob, SimulatedRun, write_simulated_run
from emulator.model.catalogue import GENERATED_FROM, equal_clusters, topology_named
from emulator.model.counts import number_of
from emulator.model.errors import InvalidInput, UnknownName, nearest
from emulator.model.names import spelled
from emulator.model.project import CAMPAIGNS, DOCUMENT_SUFFIXES, names_in
from emulator.model.scheduling import Scanning
from emulator.model.stream import StreamJob
from emulator.model.topology import Middleware, Topology
from emulator.policies.factory import discipline_scanned
from emulator.policies.names import policy_name, queue_name
from emulator.policies.protocols import PlacementPolicy, QueueDiscipline
from emulator.policies.registry import placement_policy
from emulator.policies.state import Surroundings
from emulator.runs.input_files import stated_surroundings
from emulator.runs.run_directory import check_free
from emulator.simulator.background import OtherUsers
from emulator.simulator.engine import FinishedJob
from emulator.simulator.runtime import FactorTable, RuntimeModel, RuntimeOfJobs
from emulator.simulator.runtime_tables import read_factors
from emulator.simulator.simulation import SINGLE_CLUSTER, SimulationResult, admission, simulate
from emulator.simulator.study_streams import StudyWorkload, study_workload, study_workloads
from workloads.campaign import campaign_named
from workloads.estimates import with_estimates
from workloads.job_lists import Check, JobOutcome, outcome_line, read_job_list
from workloads.swf import Remark, read_swf
from workloads.swf_stream import swf_jobs
from workloads.whole_files import written_whole

DEFAULT_TOPOLOGY: Final = "mini"
DEFAULT_QUEUE: Final = "placement"
DEFAULT_STREAM_JOBS: Final = 100_000
NO_OVERHEAD: Final = Middleware(base_s=0.0)


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """The options of a simulation; None leaves the choice to the workload, or to the defaults where it has none.

    `clusters` generates a topology (`equal_clusters`). `jobs` is the number of jobs of a campaign or a study's stream,
    `load` the gross utilization of the latter, `component_limit` splits the jobs of a log, and `band` is that of a
    campaign's background load in percent, or none. `replicas` is the number of replicas of each of its files.
    `middleware` adds the topology's overhead to placement. With `estimate_factor` the users' estimates are drawn
    (`workloads.estimates`).
    """

    topology: str | None = None
    clusters: str | None = None
    policy: str | None = None
    queue: str | None = None
    quota: float | None = None
    band: str | None = None
    replicas: int | None = None
    jobs: int | None = None
    load: float | None = None
    component_limit: int | None = None
    warm_up_jobs: int = 0
    seed: int = 0
    middleware: bool | None = None
    runtime: FactorTable | float | None = None
    estimate_factor: float | None = None


@dataclass(frozen=True)
class SimulatedWorkload:
    """A workload ready to be simulated: its jobs, and what the simulator needs to know of the system.

    `record` is what a manifest says of the workload: of a campaign everything that its file states. `seed` is that of
    the schedule, and `sources` are the files of its policies; None leaves both to the options. `named` holds what the
    records say of each job, and `provenance` what the manifest says of the simulation.
    """

    name: str
    jobs: Iterable[StreamJob]
    topology: Topology
    policy: str | None
    queue: str
    quota: float | None = None
    scanning: Scanning = field(default_factory=Scanning)
    middleware: Middleware | None = None
    runtime: RuntimeModel | RuntimeOfJobs | float = 1.0
    surroundings: Surroundings | None = None
    background: OtherUsers | None = None
    remarks: tuple[Remark, ...] = field(default=())
    record: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    sources: Mapping[str, str] | None = None
    named: Mapping[int, NamedJob] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def times(self) -> JobTimes | None:
        """The execution times, if the simulator finds them by each job's problem."""
        return self.runtime if isinstance(self.runtime, JobTimes) else None


def simulate_workload(
    source: str, options: SimulationOptions, jobs_out: Path | None = None, out: Path | None = None
) -> tuple[SimulatedWorkload, SimulationResult]:
    """Simulate the workload that `source` names; each job's outcome goes to `jobs_out`, written whole or not at all.

    With `out` the simulation leaves a run's directory there, and all its jobs are held in memory.

    Raises:
        InvalidInput: if an input is wrong; one sentence names the file, the line and the field.
    """
    subject = prepared(source, options)
    return subject, simulate_prepared(subject, options, jobs_out, out)


def simulate_prepared(
    subject: SimulatedWorkload, options: SimulationOptions, jobs_out: Path | None = None, out: Path | None = None
) -> SimulationResult:
    """Simulate a workload that was prepared, as `simulate_workload` does."""
    if out is not None:
        check_free(out)
        if subject.queue == SINGLE_CLUSTER:
            raise InvalidInput(
                f"--out: under {SINGLE_CLUSTER} there is one cluster that the topology lacks; leave it out."
            )
        if subject.background is not None:
            subject.background.keep_changes()
    seed = options.seed if subject.seed is None else subject.seed
    check_warm_up(subject.jobs, options)
    jobs = estimated(subject.jobs, options, seed)
    subject = replace(subject, jobs=jobs if out is None else tuple(jobs))
    with nullcontext() if jobs_out is None else written_whole(jobs_out) as lines:
        result = simulate(
            subject.jobs,
            clusters=subject.topology,
            queue=_queue(subject),
            policy=_policy(subject),
            quota=subject.quota,
            runtime=subject.runtime,
            seed=seed,
            warm_up_jobs=options.warm_up_jobs,
            on_finished=None if lines is None else _recorder(lines),
            keep_jobs=out is not None,
            scanning=subject.scanning,
            middleware=subject.middleware,
            surroundings=subject.surroundings,
            background=subject.background,
        )
    if out is not None:
        _write(out, subject, seed, result)
    return result


def estimated(jobs: Iterable[StreamJob], options: SimulationOptions, seed: int) -> Iterable[StreamJob]:
    """Return `jobs` with the estimates that the options say are drawn from `seed`; else as they are.

    Raises:
        InvalidInput: if the factor of the estimates is below 1 or not finite.
    """
    return jobs if options.estimate_factor is None else with_estimates(jobs, options.estimate_factor, seed)


def check_warm_up(jobs: Iterable[StreamJob], options: SimulationOptions) -> None:
    """Raise `InvalidInput` if the warm-up leaves no job to be counted."""
    number = len(jobs) if isinstance(jobs, Sized) else options.jobs or DEFAULT_STREAM_JOBS
    if 0 < number <= options.warm_up_jobs:
        raise InvalidInput(f"--warm-up: must be less than the {number_of(number, 'job')}, not {options.warm_up_jobs}.")


def _write(out: Path, subject: SimulatedWorkload, seed: int, result: SimulationResult) -> None:
    times = subject.times
    provenance = dict(subject.provenance)
    if times is not None:
        provenance["jobs_by_source"] = times.jobs_by_source()
    run = SimulatedRun(
        subject.name,
        subject.topology,
        subject.policy,
        subject.queue,
        seed,
        tuple(subject.jobs),
        result,
        workload=subject.record,
        provenance=provenance,
        named=subject.named,
        rows=() if times is None else times.rows(),
    )
    write_simulated_run(out, run)


def _queue(subject: SimulatedWorkload) -> str | Callable[[], QueueDiscipline]:
    """Return the discipline: by its name, or made from the recorded files of its run."""
    if not subject.sources:
        return subject.queue
    return partial(discipline_scanned, subject.queue, subject.scanning, subject.sources)


def _policy(subject: SimulatedWorkload) -> str | PlacementPolicy | None:
    if not subject.sources or subject.policy is None:
        return subject.policy
    return placement_policy(subject.policy, subject.sources)


def prepared(source: str, options: SimulationOptions) -> SimulatedWorkload:
    """Prepare the workload `source`: a job list (``.jsonl``), a log (``.swf``, ``.swf.gz``), a campaign or a stream.

    Raises:
        InvalidInput: if it cannot be read, or an option contradicts it.
        UnknownName: if nothing has that name.
    """
    _check(options)
    options = _as_spelled(options)
    path = Path(source)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".jsonl"]:
        return _from_job_list(path, options)
    if suffixes[-1:] == [".swf"] or suffixes[-2:] == [".swf", ".gz"]:
        return _from_log(path, options)
    if path.suffix.lower() in DOCUMENT_SUFFIXES or spelled(source, names_in(CAMPAIGNS)):
        return _from_campaign(source, options)
    return _from_study(_stream(source), options)


def factors_named(text: str | None, grid: int | None) -> FactorTable | float | None:
    """Return the factor or the table of factors that ``--extension-factors`` names; None if it is left out.

    Raises:
        InvalidInput: if the table cannot be used, or `grid` is given without one.
    """
    try:
        factor = None if text is None else float(text)
    except ValueError:
        return read_factors(Path(text or ""), grid)
    if grid is not None:
        raise InvalidInput("--grid: goes with a table of --extension-factors, which a single factor is not.")
    return factor


def _as_spelled(options: SimulationOptions) -> SimulationOptions:
    """Return `options` with the names of the testbed's own policies and disciplines as they are spelled."""
    policy = None if options.policy is None else policy_name(options.policy)
    return replace(options, policy=policy, queue=None if options.queue is None else queue_name(options.queue))


def _stream(source: str) -> StudyWorkload:
    """Return the stream of a study called `source`.

    Raises:
        UnknownName: if nothing that can be simulated has that name.
    """
    try:
        return study_workload(source)
    except UnknownName as error:
        campaigns = names_in(CAMPAIGNS)
        near = nearest(source, [*campaigns, *study_workloads()])
        suggested = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise UnknownName(
            f"There is no workload {source!r} (give a .jsonl or .swf file, a campaign - {', '.join(campaigns)} -, "
            f"or the stream of a study such as 25-25-25-25 with --load{suggested})."
        ) from error


def _check(options: SimulationOptions) -> None:
    for option, value in (("--jobs", options.jobs), ("--component-limit", options.component_limit)):
        if value is not None and value < 1:
            raise InvalidInput(f"{option}: must be at least 1, not {value}.")
    for option, value in (("--warm-up", options.warm_up_jobs), ("--seed", options.seed)):
        if value < 0:
            raise InvalidInput(f"{option}: must be 0 or more, not {value}.")
    if options.quota is not None and not 0 < options.quota <= 1:
        raise InvalidInput(f"--quota: must lie above 0 and be at most 1, not {options.quota}.")


def _refuse(options: SimulationOptions, kind: str, *names: str) -> None:
    """Refuse options that mean nothing for a workload of this `kind`, rather than ignore them."""
    for option in names:
        if getattr(options, option) is not None:
            raise InvalidInput(f"--{option.replace('_', '-')}: means nothing for {kind}; leave it out.")


def _topology(options: SimulationOptions, default: str) -> Topology:
    """Return the topology that the options name or state the clusters of, or the one named `default`."""
    if options.clusters is None:
        return topology_named(options.topology or default)
    if options.topology is not None:
        raise InvalidInput("--clusters: generates a topology, so --topology means nothing; leave one of the two out.")
    return equal_clusters(options.clusters)


def _from_job_list(path: Path, options: SimulationOptions) -> SimulatedWorkload:
    _refuse(options, "a job list", "band", "replicas", "jobs", "load", "component_limit")
    topology, queue = _topology(options, DEFAULT_TOPOLOGY), options.queue or DEFAULT_QUEUE
    jobs = read_job_list(path, _admission(topology, queue, options))
    return _of_file(path, jobs, topology, queue, options)


def _from_log(path: Path, options: SimulationOptions) -> SimulatedWorkload:
    _refuse(options, "a log", "band", "replicas", "jobs", "load")
    topology, queue = _topology(options, DEFAULT_TOPOLOGY), options.queue or DEFAULT_QUEUE
    log = read_swf(path)
    found = swf_jobs(
        log,
        path,
        clusters=len(topology.clusters),
        component_limit=options.component_limit,
        seed=options.seed,
        check=_admission(topology, queue, options),
    )
    return _of_file(path, found.jobs, topology, queue, options, log.remarks + found.left_out)


def _of_file(
    path: Path,
    jobs: Iterable[StreamJob],
    topology: Topology,
    queue: str,
    options: SimulationOptions,
    remarks: tuple[Remark, ...] = (),
) -> SimulatedWorkload:
    return SimulatedWorkload(
        path.name,
        jobs,
        topology,
        options.policy,
        queue,
        options.quota,
        middleware=topology.middleware if options.middleware else None,
        runtime=1.0 if options.runtime is None else options.runtime,
        remarks=remarks,
    )


def _from_campaign(source: str, options: SimulationOptions) -> SimulatedWorkload:
    _refuse(options, "a campaign", "load", "component_limit")
    campaign = campaign_named(source)
    topology = _topology(options, campaign.topology)
    stated = options.topology or (None if options.clusters is None else topology.name)
    campaign = campaign.changed(jobs=options.jobs, topology=stated, quota=options.quota)
    campaign = campaign.scheduled(options.queue, options.policy).under_band(options.band)
    campaign = campaign.replicated(options.replicas)
    found = timed_jobs(campaign, topology, options.seed, options.runtime)
    overhead = NO_OVERHEAD if options.middleware is False else topology.middleware or NO_OVERHEAD
    overhead = overhead.divided(campaign.time_scale)
    return SimulatedWorkload(
        campaign.name,
        found.jobs,
        topology,
        campaign.policy,
        campaign.queue,
        campaign.quota,
        scanning=campaign.scanning,
        middleware=overhead,
        runtime=found.runtime,
        surroundings=stated_surroundings(topology, found.files) if found.files else None,
        background=controlled_background(campaign, topology, options.seed),
        record=campaign.model_dump(mode="json"),
        provenance=found.provenance,
    )


def _from_study(workload: StudyWorkload, options: SimulationOptions) -> SimulatedWorkload:
    _refuse(options, "the stream of a study", "band", "replicas", "component_limit")
    if options.load is None or not 0 < options.load < math.inf:
        instead = "" if options.load is None else f", not {options.load:g}"
        needed = f"the stream {workload.name!r} needs a gross utilization, for instance --load 0.85"
        raise InvalidInput(f"--load: {needed}{instead}.")
    topology, queue = _topology(options, GENERATED_FROM), options.queue or "gs"
    sizes = [cluster.processors for cluster in topology.clusters]
    return SimulatedWorkload(
        workload.name,
        workload.stream(options.load, queue, sizes).jobs(options.jobs or DEFAULT_STREAM_JOBS, options.seed),
        topology,
        options.policy,
        queue,
        options.quota,
        middleware=topology.middleware if options.middleware else None,
        runtime=workload.runtime if options.runtime is None else options.runtime,
    )


def _admission(topology: Topology, queue: str, options: SimulationOptions) -> Check:
    check = admission(topology, queue, options.policy, options.quota).check
    if options.estimate_factor is None:
        return check
    # The estimates are drawn when the jobs are simulated; whether a job fits does not depend on them.
    return lambda job: check(replace(job, request=replace(job.request, estimate_s=job.service_s)))


def _recorder(lines: TextIO) -> Callable[[FinishedJob], None]:
    def record(job: FinishedJob) -> None:
        lines.write(outcome_line(JobOutcome(job.id, job.start_s, job.finish_s, job.clusters)))

    return record
