"""A job in one cluster, over that cluster's own interconnect: what an iteration takes by the model, and the rest of it.

Extension factors are relative to this job, and execution times that a workload states are those of this job.
"""

from __future__ import annotations

from dataclasses import dataclass

from apps.descriptor import Arguments
from apps.registry import application_named
from emulator.fidelity.iteration.remembered import Iterations
from emulator.model.interconnects import WhichInterconnect


@dataclass(frozen=True, slots=True)
class JobAlone:
    """Emulated seconds of a job in one cluster: of an iteration, and of what it passes on once."""

    iteration_s: float
    once_s: float

    def iterations_in(self, execution_s: float) -> int:
        """Return the number of iterations, at least one, with which the job executes for about `execution_s`."""
        return max(1, round((execution_s - self.once_s) / self.iteration_s))

    def execution_s(self, iterations: float) -> float:
        """Return the execution time of a job with that number of `iterations`."""
        return self.once_s + iterations * self.iteration_s


def job_alone(
    iterations: Iterations, application: str, arguments: Arguments, processors: int, processor_speed: float = 1.0
) -> JobAlone | None:
    """Return what a job of `processors` takes in the largest cluster; None if its processors' costs are unknown.

    Its processors compute `processor_speed` times as fast as the topology's. This does not check
    that the cluster is large enough.

    Raises:
        UnknownName: if there is no such application.
        InvalidInput: if its problem cannot be divided so.
    """
    name = application_named(application).name
    if iterations.topology.processor.costs is None:
        return None
    largest = max(iterations.topology.clusters, key=lambda cluster: cluster.processors).name
    found = iterations.over(
        name, arguments, ((largest, processors),), WhichInterconnect.SINGLE_CLUSTER, processor_speed
    )
    return JobAlone(found.iteration_s, found.once_s) if found.iteration_s > 0.0 else None
