"""Mixes of jobs: all classes of jobs in a stream, with their probability, mean service and application.

Mixes are finite and explicit. The properties that a study needs are therefore computed exactly: the share of
multicomponent jobs, the arrival rate for a utilization, and the ratio of gross to net utilization.
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
    """A class of equal jobs: their request, their probability, and their mean execution time in a single cluster."""

    request: JobRequest
    probability: float
    service_s: float = 1.0
    application: str = ""

    @property
    def is_multicomponent(self) -> bool:
        """Whether the jobs have several components."""
        return len(self.request.components) > 1


Extension = Callable[[JobClass], float]
"""The extension factor of a class: the factor on its execution time when it is spread as requested."""


def no_extension(job_class: JobClass) -> float:
    """Return an extension factor of 1: spreading a job costs nothing."""
    return 1.0


def one_extension(factor: float) -> Extension:
    """Return an extension of `factor` for all multicomponent jobs, independent of the number of components."""
    return lambda job_class: factor if job_class.is_multicomponent else 1.0


@dataclass(frozen=True)
class JobMix:
    """Classes of jobs whose probabilities sum to 1.

    Raises:
        InvalidInput: if they do not sum to 1, or there are no classes.
    """

    name: str
    classes: tuple[JobClass, ...]

    def __post_init__(self) -> None:
        total = math.fsum(job_class.probability for job_class in self.classes)
        if not math.isclose(total, 1.0, abs_tol=1e-9):
            raise InvalidInput(f"job mix {self.name!r}: probabilities must sum to 1, not {total:.9g}.")

    @cached_property
    def multicomponent_share(self) -> float:
        """The share of the jobs that have several components."""
        return self._mean(lambda job_class: 1.0 if job_class.is_multicomponent else 0.0)

    def share(self, processors: int, components: int) -> float:
        """Return the share of the jobs with that total size and that number of components."""
        return self._mean(
            lambda job_class: float(
                job_class.request.processors == processors and len(job_class.request.components) == components
            )
        )

    def mean_work_processor_s(self, extension: Extension = no_extension) -> float:
        """Return the mean processor-seconds of a job: net work by default, gross work with an extension."""
        return self._mean(lambda job_class: job_class.request.processors * job_class.service_s * extension(job_class))

    def gross_over_net(self, extension: Extension) -> float:
        """Return gross over net utilization under a policy that spreads every job as requested."""
        return self.mean_work_processor_s(extension) / self.mean_work_processor_s()

    def arrival_rate_per_s(self, gross_utilization: float, processors: int, extension: Extension) -> float:
        """Return the jobs per second that give `gross_utilization` of `processors` processors."""
        return gross_utilization * processors / self.mean_work_processor_s(extension)

    def _mean(self, value: Callable[[JobClass], float]) -> float:
        return math.fsum(job_class.probability * value(job_class) for job_class in self.classes)


def merged(classes: Iterable[JobClass]) -> tuple[JobClass, ...]:
    """Merge equal classes and drop those of probability 0, in order of first appearance."""
    shares: dict[tuple[JobRequest, float, str], float] = {}
    for job_class in classes:
        key = (job_class.request, job_class.service_s, job_class.application)
        shares[key] = shares.get(key, 0.0) + job_class.probability
    return tuple(
        JobClass(request, share, service_s, application)
        for (request, service_s, application), share in shares.items()
        if share > 0
    )
