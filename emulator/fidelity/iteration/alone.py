"""A job in one cluster, over that cluster's own interconnect: what an iteration takes by the model, and the rest of it.

Extension factors are relative to this job, and execution times that a workload states are those of this job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apps.descriptor import ArgumentValue
from apps.registry import application_named
from emulator.fidelity.iteration.once import passed_on_once_s
from emulator.fidelity.iteration.predicted import ModelJob, predicted
from emulator.model.interconnects import WhichInterconnect
from emulator.model.topology import Topology


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
    topology: Topology,
    application: str,
    arguments: Mapping[str, ArgumentValue],
    processors: int,
    processor_speed: float = 1.0,
) -> JobAlone | None:
    """Return what a job of `processors` takes in the largest cluster; None if its processors' costs are unknown.

    Its processors compute `processor_speed` times as fast as the topology's. This does not check
    that the cluster is large enough.

    Raises:
        UnknownName: if there is no such application.
        InvalidInput: if its problem cannot be divided so.
    """
    descriptor = application_named(application)
    if topology.processor.costs is None:
        return None
    stated = arguments.get("grid", 0)
    side_points = stated if isinstance(stated, int) else 0
    largest = max(topology.clusters, key=lambda cluster: cluster.processors)
    which = WhichInterconnect.SINGLE_CLUSTER
    job = ModelJob(
        descriptor.name, side_points, ((largest.name, processors),), which, arguments=arguments,
        processor_speed=processor_speed,
    )  # fmt: skip
    iteration_s = predicted(topology, job).iteration_s
    if iteration_s <= 0.0:
        return None
    return JobAlone(iteration_s, passed_on_once_s(topology, job))
