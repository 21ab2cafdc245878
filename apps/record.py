"""The result record of a job: what every application reports alike, gathered from all ranks at rank 0.

All durations are emulated seconds but those with `host` in their name.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from apps.pacing import PhaseCount, ProcessorProfile
from apps.timeline import HostTimes
from emulator.model.clock import Dilation
from emulator.model.units import seconds_from_nanoseconds

if TYPE_CHECKING:
    from mpi4py import MPI

INTERCONNECTS = "shared-memory"


@dataclass(frozen=True, slots=True)
class JobSetting:
    """How a job runs, whatever its application: its components, the clusters they are in, time and processors.

    `profile` is None where the processors are the host's own, unpaced.
    """

    dilation: Dilation
    clusters: int
    components: tuple[int, ...]
    profile: ProcessorProfile | None


def gather_record(
    communicator: MPI.Comm, setting: JobSetting, times: HostTimes, count: PhaseCount
) -> dict[str, object] | None:
    """The common part of the record at rank 0, None at the others; every rank must call this."""
    gathered = communicator.gather((times, count), root=0)
    if gathered is None:
        return None
    all_times = [rank_times for rank_times, _ in gathered]
    counts = [rank_count for _, rank_count in gathered]
    profile = setting.profile
    return {
        "processors": communicator.size,
        "components": list(setting.components),
        "clusters": setting.clusters,
        "dilation": setting.dilation.factor,
        "paced": profile is not None,
        "in_cache_ns_per_point": profile.in_cache_ns_per_point if profile else None,
        "out_of_cache_ns_per_point": profile.out_of_cache_ns_per_point if profile else None,
        "cache_bytes": profile.cache_bytes if profile else None,
        "iterations": len(times.iterations_ns),
        **_emulated_times(setting.dilation, times, all_times),
        "phases": sum(rank_count.phases for rank_count in counts),
        "late_phases": sum(rank_count.late_phases for rank_count in counts),
        "host_lateness_sum_s": sum(rank_count.host_lateness_sum_s for rank_count in counts),
        "host_lateness_max_s": max(rank_count.host_lateness_max_s for rank_count in counts),
        "host_critical_lateness_s": times.host_critical_lateness_s,
        "host_cpu_s": seconds_from_nanoseconds(sum(rank_times.cpu_ns for rank_times in all_times)),
        "host_kernel_cpu_s": seconds_from_nanoseconds(sum(rank_times.kernel_cpu_ns for rank_times in all_times)),
        "interconnects": INTERCONNECTS,
        "versions": _versions(),
    }


def _emulated_times(dilation: Dilation, times: HostTimes, all_times: list[HostTimes]) -> dict[str, object]:
    def emulated_s(host_ns: float) -> float:
        return dilation.emulated_duration_s(seconds_from_nanoseconds(host_ns))

    def over_ranks(duration_ns: Callable[[HostTimes], int]) -> dict[str, float]:
        durations_s = [emulated_s(duration_ns(rank_times)) for rank_times in all_times]
        return {"max": max(durations_s), "mean": sum(durations_s) / len(durations_s)}

    runtime_s = emulated_s(max(rank_times.loop_ns for rank_times in all_times))
    spread = np.percentile(np.array(times.iterations_ns), [0, 5, 50, 95, 99, 100])
    return {
        "runtime_s": runtime_s,
        "iteration_s": runtime_s / len(times.iterations_ns),
        "iteration_spread_s": {
            name: emulated_s(float(host_ns))
            for name, host_ns in zip(("min", "p5", "median", "p95", "p99", "max"), spread, strict=True)
        },
        "compute_s": over_ranks(lambda rank_times: rank_times.compute_ns),
        "exchange_s": over_ranks(lambda rank_times: rank_times.exchange_ns),
        "reduction_s": over_ranks(lambda rank_times: rank_times.reduction_ns),
    }


def _versions() -> dict[str, str]:
    import mpi4py
    from mpi4py import MPI

    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "mpi4py": mpi4py.__version__,
        "mpi": MPI.Get_library_version().split(",")[0].strip(),
    }
