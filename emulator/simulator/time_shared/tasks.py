"""The tasks of a running job, and the local users, as the engine follows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from emulator.model.local_users import AskedBurst

Ranks = tuple[int, ...]


@final
class JobRun:
    """A running job: its steps, and by rank whom it sends to and receives from in each phase of its pattern.

    `transmission_s` is the time between two messages that come in at the rate of the interconnect.
    """

    __slots__ = (
        "compute_s",
        "given_s",
        "id",
        "left",
        "message_bytes",
        "sends_to",
        "sources",
        "start_s",
        "steps",
        "tasks",
        "transmission_s",
    )

    def __init__(
        self,
        id: int,
        start_s: float,
        steps: int,
        compute_s: float,
        message_bytes: float,
        transmission_s: float,
        sends_to: list[list[Ranks]],
        sources: list[list[Ranks]],
    ) -> None:
        self.id = id
        self.start_s = start_s
        self.steps = steps
        self.compute_s = compute_s
        self.message_bytes = message_bytes
        self.transmission_s = transmission_s
        self.sends_to = sends_to
        self.sources = sources
        self.tasks: list[TaskRun] = []
        self.left: int = 0
        self.given_s: float = 0.0


@final
class TaskRun:
    """A task: its step, and the messages it has had from each rank beyond those it has taken.

    `owed` is negative for a rank whose message the task waits for; `missing` counts these. `early` are the others that
    have arrived, each with its timestamp and its rank, in order. `sent_s` is when the last of its own messages has left
    the interface, `taken_in_s` until when it takes in those that it has waited for.
    """

    __slots__ = ("early", "id", "job", "missing", "node", "owed", "rank", "receives", "sent_s", "step", "taken_in_s")

    def __init__(self, id: int, job: JobRun, rank: int, node: int, tasks: int) -> None:
        self.id = id
        self.job = job
        self.rank = rank
        self.node = node
        self.step: int = 0
        self.missing: int = 0
        self.receives: bool = False
        self.owed: list[int] = [0] * tasks
        self.early: list[tuple[float, int]] = []
        self.sent_s: float = 0.0
        self.taken_in_s: float = 0.0

    def through_s(self) -> float:
        """Return when it has sent its own messages and taken in those that have come: not before this it goes on."""
        return self.sent_s if self.sent_s > self.taken_in_s else self.taken_in_s


@final
class UserRun:
    """A local user: the mean of bursts and of thinking, and the burst that is asked for.

    The bursts in `recorded` come first, each when it was asked for, or when the one before it ends if that is later.
    All others are drawn.
    """

    __slots__ = ("asked_s", "beside", "burst_s", "id", "node", "numbers", "recorded", "think_s", "wanted_s")

    def __init__(
        self, id: int, node: int, burst_s: float, think_s: float, numbers: Any, recorded: Sequence[AskedBurst]
    ) -> None:
        self.id = id
        self.node = node
        self.burst_s = burst_s
        self.think_s = think_s
        self.numbers = numbers
        self.recorded: list[AskedBurst] = list(reversed(recorded))
        self.asked_s: float = 0.0
        self.wanted_s: float = 0.0
        self.beside: int = 0

    def next_s(self, now_s: float) -> float:
        """Return when the next burst is asked for."""
        if self.recorded:
            return max(now_s, self.recorded[-1].asked_s)
        return now_s + float(self.think_s * self.numbers.standard_exponential())

    def take_burst_s(self) -> float:
        """Return the processor time of the burst that is asked for now."""
        if self.recorded:
            return self.recorded.pop().processor_s
        return float(self.burst_s * self.numbers.standard_exponential())
