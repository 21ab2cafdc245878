"""The execution of a placed job, on a thread of its own: claim, barrier, start, follow, release.

The thread owns no state of the broker: it follows the claiming procedure, reports each event with its timestamp, and
ends with exactly one `Ended` or `GivenBack`, after everything it held has been released. It starts the processes only
after `allow_start`, which the broker calls once its journal says that they may have begun. They start while the job's
files may still be under way, and begin when these have come.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from emulator.broker.jobs.claiming_try import ClaimingTry
from emulator.broker.jobs.gatekeepers import JobSubmission
from emulator.broker.jobs.releases import Releases
from emulator.broker.jobs.reports import (
    AllClaimed,
    ClaimTried,
    ClaimTryFailed,
    ComponentClaimed,
    Ended,
    ExecutionEvent,
    GivenBack,
    Started,
)
from emulator.broker.jobs.runner import Runner
from emulator.broker.jobs.time_limits import TimeLimits
from emulator.clusters.protocol import AllocationEvent, LocalResourceManager
from emulator.model.clock import EmulatedClock
from emulator.model.errors import ClaimFailed, NotGranted, TestbedError
from emulator.model.job import JobState, Placement
from emulator.policies.claiming_procedure import ClaimingProcedure


class Preparation(Protocol):
    """The work beside claiming, from placement to start: bringing a job's files to its clusters."""

    def begin(self) -> None:
        """Begin, and return at once."""
        ...

    def complete(self) -> float | None:
        """Wait until it is done or has been ended; returns when the last file was there, if one was brought.

        That is a timestamp of the host's steady clock: the wall clock may be set before the job starts.

        Raises:
            TestbedError: if it failed; the job then fails for that reason.
        """
        ...

    def end(self) -> None:
        """End it, from any thread, and release what it holds; also called when the job has ended."""
        ...


class NoPreparation:
    """The preparation of a job without files."""

    def begin(self) -> None:
        """Do nothing."""

    def complete(self) -> None:
        """Return None: there is nothing to wait for."""

    def end(self) -> None:
        """Do nothing: there is nothing to release."""


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """All that a job's execution needs.

    `overhead_s` is the middleware's overhead from the successful claiming try to the start; None if it is not paced.
    `ranks` says how many processes run in each cluster, in the order of the placement, if not one on each processor
    that is held, and `memory_mb` what each of them needs. `clocks_ahead_s` says of clusters how far the clock there is
    ahead. With a `submission` the claims pass the heads' gatekeepers, and the overhead begins when the last one has
    served. If not all processes have begun `host_start_limit_s` after
    their planned start, the job fails: MPI waits for ever for a rank that cannot be reached.
    """

    label: str
    placement: Placement
    procedure: ClaimingProcedure
    runner: Runner
    clock: EmulatedClock
    run_time_limit_s: float
    host_grant_limit_s: float
    host_start_limit_s: float
    overhead_s: float | None = None
    preparation: Preparation = field(default_factory=NoPreparation)
    submission: JobSubmission | None = None
    ranks: Mapping[int, int] | None = None
    memory_mb: float = 0.0
    clocks_ahead_s: Mapping[str, float] = field(default_factory=dict)

    def start_s(self, procedure: ClaimingProcedure, host_steady_s: float | None = None) -> float | None:
        """Return when the processes begin if the try of `procedure` succeeds; None means as soon as they can.

        A job whose input file comes later than was estimated begins when it is there, at `host_steady_s` of the host's
        steady clock.
        """
        if self.overhead_s is None and procedure.start_s <= procedure.claim_s:
            return None
        claimed_s = procedure.claim_s if self.submission is None else self.submission.served_s
        start_s = max(procedure.start_s, claimed_s + (self.overhead_s or 0.0))
        return start_s if host_steady_s is None else max(start_s, self.clock.reading_s(host_steady_s))


class _NotClaimed(Exception):
    """The claims at this placement failed, so the job is to be placed again."""


