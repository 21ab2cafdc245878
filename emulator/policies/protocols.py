"""The two questions of a co-allocating scheduler, as interfaces: where does a job go, and which job is next.

A `PlacementPolicy` answers the first for one request. A `QueueDiscipline` answers the second: it keeps the waiting
jobs, is told of every event, asks the placement policy about the jobs it wants to try, and says what to start.
Both are deterministic given the generator they are handed. The values made for every job write their constructors out,
which a compiler turns into plain assignments; nobody changes one once it is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

from numpy.random import Generator

from emulator.model.compilation import mypyc_attr
from emulator.model.placement import Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.state import SystemState


@mypyc_attr(acyclic=True, free_list_len=1)
@final
@dataclass(init=False, unsafe_hash=True, slots=True)
class WaitingJob:
    """A job as a discipline knows it: an identity, a request, and the index of the queue it was submitted to.

    Disciplines with a queue per cluster need `queue`; for the others it may be None.
    """

    id: int
    request: JobRequest
    queue: int | None

    def __init__(self, id: int, request: JobRequest, queue: int | None = None) -> None:
        self.id = id
        self.request = request
        self.queue = queue


@mypyc_attr(acyclic=True, free_list_len=1)
@final
@dataclass(init=False, unsafe_hash=True, slots=True)
class Arrival:
    """A job was submitted."""

    job: WaitingJob

    def __init__(self, job: WaitingJob) -> None:
        self.job = job


@mypyc_attr(acyclic=True, free_list_len=1)
@final
@dataclass(init=False, unsafe_hash=True, slots=True)
class Departure:
    """A job gave back the processors of its placement."""

    job_id: int
    placement: Placement

    def __init__(self, job_id: int, placement: Placement) -> None:
        self.job_id = job_id
        self.placement = placement


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A waiting job was cancelled by its user."""

    job_id: int


@dataclass(frozen=True, slots=True)
class Scan:
    """The moment that the discipline named with `next_scan_s` has come."""


SchedulingEvent = Arrival | Departure | Withdrawal | Scan


@mypyc_attr(acyclic=True, free_list_len=1)
@final
@dataclass(init=False, unsafe_hash=True, slots=True)
class Start:
    """Start this job there; `tries` counts its placement tries, this one included."""

    job_id: int
    placement: Placement
    tries: int

    def __init__(self, job_id: int, placement: Placement, tries: int = 1) -> None:
        self.job_id = job_id
        self.placement = placement
        self.tries = tries


@dataclass(frozen=True, slots=True)
class Reject:
    """Give this job up."""

    job_id: int
    reason: str
    tries: int = 1


class PlacementPolicy(Protocol):
    """Where a job goes."""

    @property
    def accepts(self) -> frozenset[RequestKind]:
        """The kinds of request this policy can place."""
        ...

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """A placement that fits in `state` whole, or None; never a part of one."""
        ...


class QueueDiscipline(Protocol):
    """Which job is next."""

    def decide(
        self, event: SchedulingEvent, state: SystemState, policy: PlacementPolicy, rng: Generator
    ) -> Sequence[Start | Reject]:
        """What to start or give up after `event`; the starts, taken in order, fit together in `state`."""
        ...

    def next_scan_s(self) -> float | None:
        """Emulated moment at which a `Scan` is wanted, or None."""
        ...

    def waiting(self) -> Sequence[int]:
        """Identities of the jobs that wait, in the order they would be tried."""
        ...

    def snapshot(self) -> dict[str, Any]:
        """All that the discipline remembers, as plain values from which `restore` makes it again."""
        ...

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Become what `snapshot` describes."""
        ...
