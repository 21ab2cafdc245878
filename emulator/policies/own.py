"""A researcher's own policy or discipline as the rest of the house meets it: whatever it raises is a `PolicyFailed`.

What it answers is checked as far as it can be where it stands: a placement fits whole, a scan comes after the last one,
a snapshot is plain. So a discipline of ours never meets a placement that it cannot carry.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from operator import index
from typing import Any, TypeVar

from numpy.random import Generator

from emulator.model.errors import InvalidInput, PolicyFailed, TestbedError
from emulator.model.placement import Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.policies.answers import take
from emulator.policies.own_answers import plain_answers, plain_moment_s, plain_placement
from emulator.policies.own_code import RAISED, failed
from emulator.policies.protocols import PlacementPolicy, Reject, Scan, SchedulingEvent, Start, WaitingJob
from emulator.policies.state import SystemState

Answer = TypeVar("Answer")


def _asked(name: str, method: str, work: Callable[[], Answer]) -> Answer:
    """The answer of `work`; what it raises names the class, the method and the line."""
    try:
        return work()
    except PolicyFailed:
        raise
    except RAISED as error:
        raise failed(name, method, error) from error


class OwnPolicy:
    """The placement policy `policy`, which `name` points to.

    Raises:
        InvalidInput: if what it accepts are no kinds of request.
    """

    def __init__(self, name: str, policy: Any) -> None:
        self._name = name
        self._policy = policy
        self.accepts: frozenset[RequestKind] = _asked(name, "accepts", lambda: frozenset(policy.accepts))
        if not all(isinstance(kind, RequestKind) for kind in self.accepts):
            raise InvalidInput(f"{name}: accepts must hold kinds of request (RequestKind), and nothing else.")

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """What the policy answers, if it fits.

        Raises:
            PolicyFailed: if the policy raises anything, or answers with what is no placement of this request.
        """
        placement = _asked(self._name, "place", lambda: plain_placement(self._policy.place(request, state)))
        if placement is not None:
            self._check(request, placement, state)
        return placement

    def _check(self, request: JobRequest, placement: Placement, state: SystemState) -> None:
        try:
            take(list(state.idle), None, request.processors, placement)
        except InvalidInput as error:
            raise PolicyFailed(f"{self._name}: {error}") from error
        sites = placement.file_sites
        if sites and (len(sites) != len(placement.components) or not 0 <= min(sites) <= max(sites) < len(state.idle)):
            raise PolicyFailed(f"{self._name}: file_sites {list(sites)} must name one cluster for each component.")


class OwnDiscipline:
    """The queue discipline `discipline`, which `name` points to."""

    def __init__(self, name: str, discipline: Any) -> None:
        self._name = name
        self._discipline = discipline
        self.has_local_queues = bool(getattr(discipline, "has_local_queues", False))
        self.has_local_queues_only = bool(getattr(discipline, "has_local_queues_only", False))
        self.needs_running_jobs = bool(getattr(discipline, "needs_running_jobs", False))

    def decide(
        self, event: SchedulingEvent, state: SystemState, policy: PlacementPolicy, rng: Generator
    ) -> Sequence[Start | Reject]:
        """What the discipline answers.

        Raises:
            PolicyFailed: if it raises anything, answers with what is no answer, or wants the same scan again.
        """
        scan_s = self.next_scan_s() if isinstance(event, Scan) else None
        answers = _asked(
            self._name, "decide", lambda: plain_answers(self._discipline.decide(event, state, policy, rng))
        )
        if scan_s is not None:
            self._check_scan_after(scan_s)
        return answers

    def could_start(self, job: WaitingJob, state: SystemState, policy: PlacementPolicy) -> bool:
        """Whether `job` would start if it were alone.

        Raises:
            InvalidInput: if the job lacks a queue that the discipline needs.
            PolicyFailed: if it raises anything else.
        """
        if not hasattr(self._discipline, "could_start"):
            return policy.place(job.request, state) is not None
        try:
            return bool(self._discipline.could_start(job, state, policy))
        except TestbedError:
            raise
        except RAISED as error:
            raise failed(self._name, "could_start", error) from error

    def next_scan_s(self) -> float | None:
        """The moment of the next scan; raises `PolicyFailed` if the discipline raises, or says no moment."""
        return _asked(self._name, "next_scan_s", lambda: plain_moment_s(self._discipline.next_scan_s()))

    def waiting(self) -> Sequence[int]:
        """The jobs that wait; raises `PolicyFailed` if the discipline raises, or names something else."""
        return _asked(self._name, "waiting", lambda: [index(job) for job in self._discipline.waiting()])

    def snapshot(self) -> dict[str, Any]:
        """All that the discipline remembers; raises `PolicyFailed` if it raises, or these are no plain values."""
        return _asked(self._name, "snapshot", lambda: dict(json.loads(json.dumps(self._discipline.snapshot()))))

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Become what `snapshot` describes; raises `PolicyFailed` if the discipline raises."""
        _asked(self._name, "restore", lambda: self._discipline.restore(snapshot))

    def _check_scan_after(self, scan_s: float) -> None:
        next_s = self.next_scan_s()
        if next_s is not None and next_s <= scan_s:
            raise PolicyFailed(
                f"{self._name}: next_scan_s still says {next_s:g} s after the scan of {scan_s:g} s; it must move on."
            )
