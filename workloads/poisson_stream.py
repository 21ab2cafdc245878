"""Poisson streams of the jobs of a mix: exact arrival timestamps, in chunks, from independent random streams.

Interarrival times, classes, service and queues each have a separate random stream. Two simulations with the same seed
therefore have the same jobs under every policy (common random numbers). At another rate the same jobs arrive at scaled
timestamps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy

from emulator.model.errors import InvalidInput
from emulator.model.stream import StreamJob
from workloads.compositions import BALANCED
from workloads.distributions import stream
from workloads.job_mix import JobMix
from workloads.service_times import ExponentialService, ServiceFactors

CHUNK: Final = 8192


@dataclass(frozen=True)
class PoissonStream:
    """Jobs of `mix` that arrive at `rate_per_s`, each at queue i with probability `queue_shares[i]`.

    Raises:
        InvalidInput: if the rate is not positive and finite, or the shares do not sum to 1.
    """

    mix: JobMix
    rate_per_s: float
    service: ServiceFactors = field(default_factory=ExponentialService)
    queue_shares: tuple[float, ...] = BALANCED

    def __post_init__(self) -> None:
        if not (math.isfinite(self.rate_per_s) and self.rate_per_s > 0):
            raise InvalidInput(f"job stream: the arrival rate must be positive, not {self.rate_per_s}.")
        if min(self.queue_shares) < 0 or not math.isclose(math.fsum(self.queue_shares), 1.0, abs_tol=1e-9):
            raise InvalidInput(f"job stream: queue shares must sum to 1, not {list(self.queue_shares)}.")

    def jobs(self, count: int, seed: int) -> Iterator[StreamJob]:
        """Generate the first `count` jobs under `seed`, in order of arrival and numbered from 1, in little memory."""
        gap_numbers, class_numbers = stream(seed, "interarrival"), stream(seed, "class")
        service_numbers, queue_numbers = stream(seed, "service"), stream(seed, "queue")
        requests = [job_class.request for job_class in self.mix.classes]
        applications = [job_class.application for job_class in self.mix.classes]
        means_s = numpy.array([job_class.service_s for job_class in self.mix.classes])
        class_steps, queue_steps = (
            _steps([job_class.probability for job_class in self.mix.classes]),
            _steps(self.queue_shares),
        )
        arrival_s, number = 0.0, 0
        while number < count:
            size = min(CHUNK, count - number)
            gaps_s = (gap_numbers.standard_exponential(size) / self.rate_per_s).tolist()
            chosen = numpy.searchsorted(class_steps, class_numbers.random(size), side="right")
            services_s = (self.service.draw(size, service_numbers) * means_s[chosen]).tolist()
            queues = numpy.searchsorted(queue_steps, queue_numbers.random(size), side="right").tolist()
            for gap_s, kind, service_s, queue in zip(gaps_s, chosen.tolist(), services_s, queues, strict=True):
                arrival_s += gap_s
                number += 1
                yield StreamJob(number, arrival_s, service_s, requests[kind], queue, applications[kind])


def _steps(shares: tuple[float, ...] | list[float]) -> numpy.ndarray[tuple[int], numpy.dtype[numpy.float64]]:
    """Return the upper ends of the parts of [0, 1) that choose each index; the last is exactly 1."""
    steps = numpy.cumsum(numpy.array(shares, dtype=numpy.float64))
    steps[-1] = 1.0
    return steps
