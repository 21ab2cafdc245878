"""The measured costs of a testbed on this host's processors, memory and router, with interpolation between them.

All times are host seconds: they are what does not dilate. Costs are known for a few numbers of ranks only; between two
of them they are interpolated on the logarithm of the number, beyond the last they stay (CPU of a rank) or grow with the
number (what ranks do one after another).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Final, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from emulator.model.documents import DocumentModel
from emulator.model.errors import InvalidInput
from emulator.model.processor import REFERENCE_APPLICATION
from emulator.model.units import seconds_from_nanoseconds

NonNegative = Annotated[float, Field(ge=0)]

_AGAIN: Final = "measure it again with `testbed plan --again`"

FULL_PACKET_BYTES: Final = 1448
"""What one TCP segment carries over an Ethernet-sized link."""


class MessagesOver(StrEnum):
    """What carries a job's messages, and with it whose time they take.

    Through shared memory they take the host's time, over a stated interconnect emulated time, between clusters both.
    """

    SHARED_MEMORY = "shared-memory"
    INTERCONNECT = "interconnect"
    WIDE_AREA = "wide-area"


class MessageCost(DocumentModel):
    """What an iteration's messages `over` something cost in a job of `ranks`; over the wide area, of two clusters.

    `host_cpu_s` is the CPU of a rank in an iteration, its kernels taken off. `host_time_s` is by how much an iteration
    is longer than its compute phases, its emulated delays and its interconnect make it: the host's own time.
    `host_least_cpu_s` is the CPU of a rank that never waits, because the host only just keeps up.
    """

    application: str
    ranks: PositiveInt
    over: MessagesOver
    host_cpu_s: NonNegative
    host_time_s: NonNegative
    host_least_cpu_s: NonNegative


class KernelCost(DocumentModel):
    """CPU that an update of one grid point takes: of a block of `points`, which fits the host's caches or does not."""

    application: str
    points: PositiveInt
    host_ns_per_point: PositiveFloat


class Overshoots(DocumentModel):
    """How far phases of one job ended past their ends.

    Only ranks count that wake for each phase's end, `together` of them in one cluster. Their kernels took
    `host_kernel_s` in a phase. `host_mean_s` is the mean over their phases, `host_latest_s` by how much an iteration
    became longer because of the latest of them.
    """

    together: PositiveInt
    over: MessagesOver
    host_kernel_s: PositiveFloat
    host_mean_s: NonNegative
    host_latest_s: NonNegative


class Readiness(DocumentModel):
    """How long after a phase began a job's ranks were ready for its end: the share `beyond` each of `host_edges_s`.

    What a rank does before it can end a phase - wait for a core, take in messages, run its kernel of `host_kernel_s` -
    does not dilate. So in phases that are shorter than an edge at least that share ends late. How long it waits depends
    on how busy the cores are - the job used `core_share` of all of them while it ran - and on how many `clusters` it
    was spread over, since from each of them messages come at another time.
    """

    ranks: PositiveInt
    over: MessagesOver
    clusters: PositiveInt
    host_kernel_s: PositiveFloat
    core_share: PositiveFloat
    host_edges_s: tuple[PositiveFloat, ...]
    beyond: tuple[NonNegative, ...]

    def share_beyond(self, host_s: float) -> float:
        """The share of ranks that were ready later than that, interpolated on the logarithm of time, ends held."""
        if host_s <= self.host_edges_s[0]:
            return self.beyond[0]
        return interpolated(list(zip(self.host_edges_s, self.beyond, strict=True)), host_s)


class FallingBehind(DocumentModel):
    """Which share of its phases a job in one cluster over a stated interconnect ended late.

    There nobody has to be ready, but ranks wake for each other's messages one after another. That, and their kernels,
    took `turns_share` of an iteration as it is emulated; the nearer to all of it, the longer it takes until a rank that
    fell behind has caught up.
    """

    turns_share: PositiveFloat
    late_phase_share: NonNegative


class StartCost(DocumentModel):
    """Host seconds from claimed processors to ranks that iterate: `host_base_s`, and `host_rank_s` for each rank."""

    host_base_s: NonNegative
    host_rank_s: NonNegative

    def host_s(self, ranks: int) -> float:
        """Host seconds that starting so many ranks takes."""
        return self.host_base_s + self.host_rank_s * ranks


