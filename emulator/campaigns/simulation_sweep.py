"""Sweeps of simulations: a workload over policies, queues, loads and seeds, as values that any worker can run.

At another load the same jobs arrive at scaled times. The load of a campaign, a job list or a log is the work of all
its jobs in one cluster, over what all processors can do from the first arrival to the last; that of a study's stream is
its gross utilization.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final

from emulator.campaigns.simulated import check_warm_up, estimated, simulate_prepared
from emulator.campaigns.simulated_run import judged
from emulator.campaigns.simulated_workload import SimulatedWorkload, SimulationOptions
from emulator.campaigns.workload_sources import DEFAULT_TOPOLOGY, factors_named, prepared
from emulator.fidelity.intervals import Estimate, mean
from emulator.model.catalogue import GENERATED_FROM, topology_named
from emulator.model.documents import read_document
from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.project import CAMPAIGNS, DOCUMENT_SUFFIXES, locate
from emulator.model.stream import StreamJob
from emulator.policies.names import custom_file, policy_name, queue_name
from emulator.policies.registry import default_policy
from emulator.simulator.parallel_simulations import OUTCOMES_VERSION, Outcome, ParallelSimulations
from emulator.simulator.runtime import FactorTable
from emulator.simulator.simulation import admission
from emulator.simulator.study_streams import study_workloads
from workloads.campaign import Campaign, campaign_named

QUANTITIES: Final = (
    "response_s", "wait_s", "execution_s", "local_response_s", "global_response_s", "gross_utilization",
    "net_utilization", "makespan_s",
)  # fmt: skip
"""The quantities of which a sweep gives means and intervals over its seeds."""

MOST_LOADS: Final = 10_000
CHECKED_JOBS: Final = 1_000
"""The number of jobs that are checked before the sweep begins."""


@dataclass(frozen=True, slots=True)
class SweptWorkload:
    """The workload that a sweep is about, and the options that all its simulations share; None: the workload's own.

    `factors` is a factor or the path of a table, of which those of `grid` count. With `estimate_factor` the users'
    estimates are drawn, for each seed anew.
    """

    workload: str
    topology: str | None = None
    clusters: str | None = None
    jobs: int | None = None
    quota: float | None = None
    band: str | None = None
    factors: str | None = None
    grid: int | None = None
    warm_up_jobs: int = 0
    estimate_factor: float | None = None
    jobs_per_link: int | None = None

    @property
    def is_stream(self) -> bool:
        """Whether it is the stream of a published study."""
        return self.workload.lower() in study_workloads()


@dataclass(frozen=True, slots=True)
class SimulationSweep:
    """A sweep: its workload, and what it goes over; a policy, queue or load of None is the workload's own.

    Raises:
        InvalidInput: if there is nothing to go over.
    """

    swept: SweptWorkload
    policies: tuple[str | None, ...]
    queues: tuple[str | None, ...]
    loads: tuple[float | None, ...]
    seeds: int

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise InvalidInput(f"--seeds: must be at least 1, not {self.seeds}.")
        _refuse_repeated("--policies", [policy_name(name) for name in self.policies if name])
        _refuse_repeated("--queues", [queue_name(name) for name in self.queues if name])
        _refuse_repeated("--loads", [load for load in self.loads if load is not None])
        if None in self.loads and self.swept.is_stream:
            raise InvalidInput(
                f"--loads: the stream {self.swept.workload!r} needs gross utilizations, for instance --loads "
                "0.5:0.9:0.1."
            )

    def cases(self) -> list[WorkloadCase]:
        """Return the simulations, seed by seed in each cell."""
        inputs = _inputs(self)
        return [
            WorkloadCase(self.swept, policy, queue, load, seed, inputs[seed])
            for policy in self.policies
            for queue in self.queues
            for load in self.loads
            for seed in range(self.seeds)
        ]

    def names(self) -> dict[tuple[str | None, str | None], tuple[str, str]]:
        """Return each policy and queue as simulations spell them, after preparing the workload under both once.

        Raises:
            InvalidInput: if it cannot be simulated so.
        """
        found: dict[tuple[str | None, str | None], tuple[str, str]] = {}
        for policy in self.policies:
            for queue in self.queues:
                subject, options = WorkloadCase(self.swept, policy, queue, self.loads[0], seed=0, inputs="").prepared()
                check_warm_up(subject.jobs, options)
                checked = admission(
                    subject.topology, subject.queue, subject.policy, subject.quota, subject.surroundings
                )
                for job in islice(estimated(subject.jobs, options, 0), CHECKED_JOBS):
                    checked.check(job)
                found[policy, queue] = subject.policy or default_policy(subject.queue), subject.queue
        return found


@dataclass(frozen=True, slots=True)
class WorkloadCase:
    """One simulation of a workload; `inputs` is a hash of the files that it reads."""

    swept: SweptWorkload
    policy: str | None
    queue: str | None
    load: float | None
    seed: int
    inputs: str

    @property
    def key(self) -> str:
        """All that the outcome depends on, in one level: stored outcomes are found by this text."""
        own = asdict(self)
        shared = own.pop("swept")
        stated = {name: value for name, value in {**shared, **own}.items() if value is not None}
        return json.dumps({"outcomes": OUTCOMES_VERSION, **stated}, sort_keys=True)

    def prepared(self) -> tuple[SimulatedWorkload, SimulationOptions]:
        """Return the workload at this load, and the options of its simulation."""
        swept = self.swept
        options = SimulationOptions(
            topology=swept.topology, clusters=swept.clusters, policy=self.policy, queue=self.queue, quota=swept.quota,
            band=swept.band, jobs=swept.jobs, load=self.load if swept.is_stream else None,
            warm_up_jobs=swept.warm_up_jobs, seed=self.seed, runtime=_factors(swept.factors, swept.grid),
            estimate_factor=swept.estimate_factor, jobs_per_link=swept.jobs_per_link,
        )  # fmt: skip
        subject = prepared(swept.workload, options)
        if self.load is not None and not swept.is_stream:
            subject = replace(subject, jobs=at_load(tuple(subject.jobs), subject.topology.processors, self.load))
        return subject, options

    def run(self) -> Outcome:
        """Simulate until all jobs have finished."""
        subject, options = self.prepared()
        result = simulate_prepared(subject, options)
        found = result.statistics
        return {
            "response_s": found.total.response_s,
            "wait_s": found.total.wait_s,
            "execution_s": found.total.execution_s,
            "local_response_s": found.local.response_s,
            "global_response_s": found.global_.response_s,
            "gross_utilization": found.gross_utilization,
            "net_utilization": found.net_utilization,
            "makespan_s": found.makespan_s,
            "jobs_finished": found.jobs_finished,
            "jobs_given_up": found.jobs_given_up,
            "saturated": found.saturated,
            "share_in_band": None if result.background is None else result.background.share_in_band,
            "verdict": judged(found.jobs_arrived, result).judgement.value,
        }


@dataclass(frozen=True, slots=True)
class SimulationSweepCell:
    """A policy and a queue at a load: the outcome of each seed, and the means over them with 95% intervals.

    Outcomes that are all equal are one replication: the seeds vary nothing in the workload, as in a list of jobs.
    `saturated` is the share of the seeds that saturated, and `verdicts` are those of the simulations, each once.
    """

    policy: str
    queue: str
    load: float | None
    outcomes: tuple[Outcome, ...]

    @property
    def replications(self) -> int:
        """The number of seeds; 1 if all of them give the same."""
        return 1 if all(outcome == self.outcomes[0] for outcome in self.outcomes) else len(self.outcomes)

    @property
    def means(self) -> dict[str, Estimate]:
        """The means of the quantities that every seed has, without an interval of those that no seed changes."""
        return {
            quantity: _mean_over_seeds([outcome[quantity] for outcome in self.outcomes])
            for quantity in QUANTITIES
            if all(outcome[quantity] is not None for outcome in self.outcomes)
        }

    @property
    def saturated(self) -> float:
        """The share of the seeds that saturated."""
        return sum(bool(outcome["saturated"]) for outcome in self.outcomes) / len(self.outcomes)

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The verdicts of the simulations, each once."""
        return tuple(sorted({outcome["verdict"] for outcome in self.outcomes}))


