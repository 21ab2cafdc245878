"""A simulation of a non-dedicated cluster: what goes in, and what comes out."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from apps.partners import partners, pattern_period
from emulator.model.errors import ImpossibleRequest
from emulator.model.local_users import AskedBurst, LocalUser
from emulator.model.placement import Placement
from emulator.model.time_sharing.processor import SharedProcessor
from emulator.model.time_sharing.rules import RULES, SharingRule
from emulator.model.topology import Topology
from emulator.model.units import rate_bytes_per_s
from emulator.policies.nodes.compositions import COMPOSITIONS, Composition
from emulator.policies.nodes.limits import NodeLimits
from emulator.policies.nodes.stated import node_states
from emulator.policies.protocols import Start
from emulator.simulator.time_shared.engine import SharedNodes
from emulator.simulator.time_shared.layout import first_nodes, network_of
from emulator.simulator.time_shared.scheduling import NodeScheduler
from emulator.simulator.time_shared.tasks import JobRun
from workloads.distributions import stream
from workloads.shared_node_jobs import SharedNodeJob

ARRIVES: Final = 0
STARTS: Final = 1
RELEASES: Final = 2


@dataclass(frozen=True, slots=True)
class RecordedStart:
    """When a job of a live run was placed, when it started, and on which nodes."""

    placed_s: float
    start_s: float
    placement: Placement


@dataclass(frozen=True, slots=True)
class SharedSetting:
    """A simulation without its jobs: clusters, local users, composition, limits of nodes, and time-sharing rule.

    What each of the `users` asks for is drawn, after what `bursts` holds for each, in their order. A job starts
    `starting_s` after it is placed, and its places on nodes are free `releasing_s` after its end. With recorded
    `starts`, by the numbers of the jobs, nothing is decided: each job starts when and where it did.
    """

    topology: Topology
    users: tuple[LocalUser, ...] = ()
    composition: Composition = COMPOSITIONS["basic"]
    limits: NodeLimits = field(default_factory=NodeLimits)
    rule: SharingRule = RULES["linux"]
    seed: int = 0
    bursts: tuple[tuple[AskedBurst, ...], ...] = ()
    starting_s: float = 0.0
    releasing_s: float = 0.0
    starts: Mapping[int, RecordedStart] | None = None


@dataclass(frozen=True, slots=True)
class SharedJobOutcome:
    """A finished job: its timestamps, where it ran, and what it had; nodes are numbered through all clusters.

    `expected_end_s` is its end as the estimator expected it at its start, None without an estimate.
    """

    id: int
    name: str
    tasks: int
    arrival_s: float
    placed_s: float
    start_s: float
    finish_s: float
    released_s: float
    nodes: tuple[int, ...]
    clusters: int
    alone_s: float
    processor_s: float
    expected_end_s: float | None

    @property
    def wait_s(self) -> float:
        """The time from arrival to start."""
        return self.start_s - self.arrival_s

    @property
    def execution_s(self) -> float:
        """The time from start to finish."""
        return self.finish_s - self.start_s

    @property
    def turnaround_s(self) -> float:
        """The time from arrival to finish."""
        return self.finish_s - self.arrival_s

    @property
    def processor_share(self) -> float:
        """The share of the time for which its tasks had their processors, on average."""
        return self.processor_s / self.tasks / self.execution_s if self.execution_s > 0 else 1.0


@dataclass(frozen=True, slots=True)
class SharedResult:
    """The outcome of a simulation: its jobs in order of arrival, and how long bursts of local users were delayed.

    `latencies_s` is keyed by the number of parallel jobs on the user's node when the burst was asked for.
    """

    jobs: tuple[SharedJobOutcome, ...]
    latencies_s: Mapping[int, tuple[float, ...]]
    events: int

    @property
    def makespan_s(self) -> float:
        """The time from the first arrival to the last finish."""
        return max(job.finish_s for job in self.jobs) - min(job.arrival_s for job in self.jobs)

    @property
    def wait_s(self) -> float:
        """The mean wait time."""
        return statistics.fmean(job.wait_s for job in self.jobs)

    @property
    def execution_s(self) -> float:
        """The mean execution time."""
        return statistics.fmean(job.execution_s for job in self.jobs)

    @property
    def turnaround_s(self) -> float:
        """The mean turnaround time."""
        return statistics.fmean(job.turnaround_s for job in self.jobs)

    @property
    def slowdown(self) -> float:
        """The mean of execution time over that alone."""
        return statistics.fmean(job.execution_s / job.alone_s for job in self.jobs)

    @property
    def estimator_error(self) -> float | None:
        """The mean error of expected executions, as a share of the real ones; None if nothing was expected."""
        errors = [
            abs(job.expected_end_s - job.finish_s) / job.execution_s
            for job in self.jobs
            if job.expected_end_s is not None and job.execution_s > 0
        ]
        return statistics.fmean(errors) if errors else None

    def latency_s(self, beside: int | None = None) -> float | None:
        """Return the mean delay of bursts beside this number of jobs (None: all bursts); None if there were none."""
        return self._mean_latency_s(lambda jobs: beside is None or jobs == beside)

    @property
    def latency_beside_s(self) -> float | None:
        """The mean delay of bursts beside one job or more; None if there were none."""
        return self._mean_latency_s(lambda jobs: jobs > 0)

    def _mean_latency_s(self, counts: Callable[[int], bool]) -> float | None:
        bursts = [latency for jobs, each in self.latencies_s.items() if counts(jobs) for latency in each]
        return statistics.fmean(bursts) if bursts else None


def simulate_shared(setting: SharedSetting, jobs: Sequence[SharedNodeJob]) -> SharedResult:
    """Simulate `jobs`, in order of arrival, until all have finished.

    Raises:
        ImpossibleRequest: if a job could never start.
        InvalidInput: if the topology does not say what is needed, or a job lacks an estimate that is needed.
    """
    return _Simulation(setting, jobs).run()


class _Simulation:
    """A scheduler and an engine, joined: arrivals and ends go to the scheduler, its starts to the engine."""

    def __init__(self, setting: SharedSetting, jobs: Sequence[SharedNodeJob]) -> None:
        topology = setting.topology
        self._setting = setting
        self._jobs = list(jobs)
        self._by_id = {job.id: job for job in jobs}
        self._first = first_nodes(topology)
        self._rate = _interface_rate(topology)
        nodes = node_states(topology, setting.users)
        self._scheduler = NodeScheduler(setting.composition, setting.limits, nodes)
        self._scheduler.check(self._jobs)
        rule, contract = setting.rule, setting.limits.contract
        self._engine = SharedNodes(
            [SharedProcessor(rule, contract) for of_cluster in nodes for _ in of_cluster],
            network_of(topology, setting.users),
            [contract.parallel_share if node.has_local_users else 1.0 for of_cluster in nodes for node in of_cluster],
            rule.balances_jobs,
            self._called,
            self._finished,
            self._served,
        )
        self._placements: dict[int, tuple[float, Placement]] = {}
        self._expected_s: dict[int, float | None] = {}
        self._outcomes: list[SharedJobOutcome] = []
        self._latencies_s: dict[int, list[float]] = {}

    def run(self) -> SharedResult:
        for index, user in enumerate(self._setting.users):
            profile = user.profile
            numbers = stream(self._setting.seed, f"local user {index}")
            node = self._first[user.cluster] + user.node
            recorded = self._setting.bursts[index] if self._setting.bursts else ()
            self._engine.add_user(node, profile.burst_s, profile.think_s, numbers, recorded)
        for index, job in enumerate(self._jobs):
            start = self._recorded_start(job)
            if start is None:
                self._engine.call_at(job.arrival_s, ARRIVES, index)
            else:
                self._placements[job.id] = (start.placed_s, start.placement)
                self._expected_s[job.id] = None
                self._engine.call_at(start.start_s, STARTS, job.id)
        self._engine.run()
        if self._scheduler.waiting:
            raise ImpossibleRequest(
                f"{self._scheduler.waiting} jobs still wait though nothing runs and none will arrive: "
                f"{self._setting.composition.name!r} never starts them."
            )
        latencies = {beside: tuple(each) for beside, each in sorted(self._latencies_s.items())}
        return SharedResult(tuple(sorted(self._outcomes, key=_order)), latencies, self._engine.events)

    def _called(self, kind: int, subject: int, now_s: float) -> None:
        if kind == ARRIVES:
            self._place(self._scheduler.arrive(self._jobs[subject], now_s), now_s)
        elif kind == STARTS:
            self._start(self._by_id[subject], now_s)
        elif self._setting.starts is None:
            self._place(self._scheduler.depart(subject, now_s), now_s)

    def _recorded_start(self, job: SharedNodeJob) -> RecordedStart | None:
        return None if self._setting.starts is None else self._setting.starts[job.id]

    def _finished(self, run: JobRun, now_s: float) -> None:
        job, (placed_s, placement) = self._by_id[run.id], self._placements.pop(run.id)
        released_s = now_s + self._setting.releasing_s
        self._outcomes.append(
            SharedJobOutcome(
                job.id,
                job.name,
                job.tasks,
                job.arrival_s,
                placed_s,
                run.start_s,
                now_s,
                released_s,
                self._nodes_of(placement),
                len(placement.clusters()),
                job.steps.execution_s,
                run.given_s,
                self._expected_s.pop(job.id),
            )
        )
        if released_s > now_s:
            self._engine.call_at(released_s, RELEASES, run.id)
        else:
            self._called(RELEASES, run.id, now_s)

    def _served(self, beside: int, delay_s: float) -> None:
        self._latencies_s.setdefault(beside, []).append(delay_s)

    def _place(self, starts: Sequence[Start], now_s: float) -> None:
        start_s = now_s + self._setting.starting_s
        for start in starts:
            job = self._by_id[start.job_id]
            self._placements[job.id] = (now_s, start.placement)
            has_estimate = job.request.estimate_s is not None
            self._expected_s[job.id] = self._scheduler.expected_end_s(job.id, start_s) if has_estimate else None
            if start_s > now_s:
                self._engine.call_at(start_s, STARTS, job.id)
            else:
                self._start(job, now_s)

    def _start(self, job: SharedNodeJob, now_s: float) -> None:
        _, placement = self._placements[job.id]
        self._engine.start(self._job_run(job, now_s), self._nodes_of(placement), now_s)

    def _nodes_of(self, placement: Placement) -> tuple[int, ...]:
        return tuple(
            self._first[component.cluster] + node for component in placement.components for node in component.nodes
        )

    def _job_run(self, job: SharedNodeJob, now_s: float) -> JobRun:
        steps, tasks = job.steps, job.tasks
        phases = [
            [partners(steps.pattern, rank, step, tasks) for rank in range(tasks)]
            for step in range(pattern_period(steps.pattern, tasks))
        ]
        message_bytes = self._message_bytes(job, len(phases[0][0][0]))
        return JobRun(
            job.id,
            now_s,
            steps.steps,
            steps.compute_s if tasks > 1 else steps.compute_s + steps.exchange_s,
            message_bytes,
            message_bytes / self._rate,
            [[sends for sends, _ in phase] for phase in phases],
            [[sources for _, sources in phase] for phase in phases],
        )

    def _message_bytes(self, job: SharedNodeJob, messages: int) -> float:
        """Return the size at which a step's messages take its exchange where nothing holds them up."""
        interconnect = self._setting.topology.interconnects.single_cluster
        if interconnect is None or messages == 0:
            return 0.0
        each_s = (job.steps.exchange_s - interconnect.latency_s) / messages - interconnect.message_s
        return max(0.0, each_s * self._rate)


def _interface_rate(topology: Topology) -> float:
    interconnect = topology.interconnects.single_cluster
    return 0.0 if interconnect is None else rate_bytes_per_s(interconnect.rate_mbit)


def _order(job: SharedJobOutcome) -> tuple[float, int]:
    return job.arrival_s, job.id
