"""A program of the user's own: the script of each of its processes, and what these report.

Every process waits for the job's start (never longer than it was ahead, if the wall clock is set back), reports that
the program begins, and reports that it has ended, with its number and its exit code. These reports carry a mark that is
new for each job, so that nothing a program writes is mistaken for one. A program that looks for the mark in its own
script can only make false reports of itself; what is no report is output. The job has started when all processes have
started, and has finished when all have ended.
"""

from __future__ import annotations

import re
import secrets
import shlex
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from emulator.broker.jobs.outputs import JobOutput
from emulator.broker.jobs.reports import Started

RANK_VARIABLE: Final = "OMPI_COMM_WORLD_RANK"
"""The environment variable by which a rank knows its number."""
TASK_VARIABLE: Final = "SLURM_PROCID"
"""The environment variable by which a process without MPI knows its number in its cluster."""
MPIRUN_SAYS: Final = re.compile(r"^-{20,}$", re.MULTILINE)
"""The line before what ``mpirun`` itself says at the end of a job that failed."""

# With a decimal comma in the cluster's locale, awk might read no fractions, or print one that is no number to sleep.
SCRIPT: Final = """#!/bin/bash
export {variables}
say() {{ printf '%s %s %s %s %s\\n' {mark} "$1" "${{{number}:-0}}" "$2" "$(date +%s.%N)"; }}
end() {{ say ended "$1"; exit "$1"; }}
cd ~ || end 1
program={program}
[ "${{program:0:1}}" = / ] || [ ! -f "$program" ] || program=./"${{program#./}}"
if [ -f "$program" ] && [ ! -x "$program" ]; then
    printf 'The program %s in %s is not executable (chmod +x).\\n' {program} "$PWD" >&2
    end 126
elif ! type -P -- "$program" > /dev/null; then
    printf 'There is no program %s, neither in %s nor on the path.\\n' {program} "$PWD" >&2
    end 127
fi
sleep "$(LC_ALL=C awk -v now="$(date +%s.%N)" -v most={host_wait_s} \
    'BEGIN {{ s = {host_start_timestamp_s} - now; if (s > most) s = most; print (s > 0 ? s : 0) }}')"
say began 0
# What the shell itself says of a program that a signal ended is not the program's.
exec 3>&2 2> /dev/null
env -- "$program" {arguments} < /dev/null 2>&3 3>&-
end $?
"""

_REPORT: Final = re.compile(r"(began|ended) ([0-9]{1,7}) ([0-9]{1,3}) ([0-9]{1,11}(?:\.[0-9]{1,9})?)")


@dataclass(frozen=True, slots=True)
class OwnProgram:
    """A user's own program: its words, and what it is told of its job, the `label` and the `dilation` of the run."""

    label: str
    command: Sequence[str]
    dilation: float
    mark: str = field(default_factory=lambda: secrets.token_hex(16))

    def script(
        self,
        part_sizes: Sequence[int],
        host_start_timestamp_s: float | None,
        number: str = TASK_VARIABLE,
        **more: object,
    ) -> str:
        """Return the bash script of each process; the words of the command are quoted.

        `part_sizes` are the processors per cluster, `number` is the environment variable with a process's number, and
        `more` is what else the processes are told. The program is never a builtin command of the shell.
        """
        told = {
            "TESTBED_JOB": self.label,
            "TESTBED_DILATION": repr(self.dilation),
            "TESTBED_COMPONENTS": ",".join(map(str, part_sizes)),
            **more,
        }
        return SCRIPT.format(
            variables=" ".join(f"{name}={shlex.quote(str(value))}" for name, value in told.items()),
            mark=shlex.quote(self.mark),
            number=number,
            program=shlex.quote(self.command[0]),
            arguments=shlex.join(self.command[1:]),
            host_start_timestamp_s=f"{host_start_timestamp_s or 0:.6f}",
            host_wait_s=f"{max(0.0, (host_start_timestamp_s or 0) - time.time()):.6f}",
        )


@dataclass(slots=True)
class ProcessReports:
    """The reports of a program's processes, taken out of what they write; the rest goes to `output`.

    Safe to share between threads.
    """

    program: OwnProgram
    output: JobOutput
    processes: int
    host_start_timestamp_s: float | None
    on_started: Callable[[Started], None]
    first_failure: tuple[int, int] | None = None
    """The number of the process that failed first, and its exit code."""
    _reported: dict[str, int] = field(default_factory=lambda: {"began": 0, "ended": 0})
    _last_host_s: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, line: str) -> None:
        """Take a line that one of the processes wrote."""
        written, mark, said = line.partition(f"{self.program.mark} ")
        report = _REPORT.fullmatch(said) if mark else None
        if report is None:
            self.output.output.write_line(line)
            return
        if written:
            # A program that does not end its last line has the report of its end on the same line.
            self.output.output.write_line(written)
        word, number, code, host_timestamp_s = report[1], int(report[2]), int(report[3]), float(report[4])
        with self._lock:
            self._reported[word] += 1
            self._last_host_s[word] = max(host_timestamp_s, self._last_host_s.get(word, 0.0))
            if code != 0 and self.first_failure is None:
                self.first_failure = number, code
            if word == "began" and self._reported[word] == self.processes:
                self.on_started(self._started())

    def host_finished_s(self) -> float:
        """Return when the last process ended.

        Where the output of several ranks is mixed within a line, a report may be lost; the end is then that of all.
        """
        if self._reported["ended"] >= self.processes:
            return self._last_host_s["ended"]
        return time.time()

    def _started(self) -> Started:
        last_host_s = self._last_host_s["began"]
        return Started(last_host_s, max(0.0, last_host_s - (self.host_start_timestamp_s or last_host_s)))
