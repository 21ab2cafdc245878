"""How much longer a program of your own takes over two clusters than in one, at a dilation that this host can hold.

    python examples/own-program/factor.py --dilation 4 --runs 3

It runs the jobs of this folder in turns, on the testbed that is up.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from emulator.client import BrokerClient
from emulator.model.clock import Dilation
from emulator.model.documents import read_document
from emulator.model.errors import RunFailed
from emulator.model.job import JobSpecification, JobState
from emulator.model.names import DEFAULT_TESTBED
from emulator.model.views import RunRequest, Submission
from emulator.runs.container_testbed import testbed_named
from emulator.runs.holding import held

JOBS = ("one-cluster.yaml", "two-clusters.yaml")


def execution_s(client: BrokerClient, run: int, file: Path) -> float:
    """Run a job to its end and return its execution time, in emulated seconds.

    Raises:
        RunFailed: if it does not finish.
    """
    submission = Submission(specification=read_document(file, JobSpecification), run=run)
    number = client.submit(submission).id
    for event in client.follow(run):
        if event.job is not None and event.job.id == number and event.job.state.final:
            break
    job = client.job(number)
    if job.state is not JobState.FINISHED or job.started_s is None or job.finished_s is None:
        raise RunFailed(f"Job {number} ({file.name}) {job.state.value}: {job.reason}")
    print(f"{file.name}: {job.finished_s - job.started_s:.3f} s; {client.output(number).output.strip()}")
    return job.finished_s - job.started_s


def main() -> None:
    """Hold the testbed, program its links for the dilation, run the jobs, and print the factor of the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--name", default=DEFAULT_TESTBED, help="name of the testbed")
    parser.add_argument("--dilation", type=float, default=4.0, help="host seconds per emulated second")
    parser.add_argument("--runs", type=int, default=3, help="how often each job is run")
    asked = parser.parse_args()
    times_s: dict[str, list[float]] = {job: [] for job in JOBS}
    request = RunRequest(name="own-program", policy="by-kind", dilation=asked.dilation)
    with testbed_named(asked.name) as testbed, held(testbed, request) as run:
        testbed.wide_area.program(Dilation(asked.dilation))
        testbed.client.start_run(run.id)
        for _ in range(asked.runs):
            for job in JOBS:
                times_s[job].append(execution_s(testbed.client, run.id, Path(__file__).with_name(job)))
    one_s, two_s = (statistics.median(times_s[job]) for job in JOBS)
    print(f"factor {two_s / one_s:.3f}: {two_s:.3f} s over two clusters, {one_s:.3f} s in one (medians)")


if __name__ == "__main__":
    main()
