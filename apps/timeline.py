"""A job's timeline as its ranks see it: the start barrier, the events that rank 0 reports, and the phases' clocks.

The broker reads the events from rank 0's standard output, one JSON document a line. Their moments are the host's wall
clock, because the broker compares them with moments of its own; durations within a job are monotonic.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from apps.pacing import Pacer, Phase
from emulator.model.units import seconds_from_nanoseconds

if TYPE_CHECKING:
    from apps.application import JobContext
    from apps.collectives import Reduction

Result = TypeVar("Result")

# One kernel call in this many has its CPU time taken, so that measuring costs nothing. An odd number, because an
# iteration may have two kernels in turn.
_SAMPLED_EVERY = 63

# What a reduction carries beside the application's values.
_LATENESS, _COMPUTED, _EXCHANGED = range(3)
_CARRIED = 3


def report_event(event: str, **values: object) -> None:
    """Writes one event as a line of JSON on standard output, at once."""
    sys.stdout.write(json.dumps({"event": event, **values}) + "\n")
    sys.stdout.flush()


def pass_start_barrier(job: JobContext, host_start_at_s: float | None) -> None:
    """Waits until every rank is ready and, if one is given, until a moment of rank 0's wall clock; reports `started`.

    The ranks sleep until that moment and do not wait in MPI, which would keep the host's cores busy. Middleware that is
    slower than its emulated overhead shows as `host_late_s`: how far past the moment the last rank was ready.
    """
    job.collectives.barrier()
    host_now_s = time.time()
    host_late_s = 0.0 if host_start_at_s is None else max(0.0, host_now_s - host_start_at_s)
    host_remaining_s = np.array([0.0 if host_start_at_s is None else max(0.0, host_start_at_s - host_now_s)])
    job.collectives.broadcast(host_remaining_s)
    time.sleep(host_remaining_s[0])
    job.collectives.barrier()
    if job.communicator.rank == 0:
        report_event("started", host_moment_s=time.time(), host_late_s=host_late_s, processes=job.communicator.size)


def pass_finish_barrier(job: JobContext) -> None:
    """Waits for every rank; reports `finished` with the moment at which the last one came."""
    (host_moment_s,) = job.collectives.all_reduce(np.array([time.time()]), "max")
    if job.communicator.rank == 0:
        report_event("finished", host_moment_s=float(host_moment_s))


@dataclass(slots=True)
class HostTimes:
    """Where one rank's loop spent its time, in host nanoseconds; the kernel's CPU time as sampled.

    `communication_ns` is the total communication time of the measurement study on DAS-2: from the moment at which the
    last process ends its computation to that at which the last ends its border exchange, summed over the iterations;
    the same at every rank, known only where all of them meet in a reduction in each of `communications` iterations.
    `border_exchange_ns` is this rank's border exchange by direction (one total where directions overlap), in which it
    sends and receives `border_exchange_points` together each time; `barrier_ns` is its waiting at the barrier before
    communication, if there is one.
    `host_critical_lateness_s` bounds by how much the loop is too long because the host was late. A rank that is behind
    its emulated processor makes up for it, unless it has to send a message into the host's time: so this adds up, from
    one reduction to the next, how late such messages left the latest of all ranks - what is after the last reduction,
    or all of it if there is none, is this rank's own -, and how far this rank is behind when the loop has ended.
    """

    iterations_ns: array[int] = field(default_factory=lambda: array("q"))
    compute_ns: int = 0
    exchange_ns: int = 0
    reduction_ns: int = 0
    barrier_ns: int = 0
    communication_ns: float = 0.0
    communications: int = 0
    border_exchange_ns: dict[str, int] = field(default_factory=dict)
    border_exchange_points: int = 0
    loop_ns: int = 0
    cpu_ns: int = 0
    kernel_cpu_ns: float = 0.0
    host_critical_lateness_s: float = 0.0


class EmulatedProcessor(Protocol):
    """What knows the moment, on the host's monotonic clock, that the emulated processor has come to.

    It may be ahead of the host's clock by `host_lead_ns`.
    """

    moment_ns: int

    @property
    def host_lead_ns(self) -> int:
        """How far the rank may run ahead, in host nanoseconds."""
        ...

    def take_send_lateness_ns(self) -> int:
        """How late the latest message into the host's time left since this was last asked, in host nanoseconds."""
        ...

    def wait_for_moment(self) -> None:
        """Sleeps until the host's clock has come to `moment_ns`."""
        ...


