"""The protocol of what starts and follows a job's processes, and the reasons why they failed.

A runner uses the local resource managers only; it reports the start, and returns the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from emulator.broker.jobs.announcement import AwaitStart
from emulator.broker.jobs.claiming_try import ClaimingTry
from emulator.broker.jobs.reports import Ended, Started

EARLY_END_HOST_S = 1.0


class Runner(Protocol):
    """A runner of one job, once."""

    def run(self, claims: ClaimingTry, await_start: AwaitStart, on_started: Callable[[Started], None]) -> Ended:
        """Start the processes and follow them to the end; they begin together, when `await_start` says.

        Raises:
            ClusterUnreachable: if a head does not answer.
            TestbedError: if `await_start` raises it.
        """
        ...

    def close(self) -> None:
        """Stop following, from any thread; the release of the allocations ends the processes."""
        ...


def early_end_reason(cluster: str, code: int) -> str:
    """Return the reason of a failure whose cause is an allocation that ended early."""
    return f"The allocation in cluster {cluster!r} ended while the job ran (exit code {code})."


def lost_reason(cluster: str) -> str:
    """Return the reason of a failure where the head did not say how the processes ended."""
    return f"The connection to cluster {cluster!r} was lost while the job ran, or what ran there was killed."


def first_line(error: str) -> str:
    """Return the first line of an error output that has words."""
    return next((line for line in error.splitlines() if line.strip(" -*")), "no error output")