def _mean_over_seeds(values: Sequence[float]) -> Estimate:
    """Return the mean of `values`; equal ones say nothing of a spread and get no interval."""
    return mean(values if len(set(values)) > 1 else values[:1])


def sweep_workload(sweep: SimulationSweep, simulations: ParallelSimulations) -> list[SimulationSweepCell]:
    """Run the simulations of `sweep` that the store of `simulations` lacks, and return its cells in order.

    Raises:
        TestbedError: what a simulation raised.
    """
    names, cases = sweep.names(), sweep.cases()
    outcomes = simulations.outcomes(cases)
    return [
        SimulationSweepCell(*names[case.policy, case.queue], case.load, tuple(outcomes[begin : begin + sweep.seeds]))
        for begin, case in list(enumerate(cases))[:: sweep.seeds]
    ]


def _refuse_repeated(option: str, values: Sequence[object]) -> None:
    for at, value in enumerate(values):
        if value in values[:at]:
            raise InvalidInput(f"{option}: names {value} twice; leave one of them out.")


def at_load(jobs: Sequence[StreamJob], processors: int, load: float) -> tuple[StreamJob, ...]:
    """Return `jobs` at other arrivals, at which their work is that share of what `processors` can do.

    Raises:
        InvalidInput: if the load is not positive, or all jobs arrive at once.
    """
    if not (math.isfinite(load) and load > 0):
        raise InvalidInput(f"--loads: must be positive numbers, not {load!r}.")
    first_s = jobs[0].arrival_s if jobs else 0.0
    period_s = jobs[-1].arrival_s - first_s if jobs else 0.0
    work_s = math.fsum(job.request.processors * job.service_s for job in jobs)
    if period_s <= 0.0 or work_s <= 0.0:
        raise InvalidInput("--loads: all jobs arrive at once or take no time, so that no load can be made of them.")
    factor = work_s / (load * processors * period_s)
    return tuple(
        StreamJob(
            job.id, first_s + (job.arrival_s - first_s) * factor, job.service_s, job.request, job.queue, job.application
        )
        for job in jobs
    )  # fmt: skip


