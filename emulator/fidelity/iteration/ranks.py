"""The ranks of a job: each one's timestamp, and when its interconnect is free to send and to receive.

The rules are those of the live pacing (``apps/kernels/messages.pyx``): inside a cluster a sender's interconnect takes
in one message after another, and a receiver's brings no two at once; without a stated interconnect messages take no
time. Between clusters messages cross the wide area.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from emulator.fidelity.iteration.wide_area import FarMessage, WideArea
from emulator.model.interconnects import Interconnect
from emulator.model.units import rate_bytes_per_s

Sent = tuple[int, int, int]
"""Sender, receiver, bytes."""

Carry = Callable[[Sequence[FarMessage]], list[float]]
"""What tells when each message between clusters has arrived."""


@dataclass(frozen=True, slots=True)
class MessageCosts:
    """Emulated seconds of a message between processors of a cluster: latency, time per message, and per byte."""

    latency_s: float = 0.0
    message_s: float = 0.0
    byte_s: float = 0.0

    @classmethod
    def of(cls, interconnect: Interconnect | None) -> MessageCosts:
        """Return the costs of `interconnect`; none if it is not stated."""
        if interconnect is None:
            return cls()
        return cls(interconnect.latency_s, interconnect.message_s, 1.0 / rate_bytes_per_s(interconnect.rate_mbit))


@dataclass(slots=True)
class Ranks:
    """The ranks of a job, in the clusters `cluster_of` (indices into those of the `wide_area`)."""

    cluster_of: Sequence[int]
    costs: MessageCosts
    wide_area: WideArea
    timestamps_s: list[float] = field(init=False)
    _out_free_s: list[float] = field(init=False)
    _in_free_s: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self.timestamps_s, self._out_free_s, self._in_free_s = ([0.0] * len(self.cluster_of) for _ in range(3))

    def compute(self, durations_s: Sequence[float]) -> None:
        """Let each rank compute for its duration."""
        self.timestamps_s = [before_s + own_s for before_s, own_s in zip(self.timestamps_s, durations_s, strict=True)]

    def exchange(self, sends: Sequence[Sent], carry: Carry | None = None) -> None:
        """Send messages together; every rank then has sent its own and received those to it.

        What goes between clusters is carried by `carry`, by default as single bursts over the wide area.
        """
        after_s = list(self.timestamps_s)
        near: dict[int, list[tuple[float, int]]] = {}
        far: list[FarMessage] = []
        far_receivers: list[int] = []
        for sender, receiver, size_bytes in sends:
            source, target = self.cluster_of[sender], self.cluster_of[receiver]
            if source == target:
                begin_s = max(self._out_free_s[sender], self.timestamps_s[sender])
                sent_s = begin_s + self.costs.message_s + size_bytes * self.costs.byte_s
                self._out_free_s[sender] = after_s[sender] = sent_s
                near.setdefault(receiver, []).append((sent_s, size_bytes))
            else:
                far.append(FarMessage(self.timestamps_s[sender], source, target, size_bytes))
                far_receivers.append(receiver)
        for receiver, messages in near.items():
            after_s[receiver] = max(after_s[receiver], self._taken_in_s(receiver, messages))
        if far:
            for receiver, arrival_s in zip(far_receivers, (carry or self.wide_area.arrivals_s)(far), strict=True):
                after_s[receiver] = max(after_s[receiver], arrival_s)
        self.timestamps_s = after_s

    def _taken_in_s(self, receiver: int, messages: list[tuple[float, int]]) -> float:
        free_s = self._in_free_s[receiver]
        for sent_s, size_bytes in sorted(messages):
            free_s = max(sent_s + self.costs.latency_s, free_s + size_bytes * self.costs.byte_s)
        self._in_free_s[receiver] = free_s
        return free_s

    def all_to_all(self, total_bytes: float) -> None:
        """Let every rank give every other an equal part of what all hold together; all end together.

        Inside a cluster a rank's messages go one after another; between clusters the slowest access link counts.
        """
        ranks = len(self.cluster_of)
        begin_s = max(self.timestamps_s)
        pair_bytes = total_bytes / ranks**2
        near = max(self.cluster_of.count(cluster) for cluster in set(self.cluster_of)) - 1
        near_s = near * (self.costs.message_s + pair_bytes * self.costs.byte_s) + (self.costs.latency_s if near else 0)
        far_s = self.wide_area.all_to_all_s(self.cluster_of, pair_bytes)
        self.timestamps_s = [begin_s + max(near_s, far_s)] * ranks
