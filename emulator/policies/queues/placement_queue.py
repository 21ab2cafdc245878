"""The placement queue of KOALA: one queue, scanned at an interval; a scan tries every job from head to tail.

"Communication-Aware Job Placement Policies", section 3; the Close-to-Files paper, section 3. A job is tried when it is
submitted; if the try fails, the job joins the tail. All tries are counted, including the first. A job that has been
tried more than `tries_threshold` times is given up; by default no job is, as in all published experiments. The scan
interval is fixed (4 s in the first paper) or adaptive: a fixed time (1 min in the second paper) times the mean number
of tries of the queued jobs. Optionally, every job is also tried at each departure; this does not move the scans.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from numpy.random import Generator

from emulator.policies.protocols import (
    Arrival,
    PlacementPolicy,
    Reject,
    Scan,
    SchedulingEvent,
    Start,
    WaitingJob,
    Withdrawal,
)
from emulator.policies.queues.snapshot_codec import recalled, remembered
from emulator.policies.queues.waiting_groups import QueuedJob, WaitingGroups
from emulator.policies.state import SystemState


class PlacementQueue:
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
        self._queue = WaitingGroups()
        self._next_scan_s: float | None = None
        self._first_scan_s = 0.0
        self._scans = 0

    def decide(
        self, event: SchedulingEvent, state: SystemState, policy: PlacementPolicy, rng: Generator
    ) -> Sequence[Start | Reject]:
        """Try the job that arrived or, at a scan (optionally also at a departure), every job from head to tail."""
        answers: list[Start | Reject] = []
        if isinstance(event, Arrival):
            answers = self._try_arrival(event.job, state, policy)
        elif isinstance(event, Scan):
            answers = self._try_all(state, policy)
            self._note_scan(state.time_s)
        elif isinstance(event, Withdrawal):
            self._queue.remove(event.job_id)
        elif self._scans_at_departures:
            answers = self._try_all(state, policy)
        self._plan_scan(state.time_s)
        return answers

    def next_scan_s(self) -> float | None:
        """Get the emulated timestamp of the next scan, or None while the queue is empty.

        It is one interval after the last scan, or after the first job joined the empty queue.
        """
        return self._next_scan_s

    def pass_over_scans(self, idle: tuple[int, ...], before_s: float) -> None:
        """Count the scans before `before_s`, if no state changes until then and no job can start or be given up.

        A decision at each of these scans would have the same effect. `idle` are the idle processors until then.
        """
        queue = self._queue
        while (
            self._next_scan_s is not None
            and self._next_scan_s < before_s
            and queue.stays_settled(idle)
            and not self._gives_up(1)
        ):
            scan_s = self._next_scan_s
            queue.passes += 1
            self._note_scan(scan_s)
            self._plan_scan(scan_s)

    def waits_for_ever(self, idle: tuple[int, ...]) -> bool:
        """Return whether no waiting job starts or is given up while nothing but the time changes.

        The caller states the `idle` processors until then.
        """
        return self._tries_threshold is None and self._queue.stays_settled(idle)

    def waiting(self) -> Collection[int]:
        """Return the identities of the waiting jobs, head first."""
        return self._queue.jobs.keys()

    def tries(self) -> dict[int, int]:
        """Return the number of placement tries of each waiting job."""
        return {number: self._queue.tries(queued) for number, queued in self._queue.jobs.items()}

    def snapshot(self) -> dict[str, Any]:
        """Return the queue, the tries and the timestamps of scans as plain values."""
        queue = self._queue
        return {
            "jobs": [remembered(queued.job) | {"tries": queue.tries(queued)} for queued in queue.jobs.values()],
            "next_scan_s": self._next_scan_s,
            "first_scan_s": self._first_scan_s,
            "scans": self._scans,
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state that `snapshot` describes."""
        self._queue = WaitingGroups()
        for job in snapshot["jobs"]:
            self._queue.add(recalled(job), job["tries"])
        self._next_scan_s = snapshot["next_scan_s"]
        self._first_scan_s = snapshot["first_scan_s"]
        self._scans = snapshot["scans"]

    def _try_arrival(self, job: WaitingJob, state: SystemState, policy: PlacementPolicy) -> list[Start | Reject]:
        queue = self._queue
        queued = queue.add(job, 1)
        placement = queue.try_one(queued, state, policy)
        if placement is not None:
            queue.remove(job.id)
            return [Start(job.id, placement, 1)]
        if self._tries_threshold is not None and self._tries_threshold < 1:
            return [self._given_up(queued)]
        return []

    def _try_all(self, state: SystemState, policy: PlacementPolicy) -> list[Start | Reject]:
        queue = self._queue
        starts = queue.try_all(state, policy)
        answers: list[Start | Reject] = [
            Start(queued.job.id, placement, queue.tries(queued)) for queued, placement in starts
        ]
        if not self._gives_up(0):
            return answers
        in_order = [(queued.sequence, answer) for (queued, _), answer in zip(starts, answers, strict=True)]
        while self._gives_up(0):
            queued = next(iter(queue.jobs.values()))
            in_order.append((queued.sequence, self._given_up(queued)))
        return [answer for _, answer in sorted(in_order, key=_sequence)]

    def _gives_up(self, more_tries: int) -> bool:
        """Return whether the first job, which has the most tries, is given up after that number of further tries."""
        if self._tries_threshold is None or not self._queue.jobs:
            return False
        first = next(iter(self._queue.jobs.values()))
        return self._queue.tries(first) + more_tries > self._tries_threshold

    def _given_up(self, queued: QueuedJob) -> Reject:
        tries = self._queue.tries(queued)
        self._queue.remove(queued.job.id)
        return Reject(queued.job.id, f"not placed in {tries} placement tries", tries)

    def _note_scan(self, time_s: float) -> None:
        # A late scan, as on a live system, begins a new series. In a simulation the series never drifts.
        if time_s != self._next_scan_s or self._scans == 0:
            self._first_scan_s, self._scans = time_s, 0
        self._scans += 1
        self._next_scan_s = None

    def _plan_scan(self, time_s: float) -> None:
        if not self._queue.jobs:
            self._next_scan_s, self._scans = None, 0
        elif self._next_scan_s is None:
            self._next_scan_s = self._scan_after(time_s)

    def _scan_after(self, time_s: float) -> float:
        if self._adaptive:
            return time_s + self._scan_interval_s * self._queue.tries_of_all / len(self._queue.jobs)
        return (
            self._first_scan_s + self._scans * self._scan_interval_s if self._scans else time_s + self._scan_interval_s
        )


def _sequence(answer: tuple[int, Start | Reject]) -> int:
    return answer[0]
