"""The two interfaces of a co-allocating scheduler: where a job goes, and which job is next.

A `PlacementPolicy` answers the first question for one request. A `QueueDiscipline` answers the second: it keeps the
waiting jobs, receives every event, asks the placement policy about the jobs it tries, and returns the jobs to start.
Both are deterministic, given the random number generator that is passed in, and may state traits (`traits`) as class
attributes. The classes whose objects are made for every job have explicit constructors, which mypyc compiles to plain
assignments. Treat their objects as immutable.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
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
    """A job as a discipline sees it: an identity, a request, and the index of the queue it was submitted to.

    Disciplines with one queue per cluster need `queue`; for the others it may be None.
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
    """The submission of a job."""

    job: WaitingJob

    def __init__(self, job: WaitingJob) -> None:
        self.job = job


@mypyc_attr(acyclic=True, free_list_len=1)
@final
@dataclass(init=False, unsafe_hash=True, slots=True)
class Departure:
    """The departure of a job, which releases the processors of its placement."""

    job_id: int
    placement: Placement

    def __init__(self, job_id: int, placement: Placement) -> None:
        self.job_id = job_id
        self.placement = placement


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """The cancellation of a waiting job by its user."""

    job_id: int


@dataclass(frozen=True, slots=True)
class Scan:
    """The scan that the discipline asked for with `next_scan_s`."""


SchedulingEvent = Arrival | Departure | Withdrawal | Scan


@mypyc_attr(acyclic=True, free_list_len=1)
@final
@dataclass(init=False, unsafe_hash=True, slots=True)
class Start:
    """An answer that starts a job at a placement; `tries` counts its placement tries, including this one."""

    job_id: int
    placement: Placement
    tries: int

    def __init__(self, job_id: int, placement: Placement, tries: int = 1) -> None:
        self.job_id = job_id
        self.placement = placement
        self.tries = tries


@dataclass(frozen=True, slots=True)
class Reject:
    """An answer that gives a waiting job up."""

    job_id: int
    reason: str
    tries: int = 1


class PlacementPolicy(Protocol):
    """The interface of placement policies, which decide where a job goes."""

    @property
    def accepts(self) -> frozenset[RequestKind]:
        """The kinds of request this policy can place."""
        ...

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """Return a placement of the whole request that fits in `state`, or None."""
        ...


class QueueDiscipline(Protocol):
    """The interface of queue disciplines, which decide which job is next."""

    def decide(
        self, event: SchedulingEvent, state: SystemState, policy: PlacementPolicy, rng: Generator
    ) -> Sequence[Start | Reject]:
        """Return the jobs to start or give up after `event`; all starts together fit in `state`, in their order."""
        ...

    def next_scan_s(self) -> float | None:
        """Get the emulated timestamp of the next `Scan`, or None."""
        ...

    def waiting(self) -> Collection[int]:
        """Return the identities of the waiting jobs, in the order in which they would be tried."""
        ...

    def snapshot(self) -> dict[str, Any]:
        """Return the discipline's whole state as plain values for `restore`."""
        ...

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state that `snapshot` describes."""
        ...
