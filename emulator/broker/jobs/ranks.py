"""The ranks of an MPI job as its runner starts and follows them: an application's, or those of a user's own program."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from emulator.broker.foreign_json import check_depth, parse_foreign
from emulator.broker.jobs.announcement import StartAnnouncement
from emulator.broker.jobs.outputs import JobOutput
from emulator.broker.jobs.own_program import MPIRUN_SAYS, RANK_VARIABLE, OwnProgram, ProcessReports
from emulator.broker.jobs.reports import Ended, Started
from emulator.broker.jobs.runner import first_line
from emulator.clusters.protocol import Part
from emulator.model.job import JobState

LARGEST_MESSAGE: Final = 1_048_576
"""Characters of a report that is read; a longer line is output."""
SIGNALLED: Final = 128
"""What a shell adds to the number of the signal that ended a program, for its exit code."""


class Ranks(Protocol):
    """The ranks of one job, started once."""

    def command(
        self, parts: Sequence[Part], start: StartAnnouncement, on_started: Callable[[Started], None]
    ) -> list[str]:
        """Return the words of each rank of the `parts`; `on_started` is called when all have begun.

        Ranks that do not hear of the `start` by themselves are told, once it is known.
        """
        ...

    def take(self, line: str) -> None:
        """Take a line that the ranks wrote."""
        ...

    def finished(self) -> Ended | None:
        """Return the end of ranks that all ended with exit code 0; None if something of their reports is missing."""
        ...

    def failure(self) -> str:
        """Return why they failed, as far as they said so themselves."""
        ...

    def failure_with(self, code: int, error: str) -> str:
        """Return why they failed where ``mpirun`` ended with `code` and said `error`."""
        ...


@dataclass(slots=True)
class ApplicationRanks:
    """The ranks of an application, which report as JSON lines; a repeated report does not count.

    `words` returns the words of each rank, given the parts.
    """

    words: Callable[[Sequence[Part]], list[str]]
    output: JobOutput
    _on_started: Callable[[Started], None] | None = None
    _host_finished_s: float | None = None
    _result: dict[str, Any] | None = None
    _failure: str = ""

    def command(
        self, parts: Sequence[Part], start: StartAnnouncement, on_started: Callable[[Started], None]
    ) -> list[str]:
        """Return the command line of the application."""
        self._on_started = on_started
        return self.words(parts)

    def take(self, line: str) -> None:
        """Take a report, or a line of output."""
        match _parse_message(line):
            case {"event": "started", "host_moment_s": float(timestamp), "host_late_s": float(late)} if math.isfinite(
                timestamp + late
            ):
                on_started, self._on_started = self._on_started, None
                if on_started is not None:
                    on_started(Started(timestamp, late))
            case {"event": "finished", "host_moment_s": float(timestamp)} if math.isfinite(timestamp):
                self._host_finished_s = timestamp
            case {"event": "result", "record": dict(record)}:
                self._result = record
            case {"event": "failed", "reason": str(reason)}:
                self._failure = self._failure or reason
            case _:
                self.output.output.write_line(line)

    def finished(self) -> Ended | None:
        """Return the end with the application's result, if there are both."""
        if self._result is None or self._host_finished_s is None:
            return None
        return Ended(JobState.FINISHED, "", 0, self._host_finished_s, self._result)

    def failure(self) -> str:
        """Return the reason that a rank reported."""
        return self._failure

    def failure_with(self, code: int, error: str) -> str:
        """Return the exit code, and what was written first."""
        return f"The ranks ended with exit code {code}: {first_line(error)}"


@dataclass(slots=True)
class OwnRanks:
    """The ranks of a program of the user's own, each in a small script that reports its beginning and its end."""

    program: OwnProgram
    output: JobOutput
    _reports: ProcessReports | None = field(default=None)

    def command(
        self, parts: Sequence[Part], start: StartAnnouncement, on_started: Callable[[Started], None]
    ) -> list[str]:
        """Return the shell with the script of a rank."""
        part_sizes = [part.processors for part in parts]
        host_start_timestamp_s = start.wait()
        self._reports = ProcessReports(self.program, self.output, sum(part_sizes), host_start_timestamp_s, on_started)
        return ["bash", "-c", self.program.script(part_sizes, host_start_timestamp_s, RANK_VARIABLE)]

    def take(self, line: str) -> None:
        """Take a report, or a line of output."""
        if self._reports is not None:
            self._reports.take(line)

    def finished(self) -> Ended | None:
        """Return the end of the last rank."""
        return None if self._reports is None else Ended(JobState.FINISHED, "", 0, self._reports.host_finished_s())

    def failure(self) -> str:
        """Return nothing: a program of one's own says nothing to the testbed."""
        return ""

    def failure_with(self, code: int, error: str) -> str:
        """Return which rank failed first and how, and what was written first."""
        said = first_line(MPIRUN_SAYS.split(error)[0])
        failed = None if self._reports is None else self._reports.first_failure
        if failed is None:
            return f"The program ended with exit code {code}: {said}"
        rank, code = failed
        if code > SIGNALLED:
            return f"Rank {rank} of the program was ended by signal {code - SIGNALLED}: {said}"
        return f"Rank {rank} of the program ended with exit code {code}: {said}"


def _parse_message(line: str) -> object:
    if not line.startswith("{") or len(line) > LARGEST_MESSAGE:
        return None
    try:
        message = parse_foreign(line)
        check_depth(message)
    except ValueError:
        return None
    return message
