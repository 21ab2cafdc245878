"""A mix of jobs: every kind of job that a stream holds, with its probability, mean service and application.

Mixes are finite and explicit. What a study needs of its workload - how much of it is multicomponent, the arrival rate
that gives a utilization, the ratio of gross to net utilization - is therefore computed exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from emulator.model.errors import InvalidInput
from emulator.model.request import JobRequest


@dataclass(frozen=True, slots=True)
class JobClass:
    """Jobs alike: their request, how likely they are, and their mean execution time in a single cluster."""

    request: JobRequest
    probability: float
    service_s: float = 1.0
    application: str = ""

    @property
    def is_multicomponent(self) -> bool:
        """Whether the job asks for several components."""
        return len(self.request.components) > 1


Extension = Callable[[JobClass], float]
"""The extension factor of a class: what its execution time is multiplied by when it is spread as requested."""


def no_extension(job_class: JobClass) -> float:
    """Spreading a job costs nothing."""
    return 1.0


def one_extension(factor: float) -> Extension:
    """Every multicomponent job takes `factor` times as long, whatever its number of components."""
    return lambda job_class: factor if job_class.is_multicomponent else 1.0


@dataclass(frozen=True)
class JobMix:
    """Classes of jobs whose probabilities sum to 1.

    Raises:
        InvalidInput: if they do not, or there are none.
    """

    name: str
    classes: tuple[JobClass, ...]

    def __post_init__(self) -> None:
        total = math.fsum(job_class.probability for job_class in self.classes)
        if not math.isclose(total, 1.0, abs_tol=1e-9):
            raise InvalidInput(f"job mix {self.name!r}: probabilities must sum to 1, not {total:.9g}.")

    @cached_property
    def multicomponent_share(self) -> float:
        """Share of the jobs that have several components."""
        return self._mean(lambda job_class: 1.0 if job_class.is_multicomponent else 0.0)

    @cached_property
    def mean_processors(self) -> float:
        """Mean total size of a job."""
        return self._mean(lambda job_class: job_class.request.processors)

    def share(self, processors: int, components: int) -> float:
        """Share of the jobs that have that total size and that number of components."""
        return self._mean(
            lambda job_class: float(
                job_class.request.processors == processors and len(job_class.request.components) == components
            )
        )

    def mean_work_processor_s(self, extension: Extension = no_extension) -> float:
        """Mean processor-seconds that a job occupies; net work by default, gross work with an extension."""
        return self._mean(lambda it: it.request.processors * it.service_s * extension(it))

    def gross_over_net(self, extension: Extension) -> float:
        """Gross over net utilization under a policy that spreads every job as it asks."""
        return self.mean_work_processor_s(extension) / self.mean_work_processor_s()

    def arrival_rate_per_s(self, gross_utilization: float, processors: int, extension: Extension) -> float:
        """Jobs per second that occupy that share of `processors` processors."""
        return gross_utilization * processors / self.mean_work_processor_s(extension)

    def _mean(self, value: Callable[[JobClass], float]) -> float:
        return math.fsum(job_class.probability * value(job_class) for job_class in self.classes)


def merged(classes: Iterable[JobClass]) -> tuple[JobClass, ...]:
    """`classes` with equal ones made one, without those of probability 0, in order of first appearance."""
    shares: dict[tuple[JobRequest, float, str], float] = {}
    for it in classes:
        key = (it.request, it.service_s, it.application)
        shares[key] = shares.get(key, 0.0) + it.probability
    return tuple(
        JobClass(request, share, service_s, application)
        for (request, service_s, application), share in shares.items()
        if share > 0
    )
