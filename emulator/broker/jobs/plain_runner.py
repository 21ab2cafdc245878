"""Plain jobs: one program without MPI, started once for each processor of each part as a step of its allocation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import count

from emulator.broker.jobs.announcement import AwaitStart
from emulator.broker.jobs.claiming_try import ClaimingTry
from emulator.broker.jobs.outputs import JobOutput
from emulator.broker.jobs.own_program import OwnProgram, ProcessReports
from emulator.broker.jobs.reports import Ended, Started
from emulator.broker.jobs.runner import EARLY_END_HOST_S, early_end_reason, first_line, lost_reason
from emulator.clusters.protocol import CONNECTION_LOST, LocalResourceManager, Part, RunningProgram
from emulator.model.job import JobState


@dataclass(slots=True)
class PlainRunner:
    """A plain program on all processors of all parts, followed by one thread per part."""

    program: OwnProgram
    output: JobOutput
    _programs: list[RunningProgram] = field(default_factory=list)
    _closed: bool = False

    def run(self, claims: ClaimingTry, await_start: AwaitStart, on_started: Callable[[Started], None]) -> Ended:
        """Start the program everywhere, and wait until it has ended everywhere or failed somewhere."""
        parts, managers = claims.parts(), claims.managers()
        sizes, label = [part.processors for part in parts], self.program.label
        host_start_timestamp_s = await_start()
        reports = ProcessReports(self.program, self.output, sum(sizes), host_start_timestamp_s, on_started)

        def run_part(number: int, part: Part, manager: LocalResourceManager) -> tuple[int, str]:
            script = self.program.script(sizes, host_start_timestamp_s, TESTBED_PART=number)
            program = manager.start(script, part.allocation, f"{label}-{number}", part.processors)
            self._programs.append(program)
            if self._closed:
                program.close()
            for line in program.lines():
                reports.take(line)
            code, error = program.exit_code(), program.error_text()
            if code != 0:
                # One part has failed, so the others are stopped.
                self.close()
            return code, error

        with ThreadPoolExecutor(max_workers=len(parts)) as pool:
            running = [pool.submit(run_part, *each) for each in zip(count(), parts, managers, strict=False)]
            if any(future.exception() for future in as_completed(running)):
                self.close()
        ends = [future.result() for future in running]
        for _, error in ends:
            if error:
                self.output.error.write_line(error.rstrip("\n"))
        named = [(manager.cluster, *end) for manager, end in zip(managers, ends, strict=True)]
        return self._end_of_job(claims, reports, named)

    def close(self) -> None:
        """Stop listening to all parts."""
        self._closed = True
        for program in list(self._programs):
            program.close()

    def _end_of_job(self, claims: ClaimingTry, reports: ProcessReports, ends: Sequence[tuple[str, int, str]]) -> Ended:
        failed = [end for end in ends if end[1] != 0]
        if not failed:
            return Ended(JobState.FINISHED, "", 0, reports.host_finished_s())
        # A part that was stopped because another one failed has no exit code of its own.
        cluster, code, error = next((end for end in failed if end[1] > 0), failed[0])
        ended = claims.await_early_end(EARLY_END_HOST_S)
        if ended:
            return Ended(JobState.FAILED, early_end_reason(ended, code), code)
        if code == CONNECTION_LOST:
            return Ended(JobState.FAILED, lost_reason(cluster), code)
        reason = f"The program ended with exit code {code} in cluster {cluster!r}: {first_line(error)}"
        return Ended(JobState.FAILED, reason, code)
