"""The queue discipline of non-dedicated clusters: an order of the waiting jobs, and a selection among them."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from numpy.random import Generator

from emulator.policies.nodes.changes import Nodes, joined
from emulator.policies.nodes.forward import job_rates
from emulator.policies.nodes.job_selection import JobSelection
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
from emulator.policies.queues.estimated_jobs import estimate_s_of
from emulator.policies.queues.snapshot_codec import recalled, remembered
from emulator.policies.state import SystemState

Rank = Callable[[WaitingJob], float]

ORDERS: Final[dict[str, Rank | None]] = {
    "fcfs": None,
    "sjf": estimate_s_of,
    "ljf": lambda job: -estimate_s_of(job),
}
"""The orders by name, each with the number by which it ranks jobs; equal ranks keep their order of arrival."""


class NodeQueue:
    """One queue in an order of `ORDERS`; `selection` says which of its jobs start.

    The state does not say how much work the running jobs have left. So the queue follows it, by the mean-field rates of
    the nodes that the jobs share.
    """

    needs_running_jobs: ClassVar[bool] = True

    def __init__(self, order: str, selection: JobSelection) -> None:
        self._rank = ORDERS[order]
        self._selection = selection
        self._jobs: list[WaitingJob] = []
        self._tries: dict[int, int] = {}
        self._left_s: dict[int, float] = {}
        self._rates: dict[int, float] = {}
        self._since_s = 0.0

    @property
    def left_s(self) -> dict[int, float]:
        """The work left of the running jobs at the last event, by the users' estimates: seconds alone."""
        return dict(self._left_s)

    def decide(
        self, event: SchedulingEvent, state: SystemState, policy: PlacementPolicy, rng: Generator
    ) -> Sequence[Start | Reject]:
        """Return the starts that `event` makes possible.

        Raises:
            InvalidInput: if an arriving job has no estimate and the order or the selection needs one.
        """
        self._follow(state.time_s)
        if isinstance(event, Arrival):
            self._add(event.job)
        elif isinstance(event, Withdrawal):
            self._jobs = [job for job in self._jobs if job.id != event.job_id]
            self._tries.pop(event.job_id, None)
        elif isinstance(event, Departure):
            self._left_s.pop(event.job_id, None)
        elif isinstance(event, Scan):
            return []
        starts: list[Start] = []
        while self._jobs:
            selected = self._selection.next_start(self._jobs, state, self._left_s, policy, self._note_try)
            if selected is None:
                break
            job, placement = selected.job, selected.placement
            self._jobs.remove(job)
            starts.append(Start(job.id, placement, self._tries.pop(job.id)))
            self._left_s[job.id] = job.request.estimate_s or 0.0
            state = joined(state, job.id, job.request, placement)
        if state.surroundings.nodes:
            self._note_rates(state.surroundings.nodes)
        return starts

    def could_start(self, job: WaitingJob, idle: SystemState, policy: PlacementPolicy) -> bool:
        """Return whether `job` would start on idle nodes.

        Raises:
            InvalidInput: if it has no estimate and the order or the selection needs one.
        """
        if self._selection.needs_estimates or self._rank is not None:
            estimate_s_of(job)
        return policy.place(job.request, idle) is not None

    def next_scan_s(self) -> float | None:
        """Return None, because this discipline acts only at arrivals, departures and withdrawals."""
        return None

    def waiting(self) -> Sequence[int]:
        """Return the identities of the waiting jobs, in order."""
        return [job.id for job in self._jobs]

    def snapshot(self) -> dict[str, Any]:
        """Return the waiting jobs and what is known of the running ones as plain values."""
        return {
            "jobs": [remembered(job) | {"tries": self._tries[job.id]} for job in self._jobs],
            "since_s": self._since_s,
            "left_s": [[job, left_s] for job, left_s in self._left_s.items()],
            "rates": [[job, rate] for job, rate in self._rates.items()],
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state that `snapshot` describes."""
        self._jobs = [recalled(job) for job in snapshot["jobs"]]
        self._tries = {job["id"]: job["tries"] for job in snapshot["jobs"]}
        self._since_s = snapshot["since_s"]
        self._left_s = dict(snapshot["left_s"])
        self._rates = dict(snapshot["rates"])

    def _follow(self, time_s: float) -> None:
        """Credit the running jobs with their work since the last event."""
        passed_s = time_s - self._since_s
        self._since_s = time_s
        for job, left_s in self._left_s.items():
            self._left_s[job] = max(0.0, left_s - passed_s * self._rates.get(job, 0.0))

    def _note_rates(self, nodes: Nodes) -> None:
        """Note the rates of the running jobs; one in a cluster that does not answer keeps the rate that it had."""
        known = job_rates(nodes)
        if not all(nodes):
            known |= {job: self._rates.get(job, 1.0) for job in self._left_s if job not in known}
        self._rates = known

    def _add(self, job: WaitingJob) -> None:
        if self._selection.needs_estimates:
            estimate_s_of(job)
        if self._rank is None:
            self._jobs.append(job)
        else:
            insort(self._jobs, job, key=self._rank)
        self._tries[job.id] = 0

    def _note_try(self, job: int) -> None:
        self._tries[job] += 1
