"""Run: ``python -m tests.bench.ranks``. What a rank costs the host: Poisson's CPU per rank and iteration, its kernel's
own taken off, for 16 and 64 ranks in one cluster, in both modes of the border exchange, with and without an
interconnect; and how many processors this host carries.

Runs in one container of the node image, as the live tests of the applications do. Other work on the host makes all of
it dearer, since a rank that wakes up finds its caches cold: the least of several rounds is printed beside their median.
``--jobs 4`` has that many jobs of 16 processes run at once, grid 4000 at K = 1, and says what share of the phases ended
on time. They begin to iterate when all have started, each at a random moment of an iteration: jobs do not keep step.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.live.node_container import NodeContainer, Outcome, node_container

INTERCONNECT = "myrinet:20e-6:1000:5e-6"
MODES = ("overlapped", "steps")
PROCESSES_OF_A_JOB = 16
STARTED_WITHIN_HOST_S = 60.0
ITERATION_HOST_S = 0.267


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.ranks")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each kind, of which least and median are shown")
    parser.add_argument("--dilation", type=float, default=16.0, metavar="K", help="of the small grid (16)")
    parser.add_argument("--jobs", type=int, help="measure instead how many phases of so many jobs end on time")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, node_container(Path(folder)) as node:
        lines = carried(node, options.jobs) if options.jobs else costs(node, options.rounds, options.dilation)
        for line in lines:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


def costs(node: NodeContainer, rounds: int, dilation: float) -> Iterator[str]:
    """A line for each kind of job: CPU per rank and iteration, less the kernel's, in microseconds."""
    yield f"{'ranks':>5}  {'exchange':<10}  {'interconnect':<13}  {'least':>8}  {'median':>8}"
    for processes in (16, 64):
        for mode in MODES:
            for interconnect in (INTERCONNECT, None):
                paced = "" if interconnect is None else f"--interconnect {interconnect}"
                line = f"poisson --grid 100 --iterations 500 --dilation {dilation} --exchange {mode} {paced}"
                found_us = [own_cost_us(node.run(processes, line)) for _ in range(rounds)]
                name = (interconnect or "shared memory").split(":")[0]
                least, median = min(found_us), statistics.median(found_us)
                yield f"{processes:>5}  {mode:<10}  {name:<13}  {least:>5.1f} us  {median:>5.1f} us"


def own_cost_us(outcome: Outcome) -> float:
    """What a rank's iteration costs beside its kernel, in microseconds."""
    record = outcome.record
    host_s = record["host_cpu_s"] - record["host_kernel_cpu_s"]
    return host_s / record["processors"] / record["iterations"] * 1e6


def carried(node: NodeContainer, jobs: int) -> Iterator[str]:
    """One line: the share of phases on time while so many jobs run, each as the measurement study's largest grid."""
    line = f"poisson --grid 4000 --iterations 60 --dilation 1 --exchange steps --interconnect {INTERCONNECT}"
    begin_s = time.time() + STARTED_WITHIN_HOST_S
    starts = [f"--start-at {begin_s + random.uniform(0, ITERATION_HOST_S):.6f}" for _ in range(jobs)]
    with ThreadPoolExecutor(jobs) as pool:
        outcomes = list(pool.map(lambda start: node.run(PROCESSES_OF_A_JOB, f"{line} {start}"), starts))
    unready = sum(outcome.events["started"]["host_late_s"] > 0 for outcome in outcomes)
    if unready:
        yield f"{unready} of {jobs} jobs had not started within {STARTED_WITHIN_HOST_S:g} s: what follows is too low"
    records = [outcome.record for outcome in outcomes]
    phases = sum(record["phases"] for record in records)
    on_time = 1.0 - sum(record["late_phases"] for record in records) / phases
    behind = max(record["host_critical_lateness_s"] / record["runtime_s"] for record in records)
    cpu_ms = sum(record["host_cpu_s"] for record in records) / phases * 1e3
    yield (
        f"{jobs * PROCESSES_OF_A_JOB} processors: {on_time:.2%} of phases on time, runtimes at most {behind:.2%} too"
        f" long, {cpu_ms:.2f} ms of CPU per rank and iteration"
    )


if __name__ == "__main__":
    main()
