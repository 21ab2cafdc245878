"""EASY and conservative backfilling, job by job, against pyss, a simulator that others wrote.

pyss is written in Python 2 and in no registry (``docs/second-opinion.md``). This program converts a copy of its sources
(lib2to3, Python 3.12 at most), and gives the same jobs on one cluster to both:
``python -m tests.bench.against_pyss PYSS/src``.

Times are whole numbers of microseconds: pyss adds and subtracts them and asks for equality. Without ties between them,
the order of simultaneous events, in which the two differ, does not matter. Conservative backfilling is compared with
exact estimates only: where jobs end early, pyss moves each job ahead in a plan that stands, and ours makes a new one.
"""

from __future__ import annotations

import argparse
import importlib
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from emulator.model.request import JobRequest, RequestKind
from emulator.model.stream import StreamJob
from emulator.simulator import simulate

PROCESSORS: Final = 64
US_PER_S: Final = 1_000_000
MODULES: Final = (
    *("base/__init__.py", "base/prototype.py", "base/event_queue.py", "base/simple_heap.py"),
    *("schedulers/common.py", "schedulers/easy_scheduler.py", "schedulers/conservative_scheduler.py"),
)
CASES: Final = (("easy", 1.0), ("easy", 4.0), ("conservative", 1.0))
"""Disciplines, and by which factor estimates exceed execution times at most."""


class Job(NamedTuple):
    """A job of one component; its times are in microseconds."""

    number: int
    arrival_us: int
    execution_us: int
    estimate_us: int
    processors: int


def random_jobs(seed: int, number: int, estimate_factor: float) -> list[Job]:
    """Return jobs that load the cluster to some 85%, so that many wait."""
    rng = random.Random(seed)
    jobs: list[Job] = []
    arrival_us = 0
    for at in range(1, number + 1):
        arrival_us += 1 + round(rng.expovariate(1.0) * US_PER_S)
        processors = rng.choice([1, 2, 3, 4, 7, 8, 12, 16, 24, 32, 48, 64])
        execution_us = 1 + round(rng.expovariate(1 / 2.95) * US_PER_S)
        estimate_us = execution_us + round(rng.uniform(0.0, estimate_factor - 1.0) * execution_us)
        jobs.append(Job(at, arrival_us, execution_us, estimate_us, processors))
    return jobs


def our_starts(discipline: str, jobs: Sequence[Job]) -> dict[int, int]:
    """Return when each job starts in the simulator of this project."""
    stream = [
        StreamJob(
            job.number, job.arrival_us, job.execution_us,
            JobRequest(RequestKind.UNORDERED, (job.processors,), estimate_s=job.estimate_us), 0,
        )
        for job in jobs
    ]  # fmt: skip
    finished = simulate(stream, clusters=[PROCESSORS], queue=discipline, keep_jobs=True).finished
    return {job.id: round(job.start_s) for job in finished}


def convert(source: Path, folder: Path) -> None:
    """Copy the modules of pyss that are needed into `folder`, in the Python of today, and make them importable."""
    for name in MODULES:
        target = folder / name
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(source / name, target)
        target.write_text(target.read_text(encoding="utf-8").expandtabs(8), encoding="utf-8")
    command = [sys.executable, "-W", "ignore", "-m", "lib2to3", "--write", "--nobackups", str(folder)]
    subprocess.run([*command, "--nofix", "import"], check=True, capture_output=True)
    sys.path[:0] = [str(folder), str(folder / "base"), str(folder / "schedulers")]


def pyss_starts(discipline: str, jobs: Sequence[Job]) -> dict[int, int]:
    """Return when each job starts in pyss."""
    prototype: Any = importlib.import_module("base.prototype")
    event_queue: Any = importlib.import_module("base.event_queue")
    scheduler_module: Any = importlib.import_module(f"{discipline}_scheduler")
    prototype.JobEvent.__lt__ = lambda event, other: event._cmp_tuple < other._cmp_tuple
    names = {"easy": "EasyBackfillScheduler", "conservative": "ConservativeScheduler"}
    scheduler = getattr(scheduler_module, names[discipline])(PROCESSORS)
    queue = event_queue.EventQueue()
    prototype.ValidatingMachine(num_processors=PROCESSORS, event_queue=queue)  # the queue keeps it

    def pass_on(decide: Any) -> Any:
        def handle(event: Any) -> None:
            for found in decide(event.job, event.timestamp):
                queue.add_event(found)

        return handle

    queue.add_handler(prototype.JobSubmissionEvent, pass_on(scheduler.new_events_on_job_submission))
    queue.add_handler(prototype.JobTerminationEvent, pass_on(scheduler.new_events_on_job_termination))
    theirs = [
        prototype.Job(
            job.number, job.estimate_us, job.execution_us, job.processors, submit_time=job.arrival_us
        )
        for job in jobs
    ]  # fmt: skip
    for job in theirs:
        queue.add_event(prototype.JobSubmissionEvent(job.submit_time, job))
    while not queue.is_empty:
        queue.advance()
    return {job.id: job.start_to_run_at_time for job in theirs}


def main() -> None:
    """Compare both simulators, and print how many jobs start at the same time in both."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.against_pyss")
    parser.add_argument("source", type=Path, help="the folder src of pyss")
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        convert(options.source, Path(folder))
        for discipline, factor in CASES:
            compared = equal = waited = 0
            for seed in range(1, options.seeds + 1):
                jobs = random_jobs(seed, options.jobs, factor)
                ours, theirs = our_starts(discipline, jobs), pyss_starts(discipline, jobs)
                compared += len(jobs)
                equal += sum(ours[job.number] == theirs[job.number] for job in jobs)
                waited += sum(ours[job.number] > job.arrival_us for job in jobs)
            print(
                f"{discipline}, estimates up to {factor:g} times: {equal} of {compared} starts equal, {waited} waited"
            )


if __name__ == "__main__":
    main()
