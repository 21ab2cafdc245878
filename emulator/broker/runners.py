"""How a job's processes are started in what it has claimed, heard, and waited for: MPI ranks, or a plain program.

A runner speaks to the local resource managers and to nobody else; it reports the start, and its answer is the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from emulator.broker.claiming import Claims
from emulator.broker.life_events import Ended, Started
from emulator.broker.outputs import JobOutput
from emulator.broker.ranks import leading, start_script
from emulator.clusters.protocol import RunningProgram
from emulator.model.job import JobState
from emulator.model.settings import BrokerSettings

EARLY_END_HOST_S = 1.0


class Runner(Protocol):
    """Runs one job, once."""

    def run(self, claims: Claims, host_start_moment_s: float | None, on_started: Callable[[Started], None]) -> Ended:
        """Start the processes so that they begin together, at that moment if there is one, and follow them to the end.

        Raises:
            ClusterUnreachable: if a head does not answer.
        """
        ...

    def close(self) -> None:
        """Stop listening, from another thread; the release of the allocations ends the processes."""
        ...


@dataclass(slots=True)
class _Progress:
    """What the application has said so far."""

    host_finished_s: float | None = None
    result: dict[str, Any] | None = None
    complaint: str = ""


@dataclass(slots=True)
class MpiRunner:
    """MPI ranks across all parts, started by ``mpirun`` in the `leading` one.

    `command` makes the words of each rank of the processors per part and the moment of the start.
    """

    label: str
    command: Callable[[Sequence[int], float | None], list[str]]
    settings: BrokerSettings
    kept: JobOutput
    _program: RunningProgram | None = None
    _closed: bool = False
    _progress: _Progress = field(default_factory=_Progress)

    def run(self, claims: Claims, host_start_moment_s: float | None, on_started: Callable[[Started], None]) -> Ended:
        """Start the ranks and follow what they say, until ``mpirun`` ends."""
        parts = claims.parts()
        command = self.command([part.processors for part in parts], host_start_moment_s)
        script = start_script(self.label, parts, command, self.settings)
        first = leading(parts)
        program = self._program = claims.managers()[first].start(script, parts[first].allocation, self.label)
        if self._closed:
            # Told so before there was anything to let go of.
            program.close()
        for line in program.lines():
            self._hear(line, on_started)
        code, error, progress = program.exit_code(), program.error_text(), self._progress
        if error:
            self.kept.error.write_line(error.rstrip("\n"))
        if code == 0 and progress.result is not None and progress.host_finished_s is not None:
            return Ended(JobState.FINISHED, "", code, progress.host_finished_s, progress.result)
        return Ended(JobState.FAILED, self._failure_reason(claims, code, error), code)

    def close(self) -> None:
        """Stop listening."""
        self._closed = True
        if self._program is not None:
            self._program.close()

    def _hear(self, line: str, on_started: Callable[[Started], None]) -> None:
        match _message(line):
            case {"event": "started", "host_moment_s": moment, "host_late_s": late}:
                on_started(Started(moment, late))
            case {"event": "finished", "host_moment_s": moment}:
                self._progress.host_finished_s = moment
            case {"event": "result", "record": dict(record)}:
                self._progress.result = record
            case {"event": "failed", "reason": str(reason)}:
                self._progress.complaint = self._progress.complaint or reason
            case _:
                self.kept.output.write_line(line)

    def _failure_reason(self, claims: Claims, code: int, error: str) -> str:
        if self._progress.complaint:
            return self._progress.complaint
        ended = claims.await_early_end(EARLY_END_HOST_S)
        if ended:
            return early_end_reason(ended, code)
        return f"The ranks ended with exit code {code}: {first_line(error)}"


def early_end_reason(cluster: str, code: int) -> str:
    """Why a job failed whose allocation was ended by somebody else."""
    return f"The allocation in cluster {cluster!r} ended while the job ran (exit code {code})."


def first_line(error: str) -> str:
    """The first line of an error output that says something."""
    return next((line for line in error.splitlines() if line.strip(" -*")), "no error output")


def _message(line: str) -> object:
    if not line.startswith("{"):
        return None
    try:
        return json.loads(line)
    except ValueError:
        return None
