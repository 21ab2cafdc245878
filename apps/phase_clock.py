"""The phase clock of an application's loop: it closes phases, paces those that compute, and adds up their times."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from apps.counters import HostTimes
from apps.numerics import SampledResults, computes
from apps.pacing import Pacer, Phase
from emulator.model.units import seconds_from_nanoseconds

if TYPE_CHECKING:
    from apps.collectives import Reduction

Result = TypeVar("Result")

# One kernel call in this many has its CPU time taken, so that measuring costs nothing. An odd number, because an
# iteration may have two kernels in turn.
_SAMPLED_EVERY = 63

# The values that a reduction carries beside the application's.
_LATENESS, _COMPUTED, _EXCHANGED = range(3)
_CARRIED = 3


class EmulatedProcessor(Protocol):
    """The emulated processor's timestamp on the host's monotonic clock.

    `timestamp_ns` may be ahead of the host's clock by `host_lead_ns`. Timestamps of ranks on several machines can be
    compared with `to_first_clock_ns` added to each.
    """

    timestamp_ns: int
    to_first_clock_ns: int

    @property
    def host_lead_ns(self) -> int:
        """How far the rank may run ahead, in host nanoseconds."""
        ...

    def take_passed_lateness_ns(self) -> int:
        """Return the largest lateness that real messages took along since the last call, in host nanoseconds."""
        ...

    def take_standstills_ns(self) -> list[tuple[int, int]]:
        """Return the host timestamps between which the rank stood still since the last call, and forget them."""
        ...

    def wait_until_timestamp(self) -> None:
        """Sleep until the host's clock reaches `timestamp_ns`."""
        ...


class PhaseClock:
    """The clock of an application's loop: it closes each phase, paces those that compute, and adds up their times.

    An iteration is `compute` (or the application's own work and `end_compute`), then `end_exchange` after a border
    exchange and `end_reduction` after a reduction, as often as the application has them, then `end_iteration`. A
    reduction given here carries the ranks' lateness and the timestamps that make up the total communication time. With
    `sampled` numerics most iterations do not compute (`apps.numerics`).
    """

    def __init__(
        self,
        times: HostTimes,
        pacer: Pacer,
        processor: EmulatedProcessor,
        reduction: Reduction | None = None,
        sampled: bool = False,
    ) -> None:
        self._sampled = SampledResults() if sampled else None
        self._times, self._pacer, self._processor = times, pacer, processor
        self._carried = np.zeros(_CARRIED) if reduction is None else reduction.carried
        self._iteration_started_ns = self._phase_started_ns = self._loop_started_ns = self._cpu_started_ns = 0
        self._to_first_clock_ns = 0
        self._samples = self._kernels = 0
        # Since the last reduction: not every iteration has one.
        self._host_lateness_s = 0.0

    def begin(self) -> None:
        """Begin the loop now; by how much the rank left the start barrier too late is its first lateness."""
        processor = self._processor
        self._pacer.host_lead_ns = processor.host_lead_ns
        self._to_first_clock_ns = processor.to_first_clock_ns
        self._cpu_started_ns = time.process_time_ns()
        timestamp_ns = time.monotonic_ns()
        processor.take_passed_lateness_ns()
        self._host_lateness_s = seconds_from_nanoseconds(max(0, timestamp_ns - processor.timestamp_ns))
        processor.timestamp_ns = timestamp_ns
        self._loop_started_ns = self._phase_started_ns = self._iteration_started_ns = timestamp_ns

    def begin_iteration(self) -> None:
        """Begin an iteration here instead of at the end of the last one or of the loop's preparation."""
        self._iteration_started_ns = self._phase_started_ns

    def compute(self, update: Callable[[], Result], phase: Phase) -> Result:
        """Run the kernel, sometimes sampling its CPU time, and wait until the emulated processor has done it."""
        self._pacer.begin(phase, self._phase_started_ns)
        sampled = self._sampled
        if sampled is not None and sampled.has(update) and not computes(len(self._times.iterations_ns)):
            self.end_compute(phase)
            stale: Result = sampled.last(update)
            return stale
        if self._kernels % _SAMPLED_EVERY:
            result = update()
        else:
            cpu_started_ns = time.thread_time_ns()
            result = update()
            self._times.kernel_cpu_ns += time.thread_time_ns() - cpu_started_ns
            self._samples += 1
        self._kernels += 1
        if sampled is not None:
            sampled.note(update, result)
        self.end_compute(phase)
        return result

    def end_compute(self, phase: Phase) -> None:
        """Close a compute phase: wait until the emulated processor would have finished it."""
        ended_ns = self._pacer.finish(phase, self._phase_started_ns)
        self._processor.timestamp_ns = ended_ns
        self._times.compute_ns += ended_ns - self._phase_started_ns
        self._phase_started_ns = ended_ns
        self._carry_lateness()
        self._carried[_COMPUTED] = ended_ns + self._to_first_clock_ns

    def end_barrier(self) -> None:
        """Close the wait at a barrier before communication."""
        self._times.barrier_ns += self._close_phase()

    def end_exchange(self) -> None:
        """Close a border exchange, or other communication of the application."""
        self._times.exchange_ns += self._close_phase()
        self._carry_lateness()
        self._carried[_EXCHANGED] = self._phase_started_ns + self._to_first_clock_ns

    def end_reduction(self) -> None:
        """Close a reduction, after which all ranks know the latest rank's timestamps."""
        times, carried = self._times, self._carried
        times.reduction_ns += self._close_phase()
        times.host_critical_lateness_s += carried[_LATENESS]
        self._host_lateness_s = 0.0
        times.communication_ns += max(0.0, carried[_EXCHANGED] - carried[_COMPUTED])
        times.communications += 1

    def end_iteration(self) -> None:
        """Close an iteration."""
        self._times.iterations_ns.append(self._phase_started_ns - self._iteration_started_ns)
        self._iteration_started_ns = self._phase_started_ns

    def end(self) -> None:
        """End the loop: wait until the host's clock reaches the emulated processor's timestamp."""
        times, processor = self._times, self._processor
        processor.wait_until_timestamp()
        host_ended_ns = time.monotonic_ns()
        times.loop_ns = host_ended_ns - self._loop_started_ns
        self._carry_lateness()
        behind_s = seconds_from_nanoseconds(max(0, host_ended_ns - processor.timestamp_ns))
        times.host_critical_lateness_s += self._host_lateness_s + behind_s
        times.standstills_ns = [
            (began_ns + self._to_first_clock_ns, ended_ns + self._to_first_clock_ns)
            for began_ns, ended_ns in processor.take_standstills_ns()
        ]
        times.cpu_ns = time.process_time_ns() - self._cpu_started_ns
        times.kernel_cpu_ns *= self._kernels / max(1, self._samples)

    def _carry_lateness(self) -> None:
        self._host_lateness_s += seconds_from_nanoseconds(self._processor.take_passed_lateness_ns())
        self._carried[_LATENESS] = self._host_lateness_s

    def _close_phase(self) -> int:
        ended_ns = self._processor.timestamp_ns
        duration_ns = ended_ns - self._phase_started_ns
        self._phase_started_ns = ended_ns
        return duration_ns