class PhaseClock:
    """The clock of an application's loop: it closes each phase, paces those that compute, and adds up their times.

    An iteration is `compute` (or the application's own work and `computed`), then `exchanged` after a border exchange
    and `reduced` after a reduction, as often as the application has them, then `end_iteration`. A reduction given here
    carries the ranks' lateness and the moments that the total communication time is made of.
    """

    def __init__(
        self, times: HostTimes, pacer: Pacer, processor: EmulatedProcessor, reduction: Reduction | None = None
    ) -> None:
        self._times, self._pacer, self._processor = times, pacer, processor
        self._carried = np.zeros(_CARRIED) if reduction is None else reduction.carried
        self._iteration_started_ns = self._phase_started_ns = self._loop_started_ns = self._cpu_started_ns = 0
        self._samples = self._kernels = 0
        # Since the last reduction: not every iteration has one.
        self._host_lateness_s = 0.0

    def begin(self) -> None:
        """The loop begins: from here on no garbage is collected, which would come in the middle of a phase."""
        gc.collect()
        gc.disable()
        self._pacer.host_lead_ns = self._processor.host_lead_ns
        self._cpu_started_ns = time.process_time_ns()
        moment_ns = time.monotonic_ns()
        self._processor.moment_ns = moment_ns
        self._processor.take_send_lateness_ns()
        self._loop_started_ns = self._phase_started_ns = self._iteration_started_ns = moment_ns

    def begin_iteration(self) -> None:
        """An iteration begins here, and not where the last one or the preparation of the loop ended."""
        self._iteration_started_ns = self._phase_started_ns

    def compute(self, update: Callable[[], Result], phase: Phase) -> Result:
        """Runs the kernel, now and then taking its CPU time, and waits until the emulated processor has done it."""
        if self._kernels % _SAMPLED_EVERY:
            result = update()
        else:
            cpu_started_ns = time.thread_time_ns()
            result = update()
            self._times.kernel_cpu_ns += time.thread_time_ns() - cpu_started_ns
            self._samples += 1
        self._kernels += 1
        self.computed(phase)
        return result

    def computed(self, phase: Phase) -> None:
        """Closes a compute phase: waits until the emulated processor would have finished it."""
        ended_ns = self._pacer.finish(phase, self._phase_started_ns)
        self._processor.moment_ns = ended_ns
        self._times.compute_ns += ended_ns - self._phase_started_ns
        self._phase_started_ns = ended_ns
        self._carry_lateness()
        self._carried[_COMPUTED] = ended_ns

    def met(self) -> None:
        """Closes the wait at a barrier before communication."""
        self._times.barrier_ns += self._close_phase()

    def exchanged(self) -> None:
        """Closes a border exchange, or whatever else the application's communication is."""
        self._times.exchange_ns += self._close_phase()
        self._carry_lateness()
        self._carried[_EXCHANGED] = self._phase_started_ns

    def reduced(self) -> None:
        """Closes a reduction, after which all ranks know the latest one's moments."""
        times, carried = self._times, self._carried
        times.reduction_ns += self._close_phase()
        times.host_critical_lateness_s += carried[_LATENESS]
        self._host_lateness_s = 0.0
        times.communication_ns += max(0.0, carried[_EXCHANGED] - carried[_COMPUTED])
        times.communications += 1

    def end_iteration(self) -> None:
        """Closes an iteration."""
        self._times.iterations_ns.append(self._phase_started_ns - self._iteration_started_ns)
        self._iteration_started_ns = self._phase_started_ns

    def end(self) -> None:
        """The loop has ended: waits until the host's clock has come to the emulated processor's moment, too."""
        times, processor = self._times, self._processor
        processor.wait_for_moment()
        host_ended_ns = time.monotonic_ns()
        times.loop_ns = host_ended_ns - self._loop_started_ns
        self._carry_lateness()
        behind_s = seconds_from_nanoseconds(max(0, host_ended_ns - processor.moment_ns))
        times.host_critical_lateness_s += self._host_lateness_s + behind_s
        times.cpu_ns = time.process_time_ns() - self._cpu_started_ns
        times.kernel_cpu_ns *= self._kernels / max(1, self._samples)
        gc.enable()

    def _carry_lateness(self) -> None:
        self._host_lateness_s += seconds_from_nanoseconds(self._processor.take_send_lateness_ns())
        self._carried[_LATENESS] = self._host_lateness_s

    def _close_phase(self) -> int:
        ended_ns = self._processor.moment_ns
        duration_ns = ended_ns - self._phase_started_ns
        self._phase_started_ns = ended_ns
        return duration_ns
