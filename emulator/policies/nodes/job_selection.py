"""The selection of the next waiting job: *Just First*, *Best Fit* and *Backfill* of the 3DBackfilling paper.

A selection names one job to start, and is asked again until it names none. The waiting jobs come in the discipline's
order. *Just First* tries only the first of them. *Best Fit* starts the job that wastes least of all that can be placed.
This is the one with most tasks, because it leaves the fewest nodes without a task. *Backfill* is EASY: if the first job
cannot be placed, it has a reservation at its expected start. A later job starts if the first one is still expected to
start by then.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from emulator.model.placement import Placement
from emulator.policies.nodes.changes import joined
from emulator.policies.nodes.forward import expected_start_s
from emulator.policies.protocols import PlacementPolicy, WaitingJob
from emulator.policies.queues.estimated_jobs import estimate_s_of
from emulator.policies.state import SystemState

ROUNDING_S: Final = 1e-6
"""A reservation that is later by less than this is not later."""

NoteTry = Callable[[int], None]
"""Called with the identity of every job that is tried."""


@dataclass(frozen=True, slots=True)
class Selected:
    """A job to start, and where."""

    job: WaitingJob
    placement: Placement


class JobSelection(Protocol):
    """The interface of job selections; `needs_estimates` says whether every job must come with an estimate."""

    @property
    def needs_estimates(self) -> bool: ...

    def next_start(
        self,
        jobs: Sequence[WaitingJob],
        state: SystemState,
        left_s: Mapping[int, float],
        policy: PlacementPolicy,
        note_try: NoteTry,
    ) -> Selected | None:
        """Return the job to start now, of `jobs` in order; `left_s` is the work left of each running job."""
        ...


class FirstPlaced(ABC):
    """The first job that can be placed, of those that a selection tries and in its order."""

    needs_estimates = False

    def next_start(
        self,
        jobs: Sequence[WaitingJob],
        state: SystemState,
        left_s: Mapping[int, float],
        policy: PlacementPolicy,
        note_try: NoteTry,
    ) -> Selected | None:
        """Return the first job that can be placed."""
        for job in self._in_order(jobs):
            selected = _tried(job, state, policy, note_try)
            if selected is not None:
                return selected
        return None

    @abstractmethod
    def _in_order(self, jobs: Sequence[WaitingJob]) -> Iterable[WaitingJob]:
        """Return the jobs to try, in order."""


class JustFirst(FirstPlaced):
    """A selection in which only the first job is tried."""

    def _in_order(self, jobs: Sequence[WaitingJob]) -> Iterable[WaitingJob]:
        return jobs[:1]


class BestFit(FirstPlaced):
    """The job with most tasks of all that can be placed; of equal ones the first."""

    def _in_order(self, jobs: Sequence[WaitingJob]) -> Iterable[WaitingJob]:
        return sorted(jobs, key=lambda job: -job.request.processors)


class Backfill:
    """The first job, or a later one that does not delay its expected start."""

    needs_estimates = True

    def next_start(
        self,
        jobs: Sequence[WaitingJob],
        state: SystemState,
        left_s: Mapping[int, float],
        policy: PlacementPolicy,
        note_try: NoteTry,
    ) -> Selected | None:
        """Return the first job if it can be placed, else the first later one that does not delay it."""
        first = jobs[0]
        selected = _tried(first, state, policy, note_try)
        if selected is not None:
            return selected
        reserved_s: float | None = None
        for job in jobs[1:]:
            selected = _tried(job, state, policy, note_try)
            if selected is None:
                continue
            if reserved_s is None:
                reserved_s = expected_start_s(first.request, state, left_s, policy)
            beside = joined(state, job.id, job.request, selected.placement)
            later_s = expected_start_s(first.request, beside, {**left_s, job.id: estimate_s_of(job)}, policy)
            if later_s <= reserved_s + ROUNDING_S:
                return selected
        return None


def _tried(job: WaitingJob, state: SystemState, policy: PlacementPolicy, note_try: NoteTry) -> Selected | None:
    note_try(job.id)
    placement = policy.place(job.request, state)
    return None if placement is None else Selected(job, placement)
