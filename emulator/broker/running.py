"""A placed job's life, on a thread of its own: claim, barrier, start, follow, release.

The thread owns no state of the broker: it does what the claiming procedure says, reports each event with the moment at
which it happened, and ends with exactly one `Ended`, after everything it held has been released.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from emulator.broker.claiming import Claims
from emulator.broker.life_events import AllClaimed, ClaimTried, ClaimTryFailed, ComponentClaimed, Ended, LifeEvent
from emulator.broker.runners import Runner
from emulator.clusters.protocol import AllocationEvent, LocalResourceManager
from emulator.model.clock import EmulatedClock
from emulator.model.errors import ClaimFailed, NotGranted, TestbedError
from emulator.model.job import JobState, Placement
from emulator.policies.claiming import ClaimingProcedure


class Preparation(Protocol):
    """What goes on from placement to start beside claiming: a job's files on their way to where it will run."""

    def begin(self) -> None:
        """Set it going, and return."""
        ...

    def complete(self) -> None:
        """Wait until it is done, or was ended.

        Raises:
            TestbedError: if it failed; the job then fails for that reason.
        """
        ...

    def end(self) -> None:
        """Give it up, from any thread, and let go of what it held; also called when the job has ended."""
        ...


class NothingToPrepare:
    """The preparation of a job without files."""

    def begin(self) -> None:
        """Nothing."""

    def complete(self) -> None:
        """Nothing to wait for."""

    def end(self) -> None:
        """Nothing to give up."""


@dataclass(frozen=True, slots=True)
class Errand:
    """All that a job's thread needs to know.

    `overhead_s` is what the middleware takes from the successful claiming try to the start; None: as long as it takes.
    """

    label: str
    placement: Placement
    procedure: ClaimingProcedure
    runner: Runner
    clock: EmulatedClock
    run_time_limit_s: float
    host_grant_limit_s: float
    overhead_s: float | None = None
    preparation: Preparation = field(default_factory=NothingToPrepare)

    def start_s(self, procedure: ClaimingProcedure) -> float | None:
        """When the processes are to begin if the try `procedure` succeeds; None: as soon as they can."""
        if self.overhead_s is None and procedure.start_s <= procedure.claim_s:
            return None
        return max(procedure.start_s, procedure.claim_s + (self.overhead_s or 0.0))


class JobLife:
    """One placed job from claim to release."""

    def __init__(
        self, errand: Errand, managers: Sequence[LocalResourceManager], report: Callable[[LifeEvent], None]
    ) -> None:
        self._errand = errand
        self._managers = managers
        self._report = report
        self._claims: Claims | None = None
        self._stopping = threading.Event()
        self._stop_state: JobState | None = None
        self._stop_reason = ""
        self._thread = threading.Thread(target=self._live, name=f"job-{errand.label}", daemon=True)

    @property
    def label(self) -> str:
        """What the job is called in the names of its claims."""
        return self._errand.label

    def begin(self) -> None:
        """Start the thread."""
        self._thread.start()

    def note(self, event: AllocationEvent) -> bool:
        """Pass an allocation's event on to the claims of the present try; whether it is of one of them."""
        return self._claims is not None and self._claims.note(event)

    def stop(self, state: JobState, reason: str) -> None:
        """End the job early in `state`; returns at once, `Ended` follows when everything is released."""
        if self._stop_state is None:
            self._stop_state, self._stop_reason = state, reason
            self._stopping.set()
            threading.Thread(target=self._abandon, args=(reason,), daemon=True).start()

    def _abandon(self, reason: str) -> None:
        if self._claims is not None:
            self._claims.abandon(reason)
        self._errand.preparation.end()
        self._errand.runner.close()

    def _live(self) -> None:
        try:
            ended = self._run()
        except TestbedError as error:
            ended = Ended(JobState.FAILED, str(error))
        except Exception as error:
            ended = Ended(JobState.FAILED, f"The broker failed while it ran the job ({error!r}).")
        if self._claims is not None:
            self._claims.release()
        self._errand.preparation.end()
        if self._stop_state is not None and ended.state is not JobState.FINISHED:
            ended = Ended(self._stop_state, self._stop_reason, ended.exit_code)
        self._report(ended)

    def _run(self) -> Ended:
        errand = self._errand
        errand.preparation.begin()
        claims, procedure = self._claim()
        errand.preparation.complete()
        self._check_wanted()
        start_s = errand.start_s(procedure)
        limit = self._limit(start_s)
        limit.start()
        try:
            return errand.runner.run(
                claims, errand.clock.host_moment_s(start_s) if start_s is not None else None, self._report
            )
        finally:
            limit.cancel()

    def _limit(self, start_s: float | None) -> threading.Timer:
        """What ends the job when it has run for too long; waiting for the planned start does not count."""
        clock = self._errand.clock
        end_s = max(start_s or 0.0, clock.now_s()) + self._errand.run_time_limit_s
        host_wait_s = min(clock.host_remaining_s(end_s), threading.TIMEOUT_MAX)
        limit = threading.Timer(host_wait_s, self.stop, (JobState.FAILED, "The run-time limit was reached."))
        limit.daemon = True
        return limit

    def _claim(self) -> tuple[Claims, ClaimingProcedure]:
        """Try to claim whenever the procedure says, until one try succeeds; returns that one."""
        procedure = self._errand.procedure
        while True:
            self._stopping.wait(self._errand.clock.host_remaining_s(procedure.claim_s))
            claims = self._claims = Claims(self._errand.label, procedure.number, self._errand.placement, self._managers)
            self._check_wanted()
            self._report(ClaimTried(procedure))
            try:
                self._try(claims)
            except ClaimFailed as failure:
                procedure = self._after(failure, claims, procedure)
            else:
                return claims, procedure

    def _after(self, failure: ClaimFailed, claims: Claims, procedure: ClaimingProcedure) -> ClaimingProcedure:
        """The next try; raises `failure` if there is none: it is final, the last, or the job is not wanted."""
        claims.release()
        self._check_wanted()
        following = procedure.after_failure(self._errand.clock.now_s()) if isinstance(failure, NotGranted) else None
        self._report(ClaimTryFailed(failure.cluster, str(failure), following))
        if following is None:
            raise failure
        return following

    def _try(self, claims: Claims) -> None:
        claims.ask()
        moments: list[float] = []

        def claimed(cluster: str, allocation: str, host_moment_s: float) -> None:
            moments.append(host_moment_s)
            self._report(ComponentClaimed(cluster, allocation, host_moment_s))

        claims.await_all(self._errand.host_grant_limit_s, claimed)
        self._report(AllClaimed(max(moments)))

    def _check_wanted(self) -> None:
        if self._stopping.is_set():
            raise ClaimFailed(self._stop_reason)
