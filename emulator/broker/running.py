"""A placed job's life, on a thread of its own: claim, barrier, start, follow, release.

The thread decides nothing and owns no state of the broker: it reports each event with the moment at which it happened,
and ends with exactly one `Ended`, after everything it held has been released.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from emulator.broker.claiming import Claims
from emulator.broker.ranks import leading, start_script
from emulator.clusters.protocol import AllocationEvent, LocalResourceManager, RunningProgram
from emulator.model.errors import TestbedError
from emulator.model.job import JobState, Placement
from emulator.model.settings import BrokerSettings

OUTPUT_LINES = 2_000
EARLY_END_HOST_S = 1.0


@dataclass(frozen=True, slots=True)
class ComponentClaimed:
    """A cluster gave the processors asked of it."""

    cluster: str
    allocation: str
    host_moment_s: float


@dataclass(frozen=True, slots=True)
class AllClaimed:
    """The barrier: every component holds its processors."""

    host_moment_s: float


@dataclass(frozen=True, slots=True)
class Started:
    """The ranks passed the start barrier, `host_late_s` after the moment they were to."""

    host_moment_s: float
    host_late_s: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The job's end; `host_finished_s` is the application's own last moment, if it got so far."""

    state: JobState
    reason: str = ""
    exit_code: int | None = None
    host_finished_s: float | None = None
    result: dict[str, Any] | None = None
    output: str = ""
    error: str = ""


LifeEvent = ComponentClaimed | AllClaimed | Started | Ended


@dataclass(frozen=True, slots=True)
class Errand:
    """All that a job's thread needs to know; `command` is made of the processors per cluster, when they are known."""

    label: str
    placement: Placement
    command: Callable[[Sequence[int]], list[str]]
    host_limit_s: float


@dataclass(slots=True)
class _Progress:
    """What the application has said so far."""

    host_finished_s: float | None = None
    result: dict[str, Any] | None = None
    complaint: str = ""
    output: deque[str] = field(default_factory=lambda: deque(maxlen=OUTPUT_LINES))


class JobLife:
    """One placed job from claim to release."""

    def __init__(
        self,
        errand: Errand,
        managers: Sequence[LocalResourceManager],
        settings: BrokerSettings,
        report: Callable[[LifeEvent], None],
    ) -> None:
        self._errand = errand
        self._settings = settings
        self._report = report
        self._claims = Claims(errand.label, errand.placement, managers)
        self._progress = _Progress()
        self._program: RunningProgram | None = None
        self._stop_state: JobState | None = None
        self._stop_reason = ""
        self._thread = threading.Thread(target=self._live, name=f"job-{errand.label}", daemon=True)

    @property
    def claim_names(self) -> list[str]:
        """The claims by which the watchers know this job."""
        return self._claims.names

    def begin(self) -> None:
        """Start the thread."""
        self._thread.start()

    def note(self, event: AllocationEvent) -> None:
        """Pass an allocation's event on to the claims."""
        self._claims.note(event)

    def stop(self, state: JobState, reason: str) -> None:
        """End the job early in `state`; returns at once, `Ended` follows when everything is released."""
        if self._stop_state is None:
            self._stop_state, self._stop_reason = state, reason
            threading.Thread(target=self._abandon, args=(reason,), daemon=True).start()

    def _abandon(self, reason: str) -> None:
        self._claims.abandon(reason)
        if self._program is not None:
            self._program.close()

    def _live(self) -> None:
        limit = threading.Timer(
            self._errand.host_limit_s, self.stop, (JobState.FAILED, "The run-time limit was reached.")
        )
        limit.daemon = True
        try:
            self._claim()
            limit.start()
            ended = self._run()
        except TestbedError as error:
            ended = Ended(JobState.FAILED, str(error))
        except Exception as error:
            ended = Ended(JobState.FAILED, f"The broker failed while it ran the job ({error!r}).")
        limit.cancel()
        self._claims.release()
        if self._stop_state is not None and ended.state is not JobState.FINISHED:
            ended = Ended(self._stop_state, self._stop_reason, ended.exit_code, None, None, ended.output, ended.error)
        self._report(ended)

    def _claim(self) -> None:
        self._claims.ask()
        moments: list[float] = []

        def claimed(cluster: str, allocation: str, host_moment_s: float) -> None:
            moments.append(host_moment_s)
            self._report(ComponentClaimed(cluster, allocation, host_moment_s))

        self._claims.await_all(claimed)
        self._report(AllClaimed(max(moments)))

    def _run(self) -> Ended:
        parts = self._claims.parts()
        command = self._errand.command([part.processors for part in parts])
        script = start_script(self._errand.label, parts, command, self._settings)
        first = leading(parts)
        manager = self._claims.manager_of(first)
        program = self._program = manager.start(script, parts[first].allocation, self._errand.label)
        for line in program.lines():
            self._hear(line)
        code = program.exit_code()
        progress = self._progress
        output, error = "\n".join(progress.output), program.error_text()
        if code == 0 and progress.result is not None and progress.host_finished_s is not None:
            return Ended(JobState.FINISHED, "", code, progress.host_finished_s, progress.result, output, error)
        reason = self._failure_reason(code, error)
        return Ended(JobState.FAILED, reason, code, output=output, error=error)

    def _hear(self, line: str) -> None:
        message = _message(line)
        match message:
            case {"event": "started", "host_moment_s": moment, "host_late_s": late}:
                self._report(Started(moment, late))
            case {"event": "finished", "host_moment_s": moment}:
                self._progress.host_finished_s = moment
            case {"event": "result", "record": dict(record)}:
                self._progress.result = record
            case {"event": "failed", "reason": str(reason)}:
                self._progress.complaint = self._progress.complaint or reason
            case _:
                self._progress.output.append(line)

    def _failure_reason(self, code: int, error: str) -> str:
        if self._progress.complaint:
            return self._progress.complaint
        ended = self._claims.await_early_end(EARLY_END_HOST_S)
        if ended:
            return f"The allocation in cluster {ended!r} ended while the job ran (exit code {code})."
        lines = [line for line in error.splitlines() if line.strip(" -*")]
        return f"The ranks ended with exit code {code}: {lines[0] if lines else 'no error output'}"


def _message(line: str) -> object:
    if not line.startswith("{"):
        return None
    try:
        return json.loads(line)
    except ValueError:
        return None
