"""Users' estimates of execution times, drawn for jobs that have none, or in place of those that they have.

Users of parallel machines estimate too much. In the usual model of this error an estimate is the execution time in one
cluster, times a factor that is uniform between 1 and F (Mu'alem and Feitelson, *Utilization, Predictability, Workloads,
and User Runtime Estimates in Scheduling the IBM SP2 with Backfilling*). With F = 1 every estimate is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from emulator.model.errors import InvalidInput
from emulator.model.stream import StreamJob
from workloads.distributions import stream


def with_estimates(jobs: Iterable[StreamJob], largest_factor: float, seed: int) -> Iterator[StreamJob]:
    """Generate `jobs` with estimates drawn from `seed`: the execution time times 1 to `largest_factor`.

    Raises:
        InvalidInput: if the factor is below 1 or not finite.
    """
    if not (math.isfinite(largest_factor) and largest_factor >= 1.0):
        raise InvalidInput(f"--estimate-factor: must be a number, at least 1, not {largest_factor!r}.")
    return _drawn(jobs, largest_factor, seed)


def _drawn(jobs: Iterable[StreamJob], largest_factor: float, seed: int) -> Iterator[StreamJob]:
    numbers = stream(seed, "estimate")
    for job in jobs:
        estimate_s = job.service_s * (1.0 + (largest_factor - 1.0) * float(numbers.random()))
        yield replace(job, request=replace(job.request, estimate_s=estimate_s))
