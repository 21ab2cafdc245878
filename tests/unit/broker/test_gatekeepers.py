"""Heads' gatekeepers: one submission at a time, in order, each for its time; another head's do not wait."""

from __future__ import annotations

import threading

import pytest

from emulator.broker.jobs.execution import LaunchSpec
from emulator.broker.jobs.gatekeepers import Gatekeepers, JobSubmission
from emulator.model.clock import Dilation, EmulatedClock
from emulator.model.errors import ClaimFailed
from emulator.model.job import Component, Placement
from emulator.model.scheduling import StatedClaiming
from emulator.policies.claiming_procedure import ClaimingProcedure

WITHIN_HOST_S = 60.0


class Claims:
    """Claims that last until they are allowed, and the order in which they were made."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.may_end = threading.Semaphore(0)
        self._changed = threading.Condition()

    def claim(self, name: str) -> None:
        with self._changed:
            self.made.append(name)
            self._changed.notify_all()
        assert self.may_end.acquire(timeout=WITHIN_HOST_S)

    def await_made(self, *names: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.made == list(names), WITHIN_HOST_S), self.made


def served(submission: JobSubmission, cluster: str, claims: Claims, name: str) -> threading.Thread:
    thread = threading.Thread(target=submission.serve, args=(cluster, lambda: claims.claim(name)), daemon=True)
    thread.start()
    return thread


def joined(*threads: threading.Thread) -> None:
    for thread in threads:
        thread.join(WITHIN_HOST_S)
        assert not thread.is_alive()


def test_submissions_at_a_head_are_served_one_after_another_in_their_order() -> None:
    heads, clock, claims = Gatekeepers(["delft", "leiden"]), EmulatedClock.starting_now(Dilation(0.0001)), Claims()
    first, second, third = (heads.submission({"delft": 2, "leiden": 1}, 5.0, clock) for _ in range(3))
    threads = [served(first, "delft", claims, "first")]
    claims.await_made("first")
    threads.append(served(second, "delft", claims, "second"))
    with heads._changed:
        assert heads._changed.wait_for(lambda: len(heads._queues["delft"]) == 2, WITHIN_HOST_S)
    threads.append(served(third, "delft", claims, "third"))
    # Another head serves at once, and the second claim is not made while the first is served.
    threads.append(served(second, "leiden", claims, "elsewhere"))
    claims.await_made("first", "elsewhere")
    claims.may_end.release(4)
    joined(*threads)
    assert claims.made == ["first", "elsewhere", "second", "third"]
    # Two components of each job in Delft, 5 s each.
    assert second.served_s - first.served_s >= 10
    assert third.served_s - second.served_s >= 10


def test_a_submission_ends_when_its_components_have_been_served() -> None:
    heads, clock, claims = Gatekeepers(["delft"]), EmulatedClock.starting_now(Dilation(0.001)), Claims()
    submission = heads.submission({"delft": 3}, 7.0, clock)
    before_s = clock.now_s()
    claims.may_end.release()
    submission.serve("delft", lambda: claims.claim("it"))
    assert submission.served_s - before_s >= 21
    assert clock.now_s() >= submission.served_s


def test_an_abandoned_job_does_not_claim_and_lets_the_others_pass() -> None:
    heads, clock, claims = Gatekeepers(["delft"]), EmulatedClock.starting_now(Dilation(1000)), Claims()
    first, second = (heads.submission({"delft": 1}, 60.0, clock) for _ in range(2))
    serving = served(first, "delft", claims, "first")
    claims.await_made("first")
    second.abandon()
    with pytest.raises(ClaimFailed, match="before its submission was served"):
        second.serve("delft", lambda: claims.claim("second"))
    claims.may_end.release()
    # At this dilation its service would last for most of a day.
    first.abandon()
    joined(serving)
    third = heads.submission({"delft": 1}, 0.0, clock)
    claims.may_end.release()
    joined(served(third, "delft", claims, "third"))
    assert claims.made == ["first", "third"]


def test_the_overhead_begins_when_the_last_component_has_been_served() -> None:
    clock = EmulatedClock.starting_now(Dilation(0.0001))
    submission = Gatekeepers(["delft"]).submission({"delft": 1}, 4.0, clock)
    procedure = ClaimingProcedure.begun(StatedClaiming(), 0.0)
    spec = LaunchSpec(
        label="0-1", placement=Placement((Component(0, 8),)), procedure=procedure, runner=None, clock=clock,
        run_time_limit_s=1.0, host_grant_limit_s=1.0, host_start_limit_s=1.0, overhead_s=23.0, submission=submission,
    )  # fmt: skip
    submission.serve("delft", lambda: None)
    assert spec.start_s(procedure) == submission.served_s + 23.0
