"""The placement queue of KOALA: one queue, scanned from head to tail at a fixed interval, trying every job.

"Communication-Aware Job Placement Policies", section 3; the Close-to-Files paper, section 3. A job is tried when it is
submitted; if that fails it joins the tail. Tries are counted, the first included, and a job that has been tried more
than `tries_threshold` times is given up (never, by default, as in all published experiments).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.random import Generator

from emulator.model.job import Placement
from emulator.model.request import JobRequest, RequestKind
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
from emulator.policies.state import SystemState


class PlacementQueue:
    """Jobs in order of submission, each with its number of placement tries."""

    def __init__(self, scan_interval_s: float = 4.0, tries_threshold: int | None = None) -> None:
        self._scan_interval_s = scan_interval_s
        self._tries_threshold = tries_threshold
        self._jobs: list[WaitingJob] = []
        self._tries: dict[int, int] = {}
        self._next_scan_s: float | None = None

    def decide(
        self, event: SchedulingEvent, state: SystemState, policy: PlacementPolicy, rng: Generator
    ) -> Sequence[Start | Reject]:
        """Try the arrived job, or at a scan every job from head to tail."""
        match event:
            case Arrival(job):
                self._tries[job.id] = 0
                self._jobs.append(job)
                answers = self._try_each([job], state, policy)
            case Scan():
                answers = self._try_each(list(self._jobs), state, policy)
                self._next_scan_s = None
            case Withdrawal(job_id):
                self._forget(job_id)
                answers = []
            case Departure():
                answers = []
        self._plan_scan(state.time_s)
        return answers

    def next_scan_s(self) -> float | None:
        """One interval after the last scan, or after the queue came to hold a job; None while it is empty."""
        return self._next_scan_s

    def waiting(self) -> Sequence[int]:
        """Identities of the waiting jobs, head first."""
        return [job.id for job in self._jobs]

    def snapshot(self) -> dict[str, Any]:
        """The queue, the tries, and the moment of the next scan."""
        return {
            "jobs": [
                {
                    "id": job.id,
                    "kind": job.request.kind.value,
                    "components": list(job.request.components),
                    "clusters": list(job.request.clusters),
                    "tries": self._tries[job.id],
                }
                for job in self._jobs
            ],
            "next_scan_s": self._next_scan_s,
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Become the queue that `snapshot` describes."""
        self._jobs = [
            WaitingJob(
                job["id"],
                JobRequest(RequestKind(job["kind"]), tuple(job["components"]), tuple(job["clusters"])),
            )
            for job in snapshot["jobs"]
        ]
        self._tries = {job["id"]: job["tries"] for job in snapshot["jobs"]}
        self._next_scan_s = snapshot["next_scan_s"]

    def _try_each(self, jobs: list[WaitingJob], state: SystemState, policy: PlacementPolicy) -> list[Start | Reject]:
        answers: list[Start | Reject] = []
        for job in jobs:
            self._tries[job.id] += 1
            tries = self._tries[job.id]
            placement: Placement | None = policy.place(job.request, state)
            if placement is not None:
                state = state.after(placement)
                answers.append(Start(job.id, placement, tries))
                self._forget(job.id)
            elif self._tries_threshold is not None and tries > self._tries_threshold:
                answers.append(Reject(job.id, f"not placed in {tries} placement tries", tries))
                self._forget(job.id)
        return answers

    def _forget(self, job_id: int) -> None:
        self._jobs = [job for job in self._jobs if job.id != job_id]
        self._tries.pop(job_id, None)

    def _plan_scan(self, time_s: float) -> None:
        if not self._jobs:
            self._next_scan_s = None
        elif self._next_scan_s is None:
            self._next_scan_s = time_s + self._scan_interval_s
