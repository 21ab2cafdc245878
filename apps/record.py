"""The result record of a job: the part common to all applications, gathered from all ranks at rank 0.

All durations are emulated seconds but those with `host` in their name. Beside the obvious:

- `compute_s`, `exchange_s`, `reduction_s`, `barrier_s`: largest and mean over the processes, of the whole loop.
- `border_exchange_s`: for each rank a table from direction (top, bottom, left, right; `total` where they overlap) to
  what that process spent in it; `border_exchange_total_s`: for each rank their sum. Lists are in the ranks' order.
- `communication_s`: the total communication time (see `HostTimes`); null if the loop's processes do not meet.
- `border_exchange_points`, `border_exchange_bytes`: what an interior process (the one that moves most) sends and
  receives together in one border exchange, so that its data rate is bytes x iterations / communication time.
- `interconnects`: the interconnect inside clusters, and `+wide-area` if there is more than one cluster.
- `paced_messages`, `late_messages`, `host_message_lateness_max_s`: how many messages were paced to the interconnect,
  how many of them reached their rank after its processor needed them, and the largest lateness.
- `overshoots`: how many phases ended how far past their ends, late or not: those below the first of `host_edges_s`,
  those between each two of them, those from the last on. The planner learns from it how late phases are on this host.
- `standstill_s`: the time in which some process stood still (stopped, or without a core for very long) while it waited
  for messages that take the host's time: the runtime may be too long by this time although nothing was late.
- `wide_area_bytes`: for each part of the job the bytes of the frames that its processes sent and received over the wide
  area, by the kernel's own counts; null in one cluster.
- `weight`: what an update of a point was taken to cost relative to Poisson's, for which the profile is.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from apps.counters import HostTimes, MessageCount, together_ns
from apps.pacing import OVERSHOOT_EDGES_HOST_S, PhaseCount
from apps.setting import JobSetting
from emulator.model.clock import Dilation
from emulator.model.units import BYTES_PER_POINT, seconds_from_nanoseconds

if TYPE_CHECKING:
    from mpi4py import MPI


def gather_record(
    communicator: MPI.Comm, setting: JobSetting, times: HostTimes, count: PhaseCount, messages: MessageCount
) -> dict[str, object] | None:
    """Return the common part of the record at rank 0, None at the others. Every rank must call this."""
    gathered = communicator.gather((times, count, messages), root=0)
    if gathered is None:
        return None
    all_times = [rank_times for rank_times, _, _ in gathered]
    counts = [rank_count for _, rank_count, _ in gathered]
    message_counts = [rank_messages for _, _, rank_messages in gathered]
    profile = setting.profile
    # A master need not iterate.
    iterating = max(all_times, key=lambda rank_times: len(rank_times.iterations_ns))
    return {
        "processors": communicator.size,
        "components": list(setting.components),
        "clusters": setting.clusters,
        "dilation": setting.dilation.factor,
        "paced": profile is not None,
        "in_cache_ns_per_point": profile.in_cache_ns_per_point if profile else None,
        "out_of_cache_ns_per_point": profile.out_of_cache_ns_per_point if profile else None,
        "cache_bytes": profile.cache_bytes if profile else None,
        "iterations": len(iterating.iterations_ns),
        **_emulated_times(setting.dilation, iterating, all_times),
        "processor_wait_s": _processor_waits(setting.dilation, counts),
        "phases": sum(rank_count.phases for rank_count in counts),
        "late_phases": sum(rank_count.late_phases for rank_count in counts),
        "overshoots": {
            "host_edges_s": OVERSHOOT_EDGES_HOST_S,
            "phases": [sum(classes) for classes in zip(*(rank_count.overshoots for rank_count in counts), strict=True)],
        },
        "host_lateness_sum_s": sum(rank_count.host_lateness_sum_s for rank_count in counts),
        "host_lateness_max_s": max(rank_count.host_lateness_max_s for rank_count in counts),
        "host_critical_lateness_s": max(rank_times.host_critical_lateness_s for rank_times in all_times),
        "host_cpu_s": seconds_from_nanoseconds(sum(rank_times.cpu_ns for rank_times in all_times)),
        "host_kernel_cpu_s": seconds_from_nanoseconds(sum(rank_times.kernel_cpu_ns for rank_times in all_times)),
        "paced_messages": sum(rank_messages.paced_messages for rank_messages in message_counts),
        "late_messages": sum(rank_messages.late_messages for rank_messages in message_counts),
        "host_message_lateness_max_s": max(rank_messages.host_lateness_max_s for rank_messages in message_counts),
        "weight": setting.weight,
        "interconnects": setting.interconnects,
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
        "standstill_s": emulated_s(together_ns(chain.from_iterable(rank.standstills_ns for rank in all_times))),
        "iteration_s": runtime_s / len(times.iterations_ns),
        "iteration_spread_s": {
            name: emulated_s(float(host_ns))
            for name, host_ns in zip(("min", "p5", "median", "p95", "p99", "max"), spread, strict=True)
        },
        "compute_s": over_ranks(lambda rank_times: rank_times.compute_ns),
        "exchange_s": over_ranks(lambda rank_times: rank_times.exchange_ns),
        "reduction_s": over_ranks(lambda rank_times: rank_times.reduction_ns),
        "barrier_s": over_ranks(lambda rank_times: rank_times.barrier_ns),
        **_communication(emulated_s, times, all_times),
    }


def _processor_waits(dilation: Dilation, counts: list[PhaseCount]) -> dict[str, float]:
    """Return how long ranks waited for a processor that others had; nothing unless tasks share nodes."""
    waits_s = [dilation.emulated_duration_s(seconds_from_nanoseconds(count.host_wait_ns)) for count in counts]
    return {"max": max(waits_s), "mean": sum(waits_s) / len(waits_s)}


def _communication(
    emulated_s: Callable[[float], float], times: HostTimes, all_times: list[HostTimes]
) -> dict[str, object]:
    """Return the communication measurements of the study on DAS-2."""
    by_direction_s = [
        {direction: emulated_s(host_ns) for direction, host_ns in rank_times.border_exchange_ns.items()}
        for rank_times in all_times
    ]
    points = max(rank_times.border_exchange_points for rank_times in all_times)
    met = times.communications == len(times.iterations_ns)
    return {
        "border_exchange_s": by_direction_s,
        "border_exchange_total_s": [sum(directions_s.values()) for directions_s in by_direction_s],
        "border_exchange_points": points,
        "border_exchange_bytes": points * BYTES_PER_POINT,
        "communication_s": emulated_s(times.communication_ns) if met else None,
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
