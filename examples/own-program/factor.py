"""How much longer a program of your own takes over two clusters than in one, at a dilation that this host can hold.

    python examples/own-program/factor.py --dilation 4 --runs 3

It runs the jobs of this folder in turns, on the testbed that is up.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from emulator.client import BrokerClient
from emulator.model.clock import Dilation
from emulator.model.documents import read_document
from emulator.model.errors import RunFailed
from emulator.model.job import JobSpecification, JobState
from emulator.model.names import DEFAULT_TESTBED, NAME_VARIABLE
from emulator.model.views import RunRequest, Submission
from emulator.runs.container_testbed import testbed_named
from emulator.runs.holding import held

JOBS = ("one-cluster.yaml", "two-clusters.yaml")
LOOP = re.compile(r"([0-9.]+) s of the host, .* ([0-9]+) of ([0-9]+) phases late")
"""What heat.c prints: the time of its loop, and how many phases of computing were late."""


@dataclass(frozen=True)
class Timed:
    """A job that ran: its execution time, and the time of its loop if it prints what heat.c does; emulated seconds."""

    job: str
    execution_s: float
    loop_s: float | None
    late_phases: int
    phases: int


def executed(client: BrokerClient, run: int, specification: JobSpecification, dilation: float) -> Timed:
    """Run a job to its end and return what it took.

    Raises:
        RunFailed: if it does not finish.
    """
    number = client.submit(Submission(specification=specification, run=run)).id
    for event in client.follow(run):
        if event.job is not None and event.job.id == number and event.job.state.final:
            break
    job = client.job(number)
    if job.state is not JobState.FINISHED or job.started_s is None or job.finished_s is None:
        raise RunFailed(f"Job {number} ({specification.name}) {job.state.value}: {job.reason}")
    execution_s, found = job.finished_s - job.started_s, LOOP.search(client.output(number).output)
    if found is None:
        return Timed(specification.name, execution_s, None, 0, 0)
    return Timed(specification.name, execution_s, float(found[1]) / dilation, int(found[2]), int(found[3]))


def in_turns(name: str, jobs: Sequence[JobSpecification], dilation: float, runs: int) -> list[Timed]:
    """Hold the testbed called `name`, program its links for `dilation`, and run all jobs in turns, `runs` times.

    Raises:
        RunFailed: if a job does not finish.
    """
    request = RunRequest(name="own-program", policy="by-kind", dilation=dilation)
    with testbed_named(name) as testbed, held(testbed, request) as run:
        testbed.wide_area.program(Dilation(dilation))
        testbed.client.start_run(run.id)
        return [executed(testbed.client, run.id, job, dilation) for _ in range(runs) for job in jobs]


def main() -> None:
    """Run both jobs in turns, and print the factor of the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--name", default=os.environ.get(NAME_VARIABLE, DEFAULT_TESTBED), help="name of the testbed")
    parser.add_argument("--dilation", type=float, default=4.0, help="host seconds per emulated second")
    parser.add_argument("--runs", type=int, default=3, help="how often each job is run")
    asked = parser.parse_args()
    jobs = [read_document(Path(__file__).with_name(job), JobSpecification) for job in JOBS]
    found = in_turns(asked.name, jobs, asked.dilation, asked.runs)
    for each in found:
        loop = "" if each.loop_s is None else f"; its loop {each.loop_s:.3f} s"
        late = f", {each.late_phases} of {each.phases} phases late" if each.phases else ""
        print(f"{each.job}: {each.execution_s:.3f} s{loop}{late}")
    one_s, two_s = (statistics.median(each.execution_s for each in found if each.job == job.name) for job in jobs)
    print(f"factor {two_s / one_s:.3f}: {two_s:.3f} s over two clusters, {one_s:.3f} s in one (medians)")


if __name__ == "__main__":
    main()
