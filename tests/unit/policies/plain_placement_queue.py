"""The placement queue read plainly, for tests: every scan asks the policy about every job, from head to tail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.random import Generator

from emulator.policies.placement.fixed import place_where_named
from emulator.policies.protocols import (
    Arrival,
    Departure,
    PlacementPolicy,
    Reject,
    Scan,
    SchedulingEvent,
    Start,
    WaitingJob,
    Withdrawal,
)
from emulator.policies.queues.snapshot_codec import recalled, remembered
from emulator.policies.state import SystemState


class PlainPlacementQueue:
    """A queue of jobs in order of submission, each with its number of placement tries."""

    def __init__(
        self,
        scan_interval_s: float = 4.0,
        tries_threshold: int | None = None,
        adaptive: bool = False,
        scans_at_departures: bool = False,
    ) -> None:
        self._scan_interval_s = scan_interval_s
        self._tries_threshold = tries_threshold
        self._adaptive = adaptive
        self._scans_at_departures = scans_at_departures
        self._jobs: dict[int, WaitingJob] = {}
        self._tries: dict[int, int] = {}
        self._next_scan_s: float | None = None
        self._first_scan_s = 0.0
        self._scans = 0

    def decide(
        self, event: SchedulingEvent, state: SystemState, policy: PlacementPolicy, rng: Generator
    ) -> Sequence[Start | Reject]:
        """Try the job that arrived or, at a scan (optionally also at a departure), every job from head to tail."""
        answers: list[Start | Reject] = []
        match event:
            case Arrival(job):
                self._tries[job.id] = 0
                self._jobs[job.id] = job
                answers = self._try_each([job], state, policy)
            case Scan():
                answers = self._try_each(list(self._jobs.values()), state, policy)
                self._note_scan(state.time_s)
            case Withdrawal(job_id):
                self._forget(job_id)
            case Departure() if self._scans_at_departures:
                answers = self._try_each(list(self._jobs.values()), state, policy)
            case _:
                pass
        self._plan_scan(state.time_s)
        return answers

    def next_scan_s(self) -> float | None:
        """Get the emulated timestamp of the next scan, or None while the queue is empty.

        It is one interval after the last scan, or after the first job joined the empty queue.
        """
        return self._next_scan_s

    def waiting(self) -> Sequence[int]:
        """Return the identities of the waiting jobs, head first."""
        return list(self._jobs)

    def tries(self) -> dict[int, int]:
        """Return the number of placement tries of each waiting job."""
        return dict(self._tries)

    def snapshot(self) -> dict[str, Any]:
        """Return the queue, the tries and the timestamps of scans as plain values."""
        return {
            "jobs": [remembered(job) | {"tries": self._tries[job.id]} for job in self._jobs.values()],
            "next_scan_s": self._next_scan_s,
            "first_scan_s": self._first_scan_s,
            "scans": self._scans,
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state that `snapshot` describes."""
        self._jobs = {job["id"]: recalled(job) for job in snapshot["jobs"]}
        self._tries = {job["id"]: job["tries"] for job in snapshot["jobs"]}
        self._next_scan_s = snapshot["next_scan_s"]
        self._first_scan_s = snapshot["first_scan_s"]
        self._scans = snapshot["scans"]

    def _try_each(self, jobs: list[WaitingJob], state: SystemState, policy: PlacementPolicy) -> list[Start | Reject]:
        answers: list[Start | Reject] = []
        for job in jobs:
            tries = self._tries[job.id] + 1
            self._tries[job.id] = tries
            request = job.request
            placement = place_where_named(request, state, policy) if request.clusters else policy.place(request, state)
            if placement is not None:
                state = state.after(placement)
                answers.append(Start(job.id, placement, tries))
                self._forget(job.id)
            elif self._tries_threshold is not None and tries > self._tries_threshold:
                answers.append(Reject(job.id, f"not placed in {tries} placement tries", tries))
                self._forget(job.id)
        return answers

    def _forget(self, job_id: int) -> None:
        self._jobs.pop(job_id, None)
        self._tries.pop(job_id, None)

    def _note_scan(self, time_s: float) -> None:
        # A late scan, as on a live system, begins a new series. In a simulation the series never drifts.
        if time_s != self._next_scan_s or self._scans == 0:
            self._first_scan_s, self._scans = time_s, 0
        self._scans += 1
        self._next_scan_s = None

    def _plan_scan(self, time_s: float) -> None:
        if not self._jobs:
            self._next_scan_s, self._scans = None, 0
        elif self._next_scan_s is None:
            self._next_scan_s = self._scan_after(time_s)

    def _scan_after(self, time_s: float) -> float:
        if self._adaptive:
            return time_s + self._scan_interval_s * sum(self._tries.values()) / len(self._tries)
        return (
            self._first_scan_s + self._scans * self._scan_interval_s if self._scans else time_s + self._scan_interval_s
        )
