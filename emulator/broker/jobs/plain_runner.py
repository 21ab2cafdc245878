"""Plain jobs: one program without MPI, started once for each processor of each part as a step of its allocation.

Every process waits for the job's start (never longer than it was ahead, if the wall clock is set back), reports that
it begins, and reports that it has ended. These reports carry a mark that is new for each job, so that nothing a program
writes is mistaken for one. A program that looks for the mark in its own script can only make false reports of itself;
what is no report is output. The job has started when all processes have started, and has finished when all have ended.
"""

from __future__ import annotations

import re
import secrets
import shlex
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from emulator.broker.jobs.claiming_try import ClaimingTry
from emulator.broker.jobs.outputs import JobOutput
from emulator.broker.jobs.reports import Ended, Started
from emulator.broker.jobs.runner import EARLY_END_HOST_S, early_end_reason, first_line
from emulator.clusters.protocol import LocalResourceManager, Part, RunningProgram
from emulator.model.job import JobState

# With a decimal comma in the cluster's locale, awk might read no fractions, or print one that is no number to sleep.
SCRIPT = """#!/bin/bash
export TESTBED_JOB={label} TESTBED_PART={part}
say() {{ printf '%s %s %s\\n' {mark} "$1" "$(date +%s.%N)"; }}
sleep "$(LC_ALL=C awk -v now="$(date +%s.%N)" -v most={host_wait_s} \
    'BEGIN {{ s = {host_start_timestamp_s} - now; if (s > most) s = most; print (s > 0 ? s : 0) }}')"
say began
env -- {command}
code=$?
say ended
exit $code
"""

_REPORT: Final = re.compile(r"(began|ended) ([0-9]{1,11}(?:\.[0-9]{1,9})?)")


def process_script(
    label: str, part: int, mark: str, command: Sequence[str], host_start_timestamp_s: float | None
) -> str:
    """Return the bash script of each process of a part; the words of `command` are quoted.

    The program is never a builtin command of the shell.
    """
    return SCRIPT.format(
        label=shlex.quote(label),
        part=part,
        mark=shlex.quote(mark),
        host_start_timestamp_s=f"{host_start_timestamp_s or 0:.6f}",
        host_wait_s=f"{max(0.0, (host_start_timestamp_s or 0) - time.time()):.6f}",
        command=shlex.join(command),
    )


@dataclass(slots=True)
class PlainRunner:
    """A plain program on all processors of all parts, followed by one thread per part."""

    label: str
    command: Sequence[str]
    output: JobOutput
    _mark: str = field(default_factory=lambda: secrets.token_hex(16))
    _programs: list[RunningProgram] = field(default_factory=list)
    _began: int = 0
    _last_host_s: dict[str, float] = field(default_factory=dict)
    _closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(
        self, claims: ClaimingTry, host_start_timestamp_s: float | None, on_started: Callable[[Started], None]
    ) -> Ended:
        """Start the program everywhere, and wait until it has ended everywhere or failed somewhere."""
        parts, managers = claims.parts(), claims.managers()
        processes = sum(part.processors for part in parts)

        def began(last_host_s: float) -> None:
            self._began += 1
            if self._began == processes:
                on_started(Started(last_host_s, max(0.0, last_host_s - (host_start_timestamp_s or last_host_s))))

        def run_part(number: int, part: Part, manager: LocalResourceManager) -> tuple[int, str]:
            script = process_script(self.label, number, self._mark, self.command, host_start_timestamp_s)
            program = manager.start(script, part.allocation, f"{self.label}-{number}", part.processors)
            self._programs.append(program)
            if self._closed:
                program.close()
            for line in program.lines():
                self._handle_line(line, began)
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
        return self._end_of_job(claims, [(manager.cluster, *end) for manager, end in zip(managers, ends, strict=True)])

    def close(self) -> None:
        """Stop listening to all parts."""
        self._closed = True
        for program in list(self._programs):
            program.close()

    def _handle_line(self, line: str, began: Callable[[float], None]) -> None:
        written, mark, said = line.partition(f"{self._mark} ")
        report = _REPORT.fullmatch(said) if mark else None
        if report is None:
            self.output.output.write_line(line)
            return
        if written:
            # A program that does not end its last line has the report of its end on the same line.
            self.output.output.write_line(written)
        word, host_timestamp_s = report[1], float(report[2])
        with self._lock:
            last_host_s = self._last_host_s[word] = max(host_timestamp_s, self._last_host_s.get(word, 0.0))
            if word == "began":
                began(last_host_s)

    def _end_of_job(self, claims: ClaimingTry, ends: Sequence[tuple[str, int, str]]) -> Ended:
        failed = [end for end in ends if end[1] != 0]
        if not failed:
            return Ended(JobState.FINISHED, "", 0, self._last_host_s.get("ended", time.time()))
        # A part that was stopped because another one failed has no exit code of its own.
        cluster, code, error = next((end for end in failed if end[1] > 0), failed[0])
        ended = claims.await_early_end(EARLY_END_HOST_S)
        if ended:
            return Ended(JobState.FAILED, early_end_reason(ended, code), code)
        reason = f"The program ended with exit code {code} in cluster {cluster!r}: {first_line(error)}"
        return Ended(JobState.FAILED, reason, code)