class JobExecution:
    """The execution of one placed job, from claim to release."""

    def __init__(
        self,
        spec: LaunchSpec,
        managers: Sequence[LocalResourceManager],
        releases: Releases,
        report: Callable[[ExecutionEvent], None],
    ) -> None:
        self._spec = spec
        self._managers = managers
        self._releases = releases
        self._report = report
        self._claims: ClaimingTry | None = None
        self._stopping = threading.Event()
        self._may_go_on = threading.Event()
        self._stop_state: JobState | None = None
        self._stop_reason = ""
        self._thread = threading.Thread(target=self._execute, name=f"job-{spec.label}", daemon=True)

    @property
    def label(self) -> str:
        """The job's name in the names of its claims."""
        return self._spec.label

    @property
    def stopped(self) -> Ended | None:
        """The end that was asked for by `stop`; None if none was."""
        return None if self._stop_state is None else Ended(self._stop_state, self._stop_reason)

    def begin(self) -> None:
        """Start the thread."""
        self._thread.start()

    def note_event(self, event: AllocationEvent) -> bool:
        """Pass an allocation's event on to the present try; returns whether it is of one of its claims."""
        return self._claims is not None and self._claims.note_event(event)

    def allow_start(self) -> None:
        """Let the processes begin: it is on disk that they may have begun."""
        self._may_go_on.set()

    def stop(self, state: JobState, reason: str) -> None:
        """End the job early in `state`; returns at once, and its end is reported when everything is released.

        If it was given back meanwhile, `stopped` says how it has ended.
        """
        if self._stop_state is None:
            self._stop_state, self._stop_reason = state, reason
            self._stopping.set()
            self._may_go_on.set()
            threading.Thread(target=self._abandon, args=(reason,), daemon=True).start()

    def _abandon(self, reason: str) -> None:
        if self._spec.submission is not None:
            self._spec.submission.abandon()
        if self._claims is not None:
            self._claims.abandon(reason)
        self._spec.preparation.end()
        self._spec.runner.close()

    def _execute(self) -> None:
        ended: Ended | GivenBack
        try:
            ended = self._run()
        except _NotClaimed as failure:
            ended = GivenBack(str(failure))
        except TestbedError as error:
            ended = Ended(JobState.FAILED, str(error))
        except Exception as error:
            ended = Ended(JobState.FAILED, f"The broker failed while it ran the job ({error!r}).")
        if self._claims is not None:
            self._claims.release()
        self._spec.preparation.end()
        self._report(self._reported(ended))

    def _reported(self, ended: Ended | GivenBack) -> Ended | GivenBack:
        """Return the end as it is reported: a job that was stopped before it finished has ended for that reason."""
        if self.stopped is None or (isinstance(ended, Ended) and ended.state is JobState.FINISHED):
            return ended
        return replace(self.stopped, exit_code=ended.exit_code if isinstance(ended, Ended) else None)

    def _run(self) -> Ended:
        self._spec.preparation.begin()
        claims, procedure = self._claim()
        self._may_go_on.wait()
        self._check_not_stopped()
        limits = TimeLimits(
            self._spec.clock,
            self._spec.run_time_limit_s,
            self._spec.host_start_limit_s,
            partial(self.stop, JobState.FAILED),
        )

        def on_started(started: Started) -> None:
            limits.note_started()
            self._report(started)

        with contextlib.closing(limits):
            return self._spec.runner.run(claims, partial(self._await_start, procedure, limits), on_started)

    def _await_start(self, procedure: ClaimingProcedure, limits: TimeLimits) -> float | None:
        """Wait until the job's files have come; returns the host timestamp of its start, if there is one."""
        start_s = self._spec.start_s(procedure, self._spec.preparation.complete())
        limits.begin(start_s)
        return None if start_s is None else self._spec.clock.host_timestamp_s(start_s)

    def _claim(self) -> tuple[ClaimingTry, ClaimingProcedure]:
        """Try to claim at each time of the procedure until a try succeeds; returns that try."""
        procedure = self._spec.procedure
        while True:
            self._stopping.wait(self._spec.clock.host_remaining_s(procedure.claim_s))
            claims = self._claims = self._claiming_try(procedure)
            self._check_not_stopped()
            self._report(ClaimTried(procedure))
            try:
                self._claim_once(claims)
            except ClaimFailed as failure:
                procedure = self._next_try(failure, claims, procedure)
            else:
                return claims, procedure

    def _claiming_try(self, procedure: ClaimingProcedure) -> ClaimingTry:
        spec = self._spec
        of_try = partial(
            ClaimingTry, spec.label, procedure.number, spec.placement, self._managers, self._releases, ranks=spec.ranks,
            memory_mb=spec.memory_mb, clocks_ahead_s=spec.clocks_ahead_s,
        )  # fmt: skip
        return of_try() if spec.submission is None else of_try(spec.submission.serve)

    def _next_try(self, failure: ClaimFailed, claims: ClaimingTry, procedure: ClaimingProcedure) -> ClaimingProcedure:
        """Return the next try at this placement.

        Raises:
            ClaimFailed: if the failure is final or was the last try's, or the job is stopped.
            _NotClaimed: if it was the last try's, and the job is to be placed again.
        """
        claims.release()
        self._check_not_stopped()
        following = procedure.after_failure(self._spec.clock.now_s()) if isinstance(failure, NotGranted) else None
        self._report(ClaimTryFailed(failure.cluster, str(failure), following))
        if following is None and isinstance(failure, NotGranted) and procedure.stated.place_again:
            raise _NotClaimed(str(failure))
        if following is None:
            raise failure
        return following

    def _claim_once(self, claims: ClaimingTry) -> None:
        claims.claim_all()
        timestamps: list[float] = []

        def claimed(cluster: str, allocation: str, host_timestamp_s: float) -> None:
            timestamps.append(host_timestamp_s)
            self._report(ComponentClaimed(cluster, allocation, host_timestamp_s))

        claims.await_all(self._spec.host_grant_limit_s, claimed)
        self._report(AllClaimed(max(timestamps)))

    def _check_not_stopped(self) -> None:
        if self._stopping.is_set():
            raise ClaimFailed(self._stop_reason)
