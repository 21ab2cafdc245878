"""Wrappers for a researcher's own policy or discipline: any exception it raises becomes a `PolicyFailed`.

The wrappers also check its answers: a placement fits as a whole and has the components of its request, a scan is later
than the last one, and a snapshot holds plain values. The disciplines of this project therefore never receive an invalid
placement.
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
from emulator.policies.answer_checks import take
from emulator.policies.custom_answers import plain_answers, plain_placement, plain_timestamp_s
from emulator.policies.custom_code import RAISED, failed
from emulator.policies.nodes.checks import check_named_nodes, check_names_none
from emulator.policies.protocols import PlacementPolicy, Reject, Scan, SchedulingEvent, Start, WaitingJob
from emulator.policies.state import SystemState
from emulator.policies.traits import traits_of_placement, traits_of_queue

Answer = TypeVar("Answer")


def _call(name: str, method: str, work: Callable[[], Answer]) -> Answer:
    """Return the result of `work`; the error for an exception names the class, the method and the line."""
    try:
        return work()
    except PolicyFailed:
        raise
    except RAISED as error:
        raise failed(name, method, error) from error


def _plain_snapshot(snapshot: Any) -> dict[str, Any]:
    """Return a snapshot as it is read back from a record; JSON has no infinity, which would come back as None."""
    return dict(json.loads(json.dumps(snapshot, allow_nan=False)))


def _listed(state: SystemState) -> SystemState:
    """Return `state` without an index of the idle processors, which changes after the decision; users may keep it."""
    return state if state.room is None else state.with_idle(state.idle)


class CustomPolicy:
    """The wrapper of the placement policy `policy`; `name` is used in messages.

    It is never asked about fixed requests, which are placed on the clusters that they name. A policy that chooses nodes
    is not asked in a state without nodes either, in which nothing can be placed.

    Raises:
        InvalidInput: if `accepts` holds anything but kinds of request.
    """

    def __init__(self, name: str, policy: Any) -> None:
        self._name = name
        self._policy = policy
        self.traits = traits_of_placement(policy)
        accepts: frozenset[RequestKind] = _call(name, "accepts", lambda: frozenset(policy.accepts))
        if not all(isinstance(kind, RequestKind) for kind in accepts):
            raise InvalidInput(f"{name}: accepts must hold kinds of request (RequestKind), and nothing else.")
        self.accepts = accepts - {RequestKind.FIXED}

    def place(self, request: JobRequest, state: SystemState) -> Placement | None:
        """Return the policy's placement after checking that it fits, or None.

        Raises:
            PolicyFailed: if the policy raises an exception, or its answer is not a placement of this request.
        """
        state = _listed(state)
        if self.traits.chooses_nodes and not any(state.surroundings.nodes):
            return None
        placement = _call(self._name, "place", lambda: plain_placement(self._policy.place(request, state)))
        if placement is not None:
            self._check(request, placement, state)
        return placement

    def _check(self, request: JobRequest, placement: Placement, state: SystemState) -> None:
        try:
            take(list(state.idle), None, request.processors, placement)
        except InvalidInput as error:
            raise PolicyFailed(f"{self._name}: {error}") from error
        sizes = tuple([component.processors for component in placement.components])
        if request.kind is not RequestKind.FLEXIBLE and sizes != request.components:
            raise PolicyFailed(
                f"{self._name}: places components of {list(sizes)} for a job that asked for "
                f"{list(request.components)}: give each of these its cluster, in the order of the request."
            )
        check_named_nodes(self._name, request, placement, state.surroundings.nodes)
        sites = placement.file_sites
        if sites and (len(sites) != len(placement.components) or not 0 <= min(sites) <= max(sites) < len(state.idle)):
            raise PolicyFailed(f"{self._name}: file_sites {list(sites)} must name one cluster for each component.")
        if placement.transfer_s > 0 and not sites:
            raise PolicyFailed(f"{self._name}: a placement with transfer_s needs file_sites, from which to transfer.")


class CustomDiscipline:
    """The wrapper of the queue discipline `discipline`; `name` is used in messages."""

    def __init__(self, name: str, discipline: Any) -> None:
        self._name = name
        self._discipline = discipline
        self.traits = traits_of_queue(discipline)

    def decide(
        self, event: SchedulingEvent, state: SystemState, policy: PlacementPolicy, rng: Generator
    ) -> Sequence[Start | Reject]:
        """Return the discipline's answers to `event`.

        Raises:
            PolicyFailed: if the discipline raises an exception, gives an invalid answer, names nodes, or asks for the
                same scan again.
        """
        state = _listed(state)
        scan_s = self.next_scan_s() if isinstance(event, Scan) else None
        answers = _call(self._name, "decide", lambda: plain_answers(self._discipline.decide(event, state, policy, rng)))
        for answer in answers:
            if isinstance(answer, Start):
                check_names_none(self._name, answer.placement)
        if scan_s is not None:
            self._check_scan_after(scan_s)
        return answers

    def could_start(self, job: WaitingJob, state: SystemState, policy: PlacementPolicy) -> bool:
        """Return whether `job` would start if it were the only job.

        Raises:
            InvalidInput: if the job lacks a queue that the discipline needs.
            PolicyFailed: if the discipline raises any other exception.
        """
        if not self.traits.has_could_start:
            return policy.place(job.request, state) is not None
        try:
            return bool(self._discipline.could_start(job, state, policy))
        except TestbedError:
            raise
        except RAISED as error:
            raise failed(self._name, "could_start", error) from error

    def next_scan_s(self) -> float | None:
        """Get the emulated timestamp of the next scan, or None.

        Raises:
            PolicyFailed: if the discipline raises an exception, or its answer is not a timestamp.
        """
        return _call(self._name, "next_scan_s", lambda: plain_timestamp_s(self._discipline.next_scan_s()))

    def waiting(self) -> Sequence[int]:
        """Return the identities of the waiting jobs.

        Raises:
            PolicyFailed: if the discipline raises an exception, or its answer is not a sequence of integers.
        """
        return _call(self._name, "waiting", lambda: [index(job) for job in self._discipline.waiting()])

    def snapshot(self) -> dict[str, Any]:
        """Return the discipline's whole state as plain values.

        Raises:
            PolicyFailed: if the discipline raises an exception, or the state cannot be written as JSON.
        """
        return _call(self._name, "snapshot", lambda: _plain_snapshot(self._discipline.snapshot()))

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state that `snapshot` describes.

        Raises:
            PolicyFailed: if the discipline raises an exception.
        """
        _call(self._name, "restore", lambda: self._discipline.restore(snapshot))

    def _check_scan_after(self, scan_s: float) -> None:
        next_s = self.next_scan_s()
        if next_s is not None and next_s <= scan_s:
            raise PolicyFailed(
                f"{self._name}: next_scan_s still says {next_s:g} s after the scan of {scan_s:g} s; it must move on."
            )
