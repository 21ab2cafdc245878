"""A run's progress on the terminal: a moving line on a screen, plain lines where output goes to a file.

It goes to standard error, so that tables and JSON on standard output stay clean.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from emulator.campaigns.conduct import Progress, Tell


@contextmanager
def run_progress() -> Iterator[Tell]:
    """Shows what it is told for as long as the context lasts."""
    if sys.stderr.isatty():
        with Console(stderr=True).status("starting") as status:
            yield lambda progress: status.update(_line(progress))
    else:
        yield _Lines()


class _Lines:
    """Prints a line per stage, and one per job that ends."""

    def __init__(self) -> None:
        self._last: tuple[str, int] | None = None

    def __call__(self, progress: Progress) -> None:
        now = (progress.stage, progress.finished + progress.failed)
        if now != self._last:
            self._last = now
            print(_line(progress), file=sys.stderr, flush=True)


def _line(progress: Progress) -> str:
    if progress.time_s is None:
        return progress.stage
    counts = f"{progress.finished} of {progress.expected} jobs finished, {progress.running} running"
    failed = f", {progress.failed} failed or cancelled" if progress.failed else ""
    left = "" if progress.host_left_s is None else f", {_about(progress.host_left_s)} left"
    return f"{progress.stage}: {counts}{failed} at {progress.time_s:.0f} s{left}"


def _about(host_s: float) -> str:
    """A time to wait, as precise as an estimate is."""
    if host_s < 90:
        return f"about {max(5, round(host_s / 5) * 5)} s"
    minutes = round(host_s / 60)
    return f"about {minutes} min" if minutes < 90 else f"about {minutes / 60:.1f} h"
