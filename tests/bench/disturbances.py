"""Run: ``python -m tests.bench.disturbances``. Are disturbances noticed, and is a quiet run valid?

Makes quiet runs of a short measurement over two clusters, and as many disturbed ones, each by another kind or strength
(`tests.live.disturbances`): a disturbance is noticed if the job is not valid and a reason names it. It begins half a
second after the job and is put back some seconds later. Brings a `mini` of its own up and takes it down. Quiet runs say
something on an otherwise idle host only.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from emulator.fidelity.verdict import Judgement
from emulator.measurement.extension import measure
from emulator.model.clock import Dilation
from emulator.model.errors import RunFailed
from emulator.model.job import JobState
from emulator.runs.container_testbed import testbed_named
from emulator.runs.holding import Testbed
from emulator.runs.matrix import Matrix
from emulator.runs.run_directory import read_run
from tests.live.command_line import CommandLine
from tests.live.disturbances import DISTURBANCES, Disturbance, Disturber
from tests.live.disturbing import Scene

NAME = "disturbances"


def short_matrix(dilation: float, iterations: int) -> Matrix:
    """One job over two clusters."""
    return Matrix(
        applications=("poisson",),
        grids=(1000,),
        processors=(16,),
        clusters=(2,),
        repeat=1,
        iterations=iterations,
        dilation=dilation,
    )


def verdict_of(testbed: Testbed, matrix: Matrix, path: Path, disturbance: Disturbance | None) -> tuple[str, list[str]]:
    """The verdict on a run and its reasons, the job's own first."""
    disturber = Disturber(Scene.of(testbed.name, Dilation(matrix.dilation), path.parent), [disturbance])
    try:
        measured = measure(testbed, matrix, path, disturber.disturb, every_run_counts=True)
    except RunFailed as failure:
        return Judgement.VOID, [str(failure)]
    finally:
        disturber.finish()
    (job,) = read_run(path).jobs
    return measured.verdict.judgement, [*job.verdict_reasons.split("; "), *measured.verdict.reasons]


def show(shown: str, verdict: str, said: str, reasons: list[str], host_s: float) -> None:
    """A line of the table."""
    why = next((reason for reason in reasons if reason), "")
    print(f"{shown:<46} {verdict:<8} {said:<10} {host_s:5.0f} s  {why[:110]}", flush=True)


def quiet_runs(testbed: Testbed, matrix: Matrix, folder: Path, number: int) -> int:
    """How many of so many undisturbed runs were valid."""
    valid = 0
    for turn in range(number):
        host_began_s = time.monotonic()
        verdict, reasons = verdict_of(testbed, matrix, folder / f"quiet-{turn}", None)
        valid += verdict == Judgement.VALID
        show(f"quiet {turn + 1}", verdict, "", reasons, time.monotonic() - host_began_s)
    return valid


def disturbed_runs(testbed: Testbed, matrix: Matrix, folder: Path, disturbances: list[Disturbance]) -> int:
    """How many of the disturbances were noticed."""
    noticed = 0
    for turn, disturbance in enumerate(disturbances):
        host_began_s = time.monotonic()
        verdict, reasons = verdict_of(testbed, matrix, folder / f"disturbed-{turn}", disturbance)
        is_noticed = verdict != Judgement.VALID and disturbance.is_named_in(reasons)
        noticed += is_noticed
        named = [reason for reason in reasons if disturbance.is_named_in([reason])] or reasons
        said = "noticed" if is_noticed else "unnoticed"
        show(disturbance.shown, verdict, said, named, time.monotonic() - host_began_s)
    return noticed


def together(testbed: Testbed, matrix: Matrix, folder: Path, disturbances: list[Disturbance]) -> int:
    """As `disturbed_runs`, but all in one run, on a job each: quicker, and no verdicts on whole runs.

    A disturbance that ends the run is noticed; those after it are not made.
    """
    plan = [None, *disturbances]
    disturber = Disturber(Scene.of(testbed.name, Dilation(matrix.dilation), folder), plan)
    repeated, ended = matrix.model_copy(update={"repeat": len(plan)}), ""
    try:
        measure(testbed, repeated, folder / "together", disturber.disturb, every_run_counts=True)
        disturber.finish()
    except RunFailed as failure:
        ended = str(failure)
        with suppress(ExceptionGroup):
            disturber.finish()
    noticed = 0
    jobs = [job for job in read_run(folder / "together").jobs if job.state != JobState.CANCELLED]
    for disturbance, job in zip(plan, jobs, strict=False):
        reasons = job.verdict_reasons.split("; ")
        is_noticed = disturbance is not None and disturbance.is_named_in(reasons)
        noticed += is_noticed
        shown = "quiet" if disturbance is None else disturbance.shown
        show(shown, job.verdict, "noticed" if is_noticed else "", reasons, 0.0)
    if ended and len(jobs) < len(plan):
        last = plan[len(jobs)]
        show("quiet" if last is None else last.shown, Judgement.VOID, "noticed", [ended], 0.0)
        noticed += 1
    return noticed


def main() -> None:
    """Bring a testbed up, run everything on it, print the table, and take it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quiet", type=int, default=20, help="undisturbed runs")
    parser.add_argument("--numbers", type=int, nargs="+", help="disturbances by their number, from 0; all by default")
    parser.add_argument("--together", action="store_true", help="all disturbances in one run, on a job each")
    parser.add_argument("--dilation", type=float, default=8)
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--out", type=Path, help="keep the runs in this folder")
    options = parser.parse_args()
    numbers = range(len(DISTURBANCES)) if options.numbers is None else options.numbers
    disturbances = [DISTURBANCES[number] for number in numbers]
    matrix = short_matrix(options.dilation, options.iterations)
    command = CommandLine(NAME)
    command.succeed("up", "--topology", "mini")
    try:
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as temporary, testbed_named(NAME) as testbed:
            folder = options.out or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            valid = quiet_runs(testbed, matrix, folder, options.quiet)
            disturb = together if options.together else disturbed_runs
            noticed = disturb(testbed, matrix, folder, disturbances)
    finally:
        command.succeed("down")
    print(f"quiet runs valid: {valid} of {options.quiet}; disturbances noticed: {noticed} of {len(disturbances)}")


if __name__ == "__main__":
    main()
