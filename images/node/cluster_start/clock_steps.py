"""Start slurmctld again when the wall clock was set."""

from __future__ import annotations

import time

from cluster_start.daemons import Daemons

CLOCK_LOOK_HOST_S = 1.0
CLOCK_STEP_S = 5.0
"""The wall clock counts as set if it has moved by more than this against the monotonic clock since the last look."""


def watch_clock(daemons: Daemons) -> None:
    """Start slurmctld again whenever the wall clock is set.

    It does what is due by that clock: once the clock was set back, it starts no waiting job and shows old numbers of
    idle processors until the clock has caught up. Started again it finds its jobs.
    """
    ahead_s = time.time() - time.monotonic()
    while True:
        time.sleep(CLOCK_LOOK_HOST_S)
        before_s, ahead_s = ahead_s, time.time() - time.monotonic()
        if abs(ahead_s - before_s) > CLOCK_STEP_S:
            print(f"the clock was set by {ahead_s - before_s:.0f} s")
            daemons.end("slurmctld")