def parsed_loads(text: str | None) -> tuple[float | None, ...]:
    """Return the loads of ``0.5,0.7`` or ``0.5:0.95:0.05`` (from, to, step); without a text that of the workload.

    Raises:
        InvalidInput: if it is neither.
    """
    if text is None:
        return (None,)
    return tuple(load for part in text.split(",") for load in _range(part.strip(), text))


def _range(part: str, text: str) -> Iterable[float]:
    try:
        numbers = [float(number) for number in part.split(":")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 3) or not all(math.isfinite(number) and number > 0 for number in numbers):
        raise InvalidInput(f"--loads: must be such as 0.5,0.7 or 0.5:0.95:0.05 (from, to, step), not {text[:60]!r}.")
    if len(numbers) == 1:
        return numbers
    first, last, step = numbers
    steps = (last - first) / step + 1e-9
    if not 0 <= steps < MOST_LOADS:
        held = "no load" if steps < 0 else "too many loads"
        raise InvalidInput(f"--loads: {part} holds {held}; from 1 to {MOST_LOADS} are meant.")
    return [round(first + number * step, 9) for number in range(math.floor(steps) + 1)]


@lru_cache(maxsize=4)
def _factors(text: str | None, grid: int | None) -> FactorTable | float | None:
    return factors_named(text, grid)


def _inputs(sweep: SimulationSweep) -> list[str]:
    """Return for each seed a hash of the files that its simulations read, so that changed files give other cases.

    Raises:
        InvalidInput: if each seed has a job list of its own, and one is missing.
    """
    shared, workload = _fingerprint(sweep), _located("campaign", sweep.swept.workload, CAMPAIGNS)
    listed = read_document(workload, Campaign).job_list if workload.suffix.lower() in DOCUMENT_SUFFIXES else None
    if listed is None or not listed.is_per_seed:
        return [shared] * sweep.seeds
    return [_with_file(shared, workload.parent / listed.file_of(seed), sweep.seeds) for seed in range(sweep.seeds)]


def _with_file(shared: str, path: Path, seeds: int) -> str:
    if not path.is_file():
        raise InvalidInput(f"{path}: there is no such file, and each of the seeds 0 to {seeds - 1} needs its job list.")
    return hashlib.sha256(shared.encode() + path.read_bytes()).hexdigest()[:16]


def _fingerprint(sweep: SimulationSweep) -> str:
    """Return a hash of the files that simulations with any seed read."""
    digest, swept = hashlib.sha256(), sweep.swept
    workload = _located("campaign", swept.workload, CAMPAIGNS)
    topology, named, log, listed = swept.topology, (*sweep.policies, *sweep.queues), None, None
    if workload.suffix.lower() in DOCUMENT_SUFFIXES:
        campaign = campaign_named(swept.workload)
        named = (*named, campaign.policy, campaign.queue)
        topology = topology or (campaign.topology if swept.clusters is None else None)
        background = campaign.under_band(swept.band).background
        log = None if background is None else background.log
        if campaign.job_list is not None and not campaign.has_list_per_seed:
            listed = workload.parent / campaign.job_list.file
    own = [*(custom_file(name) for name in named if name is not None), log, listed]
    files = [workload, *(Path(file) for file in dict.fromkeys(own) if file is not None)]
    if swept.factors is not None:
        files.append(Path(swept.factors))
    for file in files:
        if file.is_file():
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    if topology is None:
        is_generated = swept.clusters is not None or swept.is_stream
        topology = GENERATED_FROM if is_generated else DEFAULT_TOPOLOGY
    # The topology is read here, because it may name a profile in another file.
    digest.update(topology_named(topology).model_dump_json().encode())
    return digest.hexdigest()[:16]


def _located(kind: str, name: str, folder: Path) -> Path:
    """Return the file that a name means; a job list, a log and a study's stream are not among the documents."""
    path = Path(name)
    if path.is_file():
        return path
    try:
        return locate(kind, name, folder)
    except UnknownName:
        return path
