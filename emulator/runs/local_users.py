"""The local users of the clusters, as a background load uses them, and what is reported of their jobs.

Their jobs go straight to each cluster's local resource manager, under accounts of their own. The broker knows nothing
of them but that processors are not idle.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias

from emulator.model.errors import RunFailed

if TYPE_CHECKING:
    from emulator.containers.programs import OnLine


class Account(StrEnum):
    """The account of a job of the background load: that of dummy jobs, or of local users."""

    DUMMY = "background"
    LOCAL = "local"


class JobState(StrEnum):
    """The state of a job that waits or runs, as Slurm abbreviates it."""

    PENDING = "PD"
    RUNNING = "R"


class LocalUsers(Protocol):
    """The local users of all clusters of a testbed."""

    def open(self, on_line: OnLine) -> None:
        """Begin without a job, and report starts and ends of jobs to `on_line`, from other threads.

        Raises:
            TestbedBusy: if another background load runs on the testbed.
            TestbedNotUp: if a cluster's container does not run.
        """

    def submit(self, cluster: str, job: str, account: Account, processors: int, host_length_s: float) -> None:
        """Submit a job that sleeps for `host_length_s`."""

    def prolong(self, cluster: str, job: str, host_length_s: float) -> None:
        """Have a job that runs sleep for `host_length_s` more before it ends."""

    def cancel(self, cluster: str, job: str) -> None:
        """Cancel a job, whether it waits or runs."""

    def list_jobs(self, cluster: str, number: int) -> None:
        """Ask for a report of all jobs, which will carry `number`."""

    def close(self) -> None:
        """Cancel all jobs, and wait until that is done."""

    def clear(self) -> None:
        """Cancel all jobs of a background load whose command was killed; leave those of one that runs."""


@dataclass(frozen=True, slots=True)
class Started:
    """A job started at `host_moment_s`."""

    host_moment_s: float
    job: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A job ended at `host_moment_s`, or was cancelled before it started."""

    host_moment_s: float
    job: str


@dataclass(frozen=True, slots=True)
class Listed:
    """The answer to `number`: the jobs that waited or ran at `host_moment_s`, and the cluster's idle processors."""

    host_moment_s: float
    number: int
    idle: int
    jobs: dict[str, JobState]


Report: TypeAlias = Started | Ended | Listed


def parsed(cluster: str, line: str) -> Report:
    """Return the report in a `line` of the local users of `cluster`.

    Raises:
        RunFailed: if the local resource manager refused a job, or the line is not a report.
    """
    words = line.split()
    try:
        kind, host_moment_s, subject = words[0], float(words[1]), words[2]
        if kind == "refused":
            reason = " ".join(words[3:]).rstrip(".") or "it gave no reason"
            raise RunFailed(f"Cluster {cluster!r} refused the background job {subject!r} ({reason}).")
        if kind == "listed":
            jobs = dict(word.rsplit(":", 1) for word in words[4:])
            states = {job: JobState(state) for job, state in jobs.items()}
            return Listed(host_moment_s, int(subject), int(words[3]), states)
        if kind == "started":
            return Started(host_moment_s, subject)
        if kind == "ended":
            return Ended(host_moment_s, subject)
    except (IndexError, ValueError) as error:
        raise _no_report(cluster, line) from error
    raise _no_report(cluster, line)


def _no_report(cluster: str, line: str) -> RunFailed:
    return RunFailed(f"Cluster {cluster!r}: its local users reported {line!r}, which is no report.")
