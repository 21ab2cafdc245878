"""Progress on standard error, so that tables and JSON on standard output stay clean.

On a screen a line moves; where output goes to a file, plain lines are printed now and then.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.status import Status
from rich.text import Text

from emulator.cli.foreign_text import say
from emulator.model.counts import number_of
from emulator.model.escapes import escaped, escaped_lines

if TYPE_CHECKING:
    from emulator.containers.progress import ProgressStep
    from emulator.runs.progress import ProgressReport, ReportProgress
    from emulator.simulator.parallel_simulations import ReportSimulations, SimulationsProgress


def step_printer() -> Callable[[ProgressStep], None]:
    """Return an observer that prints each step, with the seconds since the first."""
    begun = time.monotonic()
    console = Console(stderr=True, highlight=False)

    def print_step(step: ProgressStep) -> None:
        since_begun = (f"{time.monotonic() - begun:6.1f} s", "dim")
        console.print(Text.assemble(since_begun, escaped(f"  {step.stage}: {step.detail}")))

    return print_step


@contextmanager
def run_progress() -> Iterator[ReportProgress]:
    """Show the progress of a run as long as the context lasts."""
    if sys.stderr.isatty():
        with Console(stderr=True).status("starting") as status:
            yield lambda progress: _show_run(status, progress)
    else:
        yield _RunLines()


@contextmanager
def simulations_progress(name: str) -> Iterator[ReportSimulations]:
    """Show the progress of the simulations of `name` as long as the context lasts."""
    if not sys.stderr.isatty():
        yield _SimulationsLines(name)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    case = TextColumn("{task.fields[case]}", markup=False)
    columns = (TextColumn(name, markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), case)
    with Progress(*columns, console=Console(stderr=True)) as bars:
        bar = bars.add_task(name, case="")
        yield lambda progress: bars.update(
            bar, completed=progress.done, total=progress.total, case=escaped(progress.key)
        )


def _show_run(status: Status, progress: ProgressReport) -> None:
    if progress.remark:
        status.console.print(escaped_lines(progress.remark), highlight=False, markup=False)
    status.update(Text(escaped(_run_line(progress))))


class _RunLines:
    """A printer of a line for each stage, and one for each job that ends."""

    def __init__(self) -> None:
        self._last: tuple[str, int] | None = None

    def __call__(self, progress: ProgressReport) -> None:
        if progress.remark:
            say(progress.remark, to_error=True, flush=True)
            return
        now = (progress.stage, progress.finished + progress.failed)
        if now != self._last:
            self._last = now
            say(_run_line(progress), to_error=True, flush=True)


class _SimulationsLines:
    """A printer of a line for every tenth of the simulations."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._last: tuple[int, int] | None = None

    def __call__(self, progress: SimulationsProgress) -> None:
        now = (progress.total, 10 * progress.done // max(1, progress.total))
        if now != self._last:
            self._last = now
            done = f"{progress.done} of {number_of(progress.total, 'simulation')}"
            print(f"{self._name}: {done}", file=sys.stderr, flush=True)


def _run_line(progress: ProgressReport) -> str:
    if progress.time_s is None:
        return progress.stage
    counts = f"{progress.finished} of {number_of(progress.expected, 'job')} finished, {progress.running} running"
    failed = f", {progress.failed} failed or cancelled" if progress.failed else ""
    left = "" if progress.host_left_s is None else f", {_rounded(progress.host_left_s)} left"
    return f"{progress.stage}: {counts}{failed} at {progress.time_s:.0f} s{left}"


def _rounded(host_s: float) -> str:
    """Return an estimated duration, rounded to what an estimate can say."""
    if host_s < 90:
        return f"about {max(5, round(host_s / 5) * 5)} s"
    minutes = round(host_s / 60)
    return f"about {minutes} min" if minutes < 90 else f"about {minutes / 60:.1f} h"
