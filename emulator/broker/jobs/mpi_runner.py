"""MPI jobs: the ranks are started by ``mpirun`` across all parts, and what they report is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from emulator.broker.jobs.announcement import AwaitStart, StartAnnouncement
from emulator.broker.jobs.claiming_try import ClaimingTry
from emulator.broker.jobs.mpirun_script import leading_part, real_parts_of, start_script
from emulator.broker.jobs.outputs import JobOutput
from emulator.broker.jobs.ranks import Ranks
from emulator.broker.jobs.reports import Ended, Started
from emulator.broker.jobs.runner import EARLY_END_HOST_S, early_end_reason, lost_reason
from emulator.clusters.passes import passing
from emulator.clusters.protocol import CONNECTION_LOST, Part, RunningProgram
from emulator.model.job import JobState
from emulator.model.settings import BrokerSettings


@dataclass(slots=True)
class MpiRunner:
    """The `ranks` of a job across all parts, started by ``mpirun`` in the `leading_part`."""

    label: str
    ranks: Ranks
    settings: BrokerSettings
    output: JobOutput
    _program: RunningProgram | None = None
    _closed: bool = False

    def run(self, claims: ClaimingTry, await_start: AwaitStart, on_started: Callable[[Started], None]) -> Ended:
        """Start the ranks, announce the start to them, and read their reports until ``mpirun`` ends."""
        parts, managers = claims.parts(), claims.managers()
        start = StartAnnouncement(await_start)
        start.begin()
        command = self.ranks.command(parts, start, on_started)
        with passing(f"job-{self.label}", [managers[index] for index in real_parts_of(parts)]) as key:
            script = start_script(self.label, parts, command, self.settings, key)
            return self._run(claims, parts, script, start)

    def _run(self, claims: ClaimingTry, parts: Sequence[Part], script: str, start: StartAnnouncement) -> Ended:
        first = leading_part(parts)
        program = self._program = claims.managers()[first].start(script, parts[first].allocation, self.label)
        start.add(program)
        if self._closed:
            # It was closed before the program was started.
            program.close()
        for line in program.lines():
            self.ranks.take(line)
        code, error = program.exit_code(), program.error_text()
        start.check()
        if error:
            self.output.error.write_line(error.rstrip("\n"))
        finished = self.ranks.finished() if code == 0 else None
        if finished is not None:
            return finished
        leading = claims.managers()[first].cluster
        return Ended(JobState.FAILED, self._failure_reason(claims, leading, code, error), code)

    def close(self) -> None:
        """Stop listening."""
        self._closed = True
        if self._program is not None:
            self._program.close()

    def _failure_reason(self, claims: ClaimingTry, cluster: str, code: int, error: str) -> str:
        said = self.ranks.failure()
        if said:
            return said
        ended = claims.await_early_end(EARLY_END_HOST_S)
        if ended:
            return early_end_reason(ended, code)
        if code == CONNECTION_LOST:
            return lost_reason(cluster)
        return self.ranks.failure_with(code, error)
