"""A live run on nodes that tasks share in time: its jobs for the simulation of shared nodes, and its mean times."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from apps.partners import PATTERNS, partners
from apps.registry import SYNTHETIC, SYNTHETIC_MESSAGE_BYTES
from emulator.campaigns.like_run import arrivals_of, campaign_of
from emulator.model.errors import InvalidInput
from emulator.model.interconnects import Interconnect
from emulator.model.job import JobSpecification, JobState
from emulator.model.local_users import AskedBurst, LocalUser
from emulator.model.node_names import node_names
from emulator.model.records import JobRow, LocalBurstRow, Manifest
from emulator.model.request import JobRequest, RequestKind
from emulator.model.shared_nodes import TimeSharing
from emulator.model.time_sharing.rules import rule_named
from emulator.model.topology import Topology
from emulator.model.units import BYTES_PER_MEGABYTE, rate_bytes_per_s
from emulator.policies.names import policy_name, queue_name
from emulator.policies.nodes.compositions import Composition, composition_named
from emulator.policies.nodes.limits import NodeLimits
from emulator.policies.nodes.stated import stated_limits, stated_users
from emulator.policies.registry import chooses_nodes
from emulator.runs.run_directory import RunRecords, read_rows, read_run
from emulator.simulator.time_shared.simulation import SharedSetting
from workloads.parallel_programs import Steps
from workloads.schedule import Arrival
from workloads.shared_node_jobs import SharedNodeJob


@dataclass(frozen=True, slots=True)
class LiveTimes:
    """The mean times of the jobs of a live run that finished, and the time from the first arrival to the last end.

    `latency_beside_s` is the mean delay of local users' bursts beside parallel tasks; None if there were none.
    """

    jobs: int
    wait_s: float
    execution_s: float
    turnaround_s: float
    makespan_s: float
    latency_beside_s: float | None


@dataclass(frozen=True, slots=True)
class SharedRun:
    """A live run on shared nodes: its topology, how tasks shared its nodes, what it submitted, and how it went.

    `composition` is that of the run. Where Slurm chose the nodes, it is *normal*: Slurm takes the least loaded ones.
    `bursts` are those that each of the `users` asked for, none where the run has no record of them. Jobs started
    `starting_s` after they were placed, and their places on nodes were free `releasing_s` after they ended, both in the
    mean.
    """

    manifest: Manifest
    topology: Topology
    sharing: TimeSharing
    composition: Composition
    arrivals: list[Arrival]
    jobs: list[SharedNodeJob]
    users: tuple[LocalUser, ...]
    bursts: tuple[tuple[AskedBurst, ...], ...]
    live: LiveTimes
    starting_s: float
    releasing_s: float

    def setting(self, seed: int | None) -> SharedSetting:
        """Return the setting of its simulation; with a `seed`, what local users ask for is drawn from it."""
        return SharedSetting(
            self.topology, self.users, self.composition, NodeLimits(self.composition.most_jobs, self.sharing.contract),
            rule_named(self.sharing.rule), seed or 0, bursts=self.bursts if seed is None else (),
            starting_s=self.starting_s, releasing_s=self.releasing_s,
        )  # fmt: skip


def shared_like_run(path: Path) -> SharedRun:
    """Return what the live run in `path` did, ready to be simulated.

    Raises:
        InvalidInput: if there is no campaign's directory, it was cut short, its nodes were not shared, a job did not
            finish, or a job is of another application than `synthetic`, of which alone the steps are known.
    """
    run = read_run(path)
    sources = campaign_of(run).sources
    topology = run.manifest.topology
    if topology.time_sharing is None:
        raise InvalidInput(
            f"{path}: ran on {topology.name!r}, whose nodes are not shared (`testbed simulate --like` simulates it)."
        )
    interconnect = topology.interconnects.single_cluster
    if interconnect is None:
        raise InvalidInput(f"{path}: its topology {topology.name!r} states no interconnect, which shared nodes need.")
    arrivals = arrivals_of(run)
    of_policy = chooses_nodes(run.manifest.policy, sources)
    jobs = [
        _job(run, number, arrival, interconnect, of_policy=of_policy)
        for number, arrival in enumerate(arrivals, start=1)
    ]
    users, bursts = stated_users(topology), read_rows(path, LocalBurstRow)
    return SharedRun(
        run.manifest,
        topology,
        topology.time_sharing,
        _composition(run.manifest, sources, of_policy=of_policy),
        arrivals,
        jobs,
        users,
        _asked(users, topology, bursts),
        _live_times(path, run.jobs, bursts),
        starting_s=statistics.fmean(max(0.0, (job.started_s or 0.0) - (job.placed_s or 0.0)) for job in run.jobs),
        releasing_s=statistics.fmean(max(0.0, (job.released_s or 0.0) - (job.finished_s or 0.0)) for job in run.jobs),
    )


def _asked(
    users: Sequence[LocalUser], topology: Topology, bursts: Sequence[LocalBurstRow]
) -> tuple[tuple[AskedBurst, ...], ...]:
    """Return what each of the `users` asked for, by the records of their bursts; one person works at a node."""
    of_node: dict[tuple[str, str], list[AskedBurst]] = defaultdict(list)
    for burst in bursts:
        asked_s = burst.time_s - burst.delay_s - burst.processor_s
        of_node[burst.cluster, burst.node].append(AskedBurst(max(0.0, asked_s), burst.processor_s))
    clusters = topology.clusters
    return tuple(
        tuple(sorted(of_node[clusters[user.cluster].name, node_names(clusters[user.cluster].nodes)[user.node]]))
        for user in users
    )


def _composition(manifest: Manifest, sources: Mapping[str, str], *, of_policy: bool) -> Composition:
    """Return the composition of a run by its policy and its queue; `of_policy` says whether that chose the nodes."""
    most_jobs = stated_limits(manifest.topology).most_jobs
    policy, queue = policy_name(manifest.policy), queue_name(manifest.queue)
    if not of_policy:
        return replace(composition_named("normal"), most_jobs=most_jobs)
    return Composition(f"{policy}+{queue}", policy, queue, most_jobs, sources=sources)


def _job(
    run: RunRecords, number: int, arrival: Arrival, interconnect: Interconnect, *, of_policy: bool
) -> SharedNodeJob:
    """Return a job of a live run; `of_policy` says whether its policy chose the nodes."""
    job = arrival.specification
    try:
        steps = steps_of_job(job, interconnect)
    except InvalidInput as error:
        raise InvalidInput(f"{run.path}: {error}") from error
    if of_policy:
        return SharedNodeJob(number, arrival.arrival_s, job.name, job.request_in(run.manifest.topology), steps)
    # Slurm chose the nodes, whatever the clusters were: `normal` stands in, for the job as a whole.
    share = steps.compute_s * steps.steps / steps.execution_s
    request = JobRequest(
        RequestKind.TOTAL, (sum(job.components),), estimate_s=job.estimate_s,
        memory_bytes=round(job.memory_mb * BYTES_PER_MEGABYTE), processor_share=share,
    )  # fmt: skip
    return SharedNodeJob(number, arrival.arrival_s, job.name, request, steps)


def steps_of_job(job: JobSpecification, interconnect: Interconnect) -> Steps:
    """Return the steps of a synthetic job; its exchange takes as long as its messages do one after another.

    Raises:
        InvalidInput: if it is of another application, does not state what a step is, or has sums over all tasks.
    """
    stated, tasks = job.arguments, sum(job.components)
    pattern, compute_s = str(stated.get("pattern", "")), stated.get("compute-s")
    steps = stated.get(SYNTHETIC.length, SYNTHETIC.default_length)
    has_known_messages = pattern in PATTERNS and "collective-every" not in stated
    is_known = job.application == SYNTHETIC.name and has_known_messages
    if not is_known or not isinstance(compute_s, int | float) or not isinstance(steps, int | float):
        raise InvalidInput(
            f"job {job.name!r}: only the steps of synthetic jobs are known that state compute-s and one of the "
            f"patterns {', '.join(PATTERNS)}, and no collective-every."
        )
    messages = len(partners(pattern, 0, 0, tasks)[0])
    message_bytes = float(stated.get("message-bytes", SYNTHETIC_MESSAGE_BYTES))
    each_s = interconnect.message_s + message_bytes / rate_bytes_per_s(interconnect.rate_mbit)
    exchange_s = interconnect.latency_s + messages * each_s if messages else 0.0
    return Steps(pattern, int(steps), float(compute_s), exchange_s)


def _live_times(path: Path, jobs: Sequence[JobRow], bursts: Sequence[LocalBurstRow]) -> LiveTimes:
    for job in jobs:
        if job.state != JobState.FINISHED.value:
            raise InvalidInput(f"{path}: job {job.job} has {job.state}: a run of which all jobs finished is needed.")
    arrivals_s = [job.submitted_s if job.intended_arrival_s is None else job.intended_arrival_s for job in jobs]
    delays_s = [burst.delay_s for burst in bursts if burst.beside > 0]
    starts_s, ends_s = [job.started_s or 0.0 for job in jobs], [job.finished_s or 0.0 for job in jobs]
    return LiveTimes(
        len(jobs),
        statistics.fmean(start - arrival for start, arrival in zip(starts_s, arrivals_s, strict=True)),
        statistics.fmean(end - start for start, end in zip(starts_s, ends_s, strict=True)),
        statistics.fmean(end - arrival for end, arrival in zip(ends_s, arrivals_s, strict=True)),
        max(ends_s) - min(arrivals_s),
        statistics.fmean(delays_s) if delays_s else None,
    )
