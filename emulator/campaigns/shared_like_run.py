"""A live run on nodes that tasks share in time: its jobs for the simulation of shared nodes, and its mean times."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from emulator.campaigns.like_run import arrivals_of, campaign_of
from emulator.model.errors import InvalidInput
from emulator.model.job import JobState
from emulator.model.local_users import AskedBurst, LocalUser
from emulator.model.node_names import node_names
from emulator.model.records import JobRow, LocalBurstRow, Manifest
from emulator.model.shared_nodes import TimeSharing
from emulator.model.time_sharing.rules import rule_named
from emulator.model.topology import Topology
from emulator.planning.shared_nodes import composition_of, shared_job
from emulator.policies.nodes.compositions import Composition
from emulator.policies.nodes.limits import NodeLimits
from emulator.policies.nodes.stated import stated_users
from emulator.policies.registry import chooses_nodes
from emulator.runs.run_directory import read_rows, read_run
from emulator.simulator.time_shared.simulation import RecordedStart, SharedSetting
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

    def setting(self, seed: int | None, starts: Mapping[int, RecordedStart] | None = None) -> SharedSetting:
        """Return the setting of its simulation, which decides nothing if all `starts` are given.

        With a `seed`, what local users ask for is drawn from it.
        """
        return SharedSetting(
            self.topology, self.users, self.composition, NodeLimits(self.composition.most_jobs, self.sharing.contract),
            rule_named(self.sharing.rule), seed or 0, bursts=self.bursts if seed is None else (),
            starting_s=self.starting_s, releasing_s=self.releasing_s, starts=starts,
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
    arrivals = arrivals_of(run)
    of_policy = chooses_nodes(run.manifest.policy, sources)
    try:
        jobs = [
            shared_job(number, arrival, topology, of_policy=of_policy)
            for number, arrival in enumerate(arrivals, start=1)
        ]
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from error
    users, bursts = stated_users(topology), read_rows(path, LocalBurstRow)
    return SharedRun(
        run.manifest,
        topology,
        topology.time_sharing,
        composition_of(run.manifest.policy, run.manifest.queue, sources, topology),
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
