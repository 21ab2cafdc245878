"""The job streams of the published studies, by name, with their extension factors.

A name is a composition (``50-25-25-0``, ``80-0-0-20-unbalanced``), the surrogate of the DAS log with a limit on
component sizes (``das-128-16``, ``das-64-24-unbalanced``), or an application mix under a co-allocation rule
(``poisson-rco``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from emulator.model.errors import InvalidInput
from emulator.model.names import named_among
from emulator.model.rules import Coallocation
from emulator.policies.names import SINGLE_CLUSTER
from emulator.simulator.runtime import OneFactor, RuntimeModel
from emulator.simulator.runtime_tables import read_factors
from workloads.application_mixes import EXECUTION_TIMES_FILE, MIXES, application_mix, measured_extension
from workloads.compositions import BALANCED, COMPOSITIONS, UNBALANCED
from workloads.das_log import COMPONENT_SIZE_LIMITS, DAS_EXTENSION_FACTOR, DAS_SERVICE_CV, das_mix
from workloads.job_mix import Extension, JobMix, no_extension, one_extension
from workloads.poisson_stream import PoissonStream
from workloads.service_times import ConstantService, ExponentialService, HyperexponentialService, ServiceFactors
from workloads.sizes import DAS_S_64_SURROGATE, DAS_S_128_SURROGATE

SYSTEM: Final = "four-by-32"
SYSTEM_SIZES: Final = (32, 32, 32, 32)

DAS_SIZES: Final = {128: DAS_S_128_SURROGATE, 64: DAS_S_64_SURROGATE}


@dataclass(frozen=True)
class StudyWorkload:
    """A job stream without its rate, and its extension factors: `extension` for formulas, `runtime` for the engine."""

    name: str
    mix: JobMix
    service: ServiceFactors
    queue_shares: tuple[float, ...]
    extension: Extension
    runtime: RuntimeModel

    def stream(
        self,
        load: float,
        queue: str,
        processors: Sequence[int] = SYSTEM_SIZES,
        extension: Extension | None = None,
    ) -> PoissonStream:
        """Return the job stream with gross utilization `load` of clusters with `processors` each.

        Jobs are extended by `extension`, or else by the stream's own one; in a single cluster none is.

        Raises:
            InvalidInput: if the stream's queues are unequal, and there is another number of them than of clusters.
        """
        used = no_extension if queue == SINGLE_CLUSTER else extension or self.extension
        rate_per_s = self.mix.arrival_rate_per_s(load, sum(processors), used)
        return PoissonStream(self.mix, rate_per_s, self.service, self._shares(len(processors)))

    def _shares(self, clusters: int) -> tuple[float, ...]:
        """Return the share of jobs that each queue receives; a balanced stream is balanced over any number of them."""
        if clusters == len(self.queue_shares):
            return self.queue_shares
        if len(set(self.queue_shares)) > 1:
            raise InvalidInput(
                f"The stream {self.name!r} is unbalanced over {len(self.queue_shares)} queues, so it needs as many "
                f"clusters, not {clusters}."
            )
        return (1.0 / clusters,) * clusters

    def gross_over_net(self, queue: str) -> float:
        """Return the calculated ratio of gross to net utilization."""
        return 1.0 if queue == SINGLE_CLUSTER else self.mix.gross_over_net(self.extension)


@cache
def study_workload(name: str) -> StudyWorkload:
    """Return the study workload of that name.

    Raises:
        UnknownName: if there is no such workload.
    """
    made = _workloads_by_name()
    return made[named_among("study workload", name, made)]


def study_workloads() -> list[str]:
    """List the names of the study workloads."""
    return list(_workloads_by_name())


@cache
def _workloads_by_name() -> dict[str, StudyWorkload]:
    return {workload.name: workload for workload in (*_synthetic(), *_from_the_log(), *_of_applications())}


def _synthetic() -> list[StudyWorkload]:
    return [
        StudyWorkload(
            name, composition.mix(), ExponentialService(), composition.queue_shares, no_extension, OneFactor(1.0)
        )
        for name, composition in COMPOSITIONS.items()
    ]


def _from_the_log() -> list[StudyWorkload]:
    return [
        StudyWorkload(
            f"das-{largest}-{limit}{suffix}",
            das_mix(sizes, limit),
            HyperexponentialService(DAS_SERVICE_CV),
            shares,
            one_extension(DAS_EXTENSION_FACTOR),
            OneFactor(DAS_EXTENSION_FACTOR),
        )
        for largest, sizes in DAS_SIZES.items()
        for limit in COMPONENT_SIZE_LIMITS
        for suffix, shares in (("", BALANCED), ("-unbalanced", UNBALANCED))
    ]


def _of_applications() -> list[StudyWorkload]:
    table = read_factors(EXECUTION_TIMES_FILE)
    return [
        StudyWorkload(
            f"{name}-{rule}", application_mix(name, rule), ConstantService(), BALANCED, measured_extension, table
        )
        for name in MIXES
        for rule in Coallocation
    ]
