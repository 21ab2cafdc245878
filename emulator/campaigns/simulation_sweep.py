"""Sweeps of simulations: a workload over policies, queues, loads and seeds, as values that any worker can run.

At another load the same jobs arrive at scaled times. The load of a campaign, a job list or a log is the work of all
its jobs in one cluster, over what all processors can do from the first arrival to the last; that of a study's stream is
its gross utilization.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, Final

from emulator.campaigns.offered_load import at_load, load_of
from emulator.campaigns.simulated import check_warm_up, estimated, simulate_prepared
from emulator.campaigns.simulated_run import judged
from emulator.campaigns.simulated_workload import SimulatedWorkload, SimulationOptions
from emulator.campaigns.swept_workload import SweepInputs, SweptWorkload, inputs_of
from emulator.campaigns.workload_sources import prepared
from emulator.fidelity.intervals import Estimate, mean
from emulator.fidelity.judgement import Judgement
from emulator.model.errors import InvalidInput
from emulator.model.times import TimeSource
from emulator.policies.names import policy_name, queue_name
from emulator.policies.registry import default_policy
from emulator.runs.seeds import ESTIMATES, JOBS, drawn_by_seed
from emulator.runs.surroundings import versions
from emulator.simulator.parallel_simulations import OUTCOMES_VERSION, Outcome, ParallelSimulations
from emulator.simulator.simulation import admission

QUANTITIES: Final = (
    "response_s", "wait_s", "execution_s", "local_response_s", "global_response_s", "gross_utilization",
    "net_utilization", "makespan_s",
)  # fmt: skip
"""The quantities of which a sweep gives means and intervals over its seeds."""

MOST_LOADS: Final = 10_000
CHECKED_JOBS: Final = 1_000
"""The number of jobs that are checked before the sweep begins."""


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
        if self.swept.interarrival_factor is not None and self.loads != (None,):
            raise InvalidInput("--interarrival-factor: --loads says how often jobs come; leave one of the two out.")
        if None in self.loads and self.swept.is_stream:
            raise InvalidInput(
                f"--loads: the stream {self.swept.workload!r} needs gross utilizations, for instance --loads "
                "0.5:0.9:0.1."
            )

    def cases(self) -> list[WorkloadCase]:
        """Return the simulations, seed by seed in each cell."""
        inputs = self.inputs().digests(self.seeds)
        return [
            WorkloadCase(self.swept, policy, queue, load, seed, inputs[seed], self._schedulers, OUTCOMES_VERSION)
            for policy in self.policies
            for queue in self.queues
            for load in self.loads
            for seed in range(self.seeds)
        ]

    def inputs(self) -> SweepInputs:
        """Return the files and the topology that the simulations read.

        Raises:
            InvalidInput: if they cannot be read.
        """
        return inputs_of(self.swept, self._schedulers, range(self.seeds))

    def record(self) -> dict[str, Any]:
        """Return all that the outcomes depend on: what is swept and over what, what is read, and the versions.

        Raises:
            InvalidInput: if a file cannot be read.
        """
        over: dict[str, tuple[object, ...]] = {"policies": self.policies, "queues": self.queues, "loads": self.loads}
        asked = {name: values for name, values in over.items() if values != (None,)}
        return {
            "options": {**_stated(asdict(self.swept)), **asked, "seeds": self.seeds},
            "outcomes": OUTCOMES_VERSION,
            "versions": versions(),
            **self.inputs().record(),
        }

    @property
    def _schedulers(self) -> tuple[str | None, ...]:
        return *self.policies, *self.queues

    def names(self) -> dict[tuple[str | None, str | None], tuple[str, str]]:
        """Return each policy and queue as simulations spell them, after preparing the workload under both once.

        Raises:
            InvalidInput: if it cannot be simulated so.
        """
        return {asked: (found.policy, found.queue) for asked, found in self.schedulings().items()}

    def schedulings(self) -> dict[tuple[str | None, str | None], SweptScheduling]:
        """Return what is known of each policy and queue, after preparing the workload under both once.

        Raises:
            InvalidInput: if it cannot be simulated so.
        """
        found: dict[tuple[str | None, str | None], SweptScheduling] = {}
        for policy in self.policies:
            for queue in self.queues:
                subject, options = WorkloadCase(self.swept, policy, queue, self.loads[0], seed=0, inputs="").prepared()
                check_warm_up(subject.jobs, options)
                checked = admission(
                    subject.topology, subject.queue, subject.policy, subject.quota, subject.surroundings
                )
                for job in islice(estimated(subject.jobs, options, 0), CHECKED_JOBS):
                    checked.check(job)
                found[policy, queue] = _scheduling(subject, options)
        return found


@dataclass(frozen=True, slots=True)
class SweptScheduling:
    """A policy and a queue of a sweep as simulations spell them, and what is known of the workload under them.

    `drawn` says in words what a seed draws, and `left_out` how many records of a log are not among its jobs, with the
    first seed.
    """

    policy: str
    queue: str
    drawn: tuple[str, ...] = (JOBS,)
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class WorkloadCase:
    """One simulation of a workload; `inputs` is a hash of the files that it reads.

    These are those of its sweep, which goes over `schedulers`, the names of policies and queues. `outcomes` is the
    version of outcomes where the case was made.
    """

    swept: SweptWorkload
    policy: str | None
    queue: str | None
    load: float | None
    seed: int
    inputs: str
    schedulers: tuple[str | None, ...] = ()
    outcomes: int = OUTCOMES_VERSION

    @property
    def key(self) -> str:
        """All that the outcome depends on, in one level: stored outcomes are found by this text."""
        own = asdict(self)
        shared = own.pop("swept")
        del own["schedulers"]  # their files are in the hash
        return json.dumps(_stated({**shared, **own}), sort_keys=True)

    def prepared(self) -> tuple[SimulatedWorkload, SimulationOptions]:
        """Return the workload at this load, and the options of its simulation."""
        options = self.swept.options(self.policy, self.queue, self.load, self.seed)
        subject = prepared(self.swept.workload, options)
        if self.swept.is_stream:
            return subject, options
        jobs = tuple(subject.jobs)
        if self.load is not None:
            jobs = at_load(jobs, subject.topology.processors, self.load)
        return replace(subject, jobs=jobs), options

    def run(self) -> Outcome:
        """Simulate until all jobs have finished.

        Raises:
            InvalidInput: if this process has another version of outcomes, or other files than the sweep began with.
        """
        # Files may change while they are read: the outcome counts only if they were the same before and after.
        self._check_inputs()
        outcome = self._simulated()
        self._check_inputs()
        return outcome

    def _check_inputs(self) -> None:
        if self.outcomes != OUTCOMES_VERSION:
            raise InvalidInput(
                f"{self.swept.workload}: this worker simulates with another version of the testbed than the sweep, so "
                "that its outcomes are others; install the same one there."
            )
        (found,) = inputs_of(self.swept, self.schedulers, [self.seed]).digests(1)
        if found != self.inputs:
            raise InvalidInput(
                f"{self.swept.workload}: a file that the sweep reads is not as it was when the sweep began, or is "
                "another one on this worker; give all workers the same files at the same paths, leave them as they are "
                "until the sweep ends, and start it again."
            )

    def _simulated(self) -> Outcome:
        subject, options = self.prepared()
        result = simulate_prepared(subject, options)
        found = result.statistics
        verdict = judged(found.jobs_arrived, result)
        return {
            "load": load_of(tuple(subject.jobs), subject.topology.processors) if self.load is None else self.load,
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
            "jobs_reached_limit": found.jobs_reached_limit,
            "saturated": found.saturated,
            "share_in_band": None if result.background is None else result.background.share_in_band,
            "verdict": verdict.judgement.value,
            "verdict_reasons": "; ".join(verdict.reasons),
            **_jobs_by_source(subject),
        }


@dataclass(frozen=True, slots=True)
class SimulationSweepCell:
    """A policy and a queue at a load: the outcome of each seed, and the means over them with 95% intervals.

    Outcomes that are all equal are one replication: the seeds vary nothing in the workload, as in a list of jobs.
    `saturated` is the share of the seeds that saturated, and `verdicts` are those of the simulations, each once.
    `drawn` and `left_out` are those of its `SweptScheduling`.
    """

    policy: str
    queue: str
    load: float | None
    outcomes: tuple[Outcome, ...]
    drawn: tuple[str, ...] = (JOBS,)
    left_out: int = 0

    @property
    def replications(self) -> int:
        """The number of seeds; 1 if all of them give the same."""
        return 1 if all(outcome == self.outcomes[0] for outcome in self.outcomes) else len(self.outcomes)

    @property
    def offered_load(self) -> float | None:
        """The load that was asked for, else the mean of those that the jobs of each seed offer; None without any."""
        loads = [outcome["load"] for outcome in self.outcomes]
        return None if None in loads else _mean_over_seeds(loads).value

    @property
    def jobs_given_up(self) -> int:
        """The number of jobs that were given up, over all replications."""
        return self._total("jobs_given_up")

    @property
    def jobs_reached_limit(self) -> int:
        """The number of jobs that were ended at the run-time limit, over all replications."""
        return self._total("jobs_reached_limit")

    @property
    def is_comparable(self) -> bool:
        """Whether its means are those of all jobs: every job finished, and no simulation is void."""
        return Judgement.VOID not in self.verdicts and self.jobs_given_up + self.jobs_reached_limit == 0

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

    def _total(self, quantity: str) -> int:
        return sum(int(outcome[quantity]) for outcome in self.outcomes[: self.replications])


def _mean_over_seeds(values: Sequence[float]) -> Estimate:
    """Return the mean of `values`; equal ones say nothing of a spread and get no interval."""
    return mean(values if len(set(values)) > 1 else values[:1])


def sweep_workload(sweep: SimulationSweep, simulations: ParallelSimulations) -> list[SimulationSweepCell]:
    """Run the simulations of `sweep` that the store of `simulations` lacks, and return its cells in order.

    Raises:
        TestbedError: what a simulation raised.
    """
    schedulings, cases = sweep.schedulings(), sweep.cases()
    outcomes = simulations.outcomes(cases)
    return [
        _cell(schedulings[case.policy, case.queue], case.load, outcomes[begin : begin + sweep.seeds])
        for begin, case in list(enumerate(cases))[:: sweep.seeds]
    ]


def _cell(under: SweptScheduling, load: float | None, outcomes: Sequence[Outcome]) -> SimulationSweepCell:
    return SimulationSweepCell(under.policy, under.queue, load, tuple(outcomes), under.drawn, under.left_out)


def _scheduling(subject: SimulatedWorkload, options: SimulationOptions) -> SweptScheduling:
    drawn = drawn_by_seed(subject.record, subject.queue, subject.topology)
    return SweptScheduling(
        subject.policy or default_policy(subject.queue),
        subject.queue,
        drawn if options.estimate_factor is None else (*drawn, ESTIMATES),
        int(subject.record.get("left_out", 0)),
    )


def _refuse_repeated(option: str, values: Sequence[object]) -> None:
    for at, value in enumerate(values):
        if value in values[:at]:
            raise InvalidInput(f"{option}: names {value} twice; leave one of them out.")


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


def _stated(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the `values` that are not left out."""
    return {name: value for name, value in values.items() if value not in (None, ())}


def _jobs_by_source(subject: SimulatedWorkload) -> dict[str, int | None]:
    """Return how many simulated jobs took their times from each source, and how many their factor from the table.

    None where the workload states the times and one model extends them all, or there is no table.
    """
    times = subject.times
    jobs = None if times is None else times.jobs_by_source()
    found = {f"jobs_{source.value}": None if jobs is None else jobs.get(source.value, 0) for source in TimeSource}
    return {**found, "jobs_in_table": None if times is None or times.table is None else times.jobs_in_table()}
