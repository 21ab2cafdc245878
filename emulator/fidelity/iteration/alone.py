"""A job in one cluster, over that cluster's own interconnect.

Extension factors are relative to this job, and execution times that a workload states are those of this job.
"""

from __future__ import annotations

from apps.descriptor import Arguments
from apps.registry import application_named
from emulator.fidelity.iteration.remembered import Iterations, JobOver
from emulator.model.interconnects import WhichInterconnect


def job_alone(
    iterations: Iterations, application: str, arguments: Arguments, processors: int, processor_speed: float = 1.0
) -> JobOver | None:
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
    return found if found.iteration_s > 0.0 else None