class RouterCost(DocumentModel):
    """What carrying a packet costs the router, and how many packets it carried for each that the model counts.

    `backend` names the router's kernel. `host_cpu_s_per_packet` is 0 where packets are carried by the host's own
    kernel, whose CPU no container is charged for.
    """

    backend: str
    host_cpu_s_per_packet: NonNegative
    packets_per_segment: PositiveFloat


class HostCosts(DocumentModel):
    """All that was measured of a host, of whose cores the share `load` was in use just before."""

    fingerprint: str
    measured_at: str
    load: NonNegative
    cores: PositiveInt
    memory_bytes: PositiveInt
    kernels: tuple[KernelCost, ...]
    messages: tuple[MessageCost, ...]
    overshoots: tuple[Overshoots, ...]
    readiness: tuple[Readiness, ...]
    falling_behind: tuple[FallingBehind, ...]
    start: StartCost
    router: RouterCost
    rank_bytes: PositiveInt
    cluster_bytes: PositiveInt
    record_bytes: PositiveInt

    def kernel_s(self, application: str, points: int) -> float:
        """CPU seconds in which the kernel of `application` updates a block of so many points once."""
        return seconds_from_nanoseconds(points * self._kernel_ns(application, points))

    def message_cpu_s(self, application: str, ranks: int, over: MessagesOver) -> float:
        """CPU seconds that the messages of an iteration take of each of so many ranks."""
        return self._of_messages(application, ranks, over, "host_cpu_s")

    def message_least_cpu_s(self, application: str, ranks: int, over: MessagesOver) -> float:
        """As `message_cpu_s`, of ranks that never wait."""
        return self._of_messages(application, ranks, over, "host_least_cpu_s")

    def message_time_s(self, application: str, ranks: int, over: MessagesOver) -> float:
        """Host seconds by which the messages of an iteration lengthen it, whatever the dilation."""
        return self._of_messages(application, ranks, over, "host_time_s")

    def _kernel_ns(self, application: str, points: int) -> float:
        own = _by_points(kernel for kernel in self.kernels if kernel.application == application)
        reference = _by_points(kernel for kernel in self.kernels if kernel.application == REFERENCE_APPLICATION)
        if not reference:
            raise InvalidInput(f"This host's costs name no kernel ({_AGAIN}).")
        if not own:
            return _between(reference, points)
        if len(own) > 1:
            return _between(own, points)
        # Known for one block only: as much dearer out of cache as the reference.
        measured_at, cost_ns = own[0]
        return cost_ns * _between(reference, points) / _between(reference, measured_at)

    def _of_messages(
        self,
        application: str,
        ranks: int,
        over: MessagesOver,
        cost: Literal["host_cpu_s", "host_time_s", "host_least_cpu_s"],
    ) -> float:
        reference = [
            (float(message.ranks), float(getattr(message, cost)))
            for message in self.messages
            if message.application == REFERENCE_APPLICATION and message.over is over
        ]
        if not reference:
            raise InvalidInput(f"This host's costs name no messages over {over.value} ({_AGAIN}).")
        growing = cost == "host_time_s"
        return _between(sorted(reference), ranks, growing=growing) * self._dearer(application, cost)

    def _dearer(self, application: str, cost: str) -> float:
        """How an iteration's messages of `application` compare with the reference application's on as many ranks."""
        alike = {
            (message.application, message.ranks): float(getattr(message, cost))
            for message in self.messages
            if message.over is MessagesOver.SHARED_MEMORY
        }
        for (measured, ranks), own in alike.items():
            reference = alike.get((REFERENCE_APPLICATION, ranks))
            if measured == application and reference:
                return own / reference
        return 1.0


def interpolated(known: Sequence[tuple[float, float]], at: float) -> float:
    """The value at `at` among (place, value) in ascending order: linear in the logarithm of the place, ends held."""
    if at <= known[0][0]:
        return known[0][1]
    for (low, low_value), (high, high_value) in pairwise(known):
        if at <= high:
            along = math.log(at / low) / math.log(high / low)
            return low_value + (high_value - low_value) * along
    return known[-1][1]


def _between(known: Sequence[tuple[float, float]], at: float, *, growing: bool = False) -> float:
    """As `interpolated`; beyond the last place a `growing` value is proportional to the place."""
    last, value = known[-1]
    return value * at / last if growing and at > last else interpolated(known, at)


def _by_points(kernels: Iterable[KernelCost]) -> list[tuple[float, float]]:
    return sorted((float(kernel.points), kernel.host_ns_per_point) for kernel in kernels)
