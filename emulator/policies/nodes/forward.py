"""The estimator: when a waiting job could start, where several jobs share a node.

The paper does not describe its own estimator. This one simulates the state of the cluster forward. The work left of a
running job is the number of seconds that it would still take alone by the user's estimate. The job does this work at
its mean-field rate, which is the rate of its slowest task (`emulator.model.time_sharing.rates`). When a job ends, the
rates of all others are computed again. A job past its estimate is expected to end at once. Jobs that might start
meanwhile are not foreseen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from emulator.model.request import JobRequest
from emulator.model.time_sharing.rates import mean_rates
from emulator.policies.nodes.changes import without
from emulator.policies.protocols import PlacementPolicy
from emulator.policies.state import NodeState, SystemState

REMEMBERED: Final = 65_536
SAME_TIME: Final = 1e-9
"""Ends less than this share of the time ahead apart count as one."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """The jobs that are expected to end `after_s` from now, and the state without them."""

    after_s: float
    jobs: tuple[int, ...]
    state: SystemState


def job_rates(nodes: Sequence[Sequence[NodeState]]) -> dict[int, float]:
    """Return the mean-field speed of each job relative to its speed alone: that of its slowest task."""
    rates: dict[int, float] = {}
    for of_cluster in nodes:
        for node in of_cluster:
            if not node.tasks:
                continue
            shares = tuple([task.processor_share for task in node.tasks])
            for task, rate in zip(node.tasks, _rates(shares, node.local_share), strict=True):
                if rate < rates.get(task.job, math.inf):
                    rates[task.job] = rate
    return rates


def ends_ahead(state: SystemState, left_s: Mapping[int, float]) -> Iterator[Ahead]:
    """Yield the expected ends of the jobs in `state`, of which each would take `left_s` more if it were alone."""
    left = dict(left_s)
    after_s = 0.0
    while left:
        rates = job_rates(state.surroundings.nodes)
        # A job of a cluster that does not answer is on no node that is known.
        rates = {job: rates.get(job, 1.0) for job in left}
        need_s = {job: work_s / rates[job] if work_s > 0.0 else 0.0 for job, work_s in left.items()}
        step_s = min(need_s.values())
        ended = tuple([job for job, takes_s in need_s.items() if takes_s <= step_s * (1.0 + SAME_TIME)])
        left = {job: work_s - step_s * rates[job] for job, work_s in left.items() if job not in ended}
        state = without(state, ended)
        after_s += step_s
        yield Ahead(after_s, ended, state)


def expected_start_s(
    request: JobRequest, state: SystemState, left_s: Mapping[int, float], policy: PlacementPolicy
) -> float:
    """Return after how many seconds `policy` is expected to place `request`; infinite if it never does."""
    for ahead in ends_ahead(state, left_s):
        if policy.place(request, ahead.state) is not None:
            return ahead.after_s
    return math.inf


@lru_cache(maxsize=REMEMBERED)
def _rates(shares: tuple[float, ...], local_share: float) -> tuple[float, ...]:
    return mean_rates(shares, local_share)
