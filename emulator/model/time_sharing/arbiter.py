"""A shared processor that real tasks ask for: each request says from when on a task wants it, and for how long.

A request may come somewhat later than its timestamp, because a real task needs time to send it. So the processor is
never taken further than to its last event, and a request between this and the present is as good as one that came in
time. After a request is met its task holds the processor for a short while, the *patience*, until it says what it
wants next: at once more processor time, or nothing before a later timestamp, when a message will have come.

Local users are not real: what they want is known beforehand, so nothing of it ever comes late.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Final

from emulator.model.errors import InvalidInput
from emulator.model.time_sharing.local_work import Burst, LocalWork
from emulator.model.time_sharing.processor import NEVER, NOBODY, SharedProcessor

ROUNDING_S: Final = 1e-8
"""Timestamps that differ by no more than this are equal, at least: tasks send them in whole host nanoseconds."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A task has had what it asked for at `end_s`; its request counted from `late_s` later than it said."""

    task: int
    end_s: float
    late_s: float


@dataclass(frozen=True, slots=True, order=True)
class _Request:
    from_s: float
    order: int
    task: int
    processor_s: float


class Arbiter:
    """The arbiter of one processor. Between calls the driver waits until `next_s`, and then calls `advance`.

    Timestamps that differ by no more than `rounding_s` are equal.
    """

    def __init__(self, processor: SharedProcessor, patience_s: float, rounding_s: float = ROUNDING_S) -> None:
        self._processor = processor
        self._patience_s = patience_s
        self._rounding_s = rounding_s
        self._ahead: list[_Request] = []
        self._requests = 0
        self._asking: dict[int, _Request] = {}
        self._late_s: dict[int, float] = {}
        self._computing: set[int] = set()
        self._undecided = NOBODY
        self._decides_by_s = NEVER
        self._users: dict[int, LocalWork] = {}
        self._beside: dict[int, int] = {}
        self._bursts: list[Burst] = []

    @property
    def parallel_tasks(self) -> int:
        """The number of its parallel tasks."""
        return len(self._processor.tasks()) - len(self._users)

    def add(self, task: int) -> None:
        """Add a parallel task that wants nothing yet."""
        self._processor.add(task)

    def add_user(self, task: int, work: LocalWork) -> None:
        """Add a local user, who was there before now; `task` is not `NOBODY`."""
        self._processor.add(task, local=True)
        self._users[task] = work
        self._expect_burst(task, self._processor.now_s + work.draw_first_s())

    def set_weight(self, task: int, weight: float) -> None:
        """Scale the quanta that a task gets from its next epoch on."""
        self._processor.set_weight(task, weight)

    def take_bursts(self) -> list[Burst]:
        """Return the bursts of local users that have ended since this was last called, in order."""
        bursts, self._bursts = self._bursts, []
        return bursts

    def request(self, task: int, from_s: float, processor_s: float) -> None:
        """Let a task want `processor_s` of processor time from the timestamp `from_s` on.

        Raises:
            InvalidInput: if there is no such task, it still waits for an earlier request, or a time is not possible.
        """
        if not (0.0 <= processor_s < NEVER and -NEVER < from_s < NEVER):
            raise InvalidInput(f"A task cannot ask for {processor_s!r} s from the timestamp {from_s!r} on.")
        if task in self._asking or task in self._computing or any(each.task == task for each in self._ahead):
            raise InvalidInput(f"Task {task} asks again before it has had what it asked for.")
        if task not in self._processor.tasks():
            raise InvalidInput(f"Task {task} is not on this processor.")
        request = self._numbered(from_s, task, processor_s)
        if task != self._undecided:
            heapq.heappush(self._ahead, request)
            return
        self._undecided = NOBODY
        if from_s <= self._processor.now_s + self._rounding_s:
            # It still holds the processor, and goes on.
            self._late_s[task] = 0.0
            self._compute(request)
        else:
            self._processor.receive(task)
            heapq.heappush(self._ahead, request)

    def remove(self, task: int, now_s: float) -> list[Grant]:
        """Remove a task, whatever it wants; return what others have been given until now."""
        grants = self.advance(now_s)
        if task == self._undecided:
            self._undecided = NOBODY
        if self._undecided == NOBODY and self._processor.now_s < now_s < self._processor.next_s():
            self._processor.advance(now_s)
        self._processor.remove(task)
        self._ahead = [each for each in self._ahead if each.task != task]
        heapq.heapify(self._ahead)
        self._asking.pop(task, None)
        self._late_s.pop(task, None)
        self._computing.discard(task)
        return [grant for grant in grants if grant.task != task]

    def next_s(self) -> float:
        """Get the next timestamp at which something is to be done; infinite if there is none."""
        if self._undecided != NOBODY:
            return self._decides_by_s
        return min(self._processor.next_s(), self._ahead[0].from_s if self._ahead else NEVER)

    def advance(self, now_s: float) -> list[Grant]:
        """Go on to `now_s`; return the requests that were met on the way, in order."""
        grants: list[Grant] = []
        while self.next_s() <= now_s:
            if self._undecided != NOBODY:
                # It said nothing: it waits for a message.
                self._processor.receive(self._undecided)
                self._undecided = NOBODY
            elif self._ahead and self._begins_s(self._ahead[0]) < self._processor.next_s():
                self._state(heapq.heappop(self._ahead))
            else:
                met = self._processor.advance(self._processor.next_s())
                if met != NOBODY:
                    grants += self._met(met, now_s)
        return grants

    def _begins_s(self, request: _Request) -> float:
        """Return the timestamp from which a request counts: its own, unless that is past already."""
        return max(request.from_s, self._processor.now_s)

    def _numbered(self, from_s: float, task: int, processor_s: float) -> _Request:
        self._requests += 1
        return _Request(from_s, self._requests, task, processor_s)

    def _expect_burst(self, user: int, from_s: float) -> None:
        heapq.heappush(self._ahead, self._numbered(from_s, user, self._users[user].draw_burst_s()))

    def _state(self, request: _Request) -> None:
        """Let the task of a request want the processor: its message has come, or its user begins a burst."""
        begins_s = self._begins_s(request)
        self._processor.advance(begins_s)
        if request.task in self._users:
            self._asking[request.task] = request
            self._beside[request.task] = self.parallel_tasks
            self._processor.compute(request.task, request.processor_s)
            return
        self._late_s[request.task] = begins_s - request.from_s
        self._asking[request.task] = request
        self._processor.deliver(request.task)

    def _compute(self, request: _Request) -> None:
        self._computing.add(request.task)
        self._processor.compute(request.task, request.processor_s)

    def _met(self, task: int, now_s: float) -> list[Grant]:
        """A task has the processor again after its wait, and computes; or it has computed."""
        asked = self._asking.pop(task, None)
        if asked is not None and task in self._users:
            self._end_burst(asked)
            return []
        if asked is not None:
            self._compute(asked)
            return []
        self._computing.remove(task)
        self._undecided = task
        self._decides_by_s = now_s + self._patience_s
        return [Grant(task, self._processor.now_s, self._late_s.pop(task))]

    def _end_burst(self, asked: _Request) -> None:
        user, now_s = asked.task, self._processor.now_s
        self._processor.wait(user)
        delay_s = max(0.0, now_s - asked.from_s - asked.processor_s)
        self._bursts.append(Burst(now_s, asked.processor_s, delay_s, self._beside.pop(user)))
        self._expect_burst(user, now_s + self._users[user].draw_think_s())
