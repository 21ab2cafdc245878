"""MPI jobs: the ranks are started by ``mpirun``, and what they report as JSON lines is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from emulator.broker.foreign_json import check_depth, parse_foreign
from emulator.broker.jobs.claiming_try import ClaimingTry
from emulator.broker.jobs.mpirun_script import leading_part, real_parts_of, start_script
from emulator.broker.jobs.outputs import JobOutput
from emulator.broker.jobs.reports import Ended, Started
from emulator.broker.jobs.runner import EARLY_END_HOST_S, early_end_reason, first_line
from emulator.clusters.passes import passing
from emulator.clusters.protocol import Part, RunningProgram
from emulator.model.job import JobState
from emulator.model.settings import BrokerSettings

LARGEST_MESSAGE = 1_048_576
"""Characters of a report that is read; a longer line is output."""


@dataclass(slots=True)
class _Progress:
    """The reports of the application so far; a repeated report does not count."""

    has_started: bool = False
    host_finished_s: float | None = None
    result: dict[str, Any] | None = None
    failure: str = ""


@dataclass(slots=True)
class MpiRunner:
    """MPI ranks across all parts, started by ``mpirun`` in the `leading_part`.

    `command` returns the words of each rank, given the processors per part and the host timestamp of the start.
    """

    label: str
    command: Callable[[Sequence[int], float | None], list[str]]
    settings: BrokerSettings
    output: JobOutput
    _program: RunningProgram | None = None
    _closed: bool = False
    _progress: _Progress = field(default_factory=_Progress)

    def run(
        self, claims: ClaimingTry, host_start_timestamp_s: float | None, on_started: Callable[[Started], None]
    ) -> Ended:
        """Start the ranks and read their reports until ``mpirun`` ends."""
        parts, managers = claims.parts(), claims.managers()
        with passing(f"job-{self.label}", [managers[index] for index in real_parts_of(parts)]) as key:
            return self._run(claims, parts, host_start_timestamp_s, on_started, key)

    def _run(
        self,
        claims: ClaimingTry,
        parts: Sequence[Part],
        host_start_timestamp_s: float | None,
        on_started: Callable[[Started], None],
        key: str,
    ) -> Ended:
        command = self.command([part.processors for part in parts], host_start_timestamp_s)
        script = start_script(self.label, parts, command, self.settings, key)
        first = leading_part(parts)
        program = self._program = claims.managers()[first].start(script, parts[first].allocation, self.label)
        if self._closed:
            # It was closed before the program was started.
            program.close()
        for line in program.lines():
            self._handle_line(line, on_started)
        code, error, progress = program.exit_code(), program.error_text(), self._progress
        if error:
            self.output.error.write_line(error.rstrip("\n"))
        if code == 0 and progress.result is not None and progress.host_finished_s is not None:
            return Ended(JobState.FINISHED, "", code, progress.host_finished_s, progress.result)
        return Ended(JobState.FAILED, self._failure_reason(claims, code, error), code)

    def close(self) -> None:
        """Stop listening."""
        self._closed = True
        if self._program is not None:
            self._program.close()

    def _handle_line(self, line: str, on_started: Callable[[Started], None]) -> None:
        match _parse_message(line):
            case {"event": "started", "host_moment_s": float(timestamp), "host_late_s": float(late)} if math.isfinite(
                timestamp + late
            ):
                if not self._progress.has_started:
                    self._progress.has_started = True
                    on_started(Started(timestamp, late))
            case {"event": "finished", "host_moment_s": float(timestamp)} if math.isfinite(timestamp):
                self._progress.host_finished_s = timestamp
            case {"event": "result", "record": dict(record)}:
                self._progress.result = record
            case {"event": "failed", "reason": str(reason)}:
                self._progress.failure = self._progress.failure or reason
            case _:
                self.output.output.write_line(line)

    def _failure_reason(self, claims: ClaimingTry, code: int, error: str) -> str:
        if self._progress.failure:
            return self._progress.failure
        ended = claims.await_early_end(EARLY_END_HOST_S)
        if ended:
            return early_end_reason(ended, code)
        return f"The ranks ended with exit code {code}: {first_line(error)}"


def _parse_message(line: str) -> object:
    if not line.startswith("{") or len(line) > LARGEST_MESSAGE:
        return None
    try:
        message = parse_foreign(line)
        check_depth(message)
    except ValueError:
        return None
    return message
