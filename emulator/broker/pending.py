"""The events of a run that wait for readings of the clusters before its discipline is asked about them.

An arrival may be decided on at readings that were under way when it came; a departure needs readings that began after
it. Events are decided on in the order in which they came, together as far as their rounds are complete.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from emulator.policies.protocols import Arrival, SchedulingEvent


class Pending:
    """Events with the round of readings that each waits for; `due` is the round of a scan or poll that is due."""

    def __init__(self) -> None:
        self._events: deque[tuple[int, SchedulingEvent]] = deque()
        self.due: int | None = None

    def add(self, events: Iterable[SchedulingEvent], number: int) -> None:
        """Have `events` wait for round `number`."""
        self._events.extend((number, event) for event in events)

    def take(self, is_complete: Callable[[int], bool]) -> list[SchedulingEvent]:
        """Remove and return the events up to the first one whose round is not complete."""
        taken = []
        while self._events and is_complete(self._events[0][0]):
            taken.append(self._events.popleft()[1])
        return taken

    def forget(self) -> None:
        """Remove all events, and what is due."""
        self._events.clear()
        self.due = None

    def is_arriving(self, job_id: int) -> bool:
        """Return whether the arrival of a job waits here, so that its discipline does not know the job yet."""
        return any(isinstance(event, Arrival) and event.job.id == job_id for _, event in self._events)

    @property
    def rounds(self) -> list[int]:
        """The rounds whose completion lets something be decided."""
        first = [self._events[0][0]] if self._events else []
        return first if self.due is None else [*first, self.due]
