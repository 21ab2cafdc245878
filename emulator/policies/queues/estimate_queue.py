"""The common part of the queues of jobs with estimates: SJF and LJF (`by_estimate`), EASY and conservative backfilling.

Such a queue acts at arrivals, departures and withdrawals, and each of these has waiting jobs tried.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from typing import Any

from numpy.random import Generator

from emulator.model.placement import Placement
from emulator.policies.placement.fixed import place_where_named
from emulator.policies.protocols import (
    Arrival,
    Departure,
    PlacementPolicy,
    Reject,
    SchedulingEvent,
    Start,
    WaitingJob,
    Withdrawal,
)
from emulator.policies.queues.estimated_jobs import estimate_s_of
from emulator.policies.state import SystemState


# Not a subclass of ABC, from which mypyc would take that attributes may be missing.
class EstimateQueue(metaclass=ABCMeta):
    """A queue of jobs with estimates; a discipline says how they are kept, and which of them start."""

    def decide(
        self, event: SchedulingEvent, state: SystemState, policy: PlacementPolicy, rng: Generator
    ) -> Sequence[Start | Reject]:
        """Return the starts that `event` makes possible.

        Raises:
            InvalidInput: if an arriving job has no estimate.
        """
        if isinstance(event, Arrival):
            self._add(event.job)
        elif isinstance(event, Withdrawal):
            self._remove(event.job_id)
        elif not isinstance(event, Departure):
            return []
        return self._try_jobs(state, policy)

    def next_scan_s(self) -> float | None:
        """Return None, because this discipline acts only at arrivals, departures and withdrawals."""
        return None

    @abstractmethod
    def waiting(self) -> Sequence[int]:
        """Return the identities of the waiting jobs, in the order in which they are tried."""

    def could_start(self, job: WaitingJob, state: SystemState, policy: PlacementPolicy) -> bool:
        """Return whether `job` would start in `state` if it were the only job.

        Raises:
            InvalidInput: if the job has no estimate.
        """
        estimate_s_of(job)
        return place(job, state, policy) is not None

    @abstractmethod
    def snapshot(self) -> dict[str, Any]:
        """Return the waiting jobs and their tries as plain values."""

    @abstractmethod
    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state that `snapshot` describes."""

    @abstractmethod
    def _add(self, job: WaitingJob) -> None:
        """Add a job that arrives.

        Raises:
            InvalidInput: if it has no estimate.
        """

    @abstractmethod
    def _remove(self, job_id: int) -> None:
        """Remove a job, if it waits."""

    @abstractmethod
    def _try_jobs(self, state: SystemState, policy: PlacementPolicy) -> Sequence[Start]:
        """Return the starts of waiting jobs, which wait no longer."""


def place(job: WaitingJob, state: SystemState, policy: PlacementPolicy) -> Placement | None:
    """Return the policy's placement of `job` in `state`, or None; a fixed request goes to the clusters it names."""
    request = job.request
    return place_where_named(request, state, policy) if request.clusters else policy.place(request, state)
