"""Reported statistics from the observations: means with 95% intervals, utilization, and saturation.

Intervals come from batch means. Batches of consecutive arrivals are joined to at most `INTERVAL_BATCHES`, few enough to
be nearly independent in a long simulation, and Student's t is applied to their means.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from emulator.fidelity.intervals import mean as estimated_mean
from emulator.simulator.statistics import Batches, JobSums, Observations

INTERVAL_BATCHES = 32
LEAST_BATCHES = 8
"""Minimum number of batches for an interval."""

BACKLOG_ROOTS = 3.0
"""A backlog above this many times the square root of the jobs arrived is too large for a stable system."""

GROWTH = 1.4
"""Growth of the mean number of waiting jobs that, with such a backlog, shows saturation.

It is the growth from the second quarter of all arrivals, those of the warm-up among them, to the last: 2 or more in a
system that falls behind steadily, and about 1 in a stable one.
"""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its 95% confidence interval; the bounds are None if there are too few batches."""

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Times:
    """Mean times of a kind of job, in emulated seconds; they are None if there are no jobs."""

    jobs: int
    response_s: float | None
    wait_s: float | None
    execution_s: float | None


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics of one simulation.

    `local` are the single-component jobs (the local queues of GP and LP), `global_` the multicomponent jobs (their
    global queue); `by_queue` is keyed by submission queue. Their times are those of jobs that finished. Jobs that were
    ended at the run-time limit (`jobs_reached_limit`) only count in the utilizations. These are shares of all
    processors from the first counted arrival to the last arrival, `window_s` later; they are None if `window_s` is
    zero. `batch_response_s` holds the means of consecutive batches of `batch_jobs` arrivals each. Every simulation of
    the same stream has the same arrivals in each batch.
    """

    jobs_arrived: int
    jobs_finished: int
    jobs_given_up: int
    jobs_reached_limit: int
    warm_up_jobs: int
    response_s: Interval | None
    local_response_s: Interval | None
    global_response_s: Interval | None
    total: Times
    local: Times
    global_: Times
    by_queue: dict[int, Times]
    gross_utilization: float | None
    net_utilization: float | None
    window_s: float
    makespan_s: float
    waiting_at_last_arrival: int
    saturated: bool
    batch_jobs: int
    batch_response_s: tuple[float, ...]

    @property
    def gross_over_net(self) -> float | None:
        """Gross over net utilization; None if either is None or zero."""
        if not self.gross_utilization or not self.net_utilization:
            return None
        return self.gross_utilization / self.net_utilization


def evaluate(kept: Observations, processors: int, ended_early: bool) -> Statistics:
    """Return the statistics of a system with `processors` in all from its observations.

    `ended_early` says that the simulation ended because too many jobs were waiting.
    """
    window_s = max(0.0, kept.last_arrival_s - kept.counted_from_s) if kept.arrived > kept.warm_up_jobs else 0.0
    capacity = processors * window_s
    total, batches = _all_jobs(kept)
    means = _batch_means(batches, kept.arrived - kept.warm_up_jobs)
    return Statistics(
        jobs_arrived=kept.arrived,
        jobs_finished=kept.finished,
        jobs_given_up=kept.given_up,
        jobs_reached_limit=kept.reached_limit,
        warm_up_jobs=kept.warm_up_jobs,
        response_s=_estimate(batches, total),
        local_response_s=_estimate(kept.single_component_batches, kept.single_component),
        global_response_s=_estimate(kept.multicomponent_batches, kept.multicomponent),
        total=_times(total),
        local=_times(kept.single_component),
        global_=_times(kept.multicomponent),
        by_queue={queue: _times(kept.by_queue[queue]) for queue in sorted(kept.by_queue)},
        gross_utilization=kept.gross_processor_s / capacity if capacity else None,
        net_utilization=kept.net_processor_s / capacity if capacity else None,
        window_s=window_s,
        makespan_s=max(0.0, kept.last_finish_s - kept.first_arrival_s),
        waiting_at_last_arrival=kept.waiting_at_last_arrival,
        saturated=ended_early or _is_saturated(kept),
        batch_jobs=batches.batch_jobs,
        batch_response_s=means,
    )


def _all_jobs(kept: Observations) -> tuple[JobSums, Batches]:
    """Return the sums and batches of single-component and multicomponent jobs together."""
    total = JobSums()
    for sums in (kept.single_component, kept.multicomponent):
        total.jobs += sums.jobs
        total.response_s += sums.response_s
        total.wait_s += sums.wait_s
        total.execution_s += sums.execution_s
    single, several = kept.single_component_batches, kept.multicomponent_batches
    longest = max(single.batch_jobs, several.batch_jobs)
    batches, others = single.with_batches_of(longest), several.with_batches_of(longest)
    for batch, jobs in enumerate(others.jobs):
        batches.jobs[batch] += jobs
        batches.sums[batch] += others.sums[batch]
    return total, batches


def _times(sums: JobSums) -> Times:
    if not sums.jobs:
        return Times(0, None, None, None)
    return Times(sums.jobs, sums.response_s / sums.jobs, sums.wait_s / sums.jobs, sums.execution_s / sums.jobs)


def _batch_means(batches: Batches, arrivals: int) -> tuple[float, ...]:
    """Return the means of the complete batches of `arrivals`; an incomplete one is used only if it is the only one."""
    whole = max(1, arrivals // batches.batch_jobs)
    pairs = zip(batches.sums[:whole], batches.jobs[:whole], strict=True)
    return tuple(total / jobs for total, jobs in pairs if jobs)


def _estimate(batches: Batches, sums: JobSums) -> Interval | None:
    if not sums.jobs:
        return None
    mean = sums.response_s / sums.jobs
    used = [(total_s, jobs) for total_s, jobs in zip(batches.sums, batches.jobs, strict=True) if jobs]
    joined = _joined(used)
    if len(joined) < LEAST_BATCHES or batches.batch_jobs == 1:
        return Interval(mean, None, None)
    around = estimated_mean([total_s / jobs for total_s, jobs in joined])
    half = 0.0 if around.high is None else around.high - around.value
    return Interval(mean, mean - half, mean + half)


def _joined(batches: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """Join neighbouring batches into at most `INTERVAL_BATCHES`, and leave out an incomplete last one."""
    span = max(1, -(-len(batches) // INTERVAL_BATCHES))
    groups = [batches[start : start + span] for start in range(0, len(batches), span)]
    if len(groups) > 1 and len(groups[-1]) < span:
        groups.pop()
    return [(math.fsum(total_s for total_s, _ in group), sum(jobs for _, jobs in group)) for group in groups]


def _is_saturated(kept: Observations) -> bool:
    waiting = _batch_means(kept.waiting_batches, kept.arrived)
    if len(waiting) < LEAST_BATCHES or kept.waiting_at_last_arrival <= BACKLOG_ROOTS * math.sqrt(kept.arrived):
        return False
    quarter = len(waiting) // 4
    second, last = waiting[quarter : 2 * quarter], waiting[-quarter:]
    return math.fsum(last) > GROWTH * math.fsum(second)
