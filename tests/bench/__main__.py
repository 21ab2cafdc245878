"""Run the comparisons: ``python -m tests.bench`` (`make bench` compiles first). Ratios in one table, medians of rounds.

The contenders take turns, round by round, so that a busy host slows them alike, and time is the processor's. The model
is `four-by-32` with D(0.9) on [1,8], equal shares of one to four components, at load 0.85. The job list is made before
the clock starts for SimPy and for the engine; the row with its stream includes making it. The mean response times of GS
are compared too: a race of different models would say nothing.
"""

from __future__ import annotations

import argparse
import math
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from emulator import compiled
from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.campaigns.workload_sources import prepared
from emulator.model.stream import StreamJob
from emulator.policies.queues.placement_queue import PlacementQueue
from emulator.simulator import simulate
from tests.bench import simpy_program
from tests.unit.policies.plain_placement_queue import PlainPlacementQueue
from workloads.compositions import COMPOSITIONS
from workloads.job_mix import no_extension
from workloads.poisson_stream import PoissonStream
from workloads.swf import SwfRecord, read_swf, write_swf
from workloads.swf_stream import swf_jobs, swf_record

LOAD = 0.85
PROCESSORS = 128
CLUSTERS = "four-by-32"
SWF_JOBS = 10_000


def equal_shares() -> PoissonStream:
    """The stream of the comparison."""
    mix = COMPOSITIONS["25-25-25-25"].mix()
    return PoissonStream(mix, mix.arrival_rate_per_s(LOAD, PROCESSORS, no_extension))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds that `work` takes, and what it returns."""
    began_s = time.process_time()
    result = work()
    return time.process_time() - began_s, result


def against_simpy(jobs: int, rounds: int) -> dict[str, list[float]]:
    """Jobs per second and round of every contender."""
    stream = equal_shares()
    listed = list(stream.jobs(jobs, 1))
    plain = [(job.arrival_s, job.service_s, tuple(sorted(job.request.components, reverse=True))) for job in listed]
    contenders: dict[str, Callable[[], Any]] = {
        "SimPy, GS": lambda: simpy_program.run(plain),
        "engine, GS": lambda: simulate(listed, clusters=CLUSTERS, queue="gs").statistics.total.response_s,
        "engine, GS, with its stream": lambda: simulate(stream.jobs(jobs, 1), clusters=CLUSTERS, queue="gs"),
        "engine, LS-DO": lambda: simulate(listed, clusters=CLUSTERS, queue="ls-do"),
        "engine, LP-GF": lambda: simulate(listed, clusters=CLUSTERS, queue="lp-gf"),
    }
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        answers: dict[str, Any] = {}
        for name, work in contenders.items():
            taken_s, answers[name] = timed(work)
            rates[name].append(jobs / taken_s)
        if not math.isclose(answers["SimPy, GS"], answers["engine, GS"], rel_tol=1e-9):
            sys.exit(
                f"SimPy and the engine simulate different models: {answers['SimPy, GS']}, {answers['engine, GS']}."
            )
    return rates


def against_accasim(rounds: int) -> dict[str, list[float]]:
    """Jobs per second of AccaSim and of the engine on one SWF file; the engine with and without reading it."""
    rates: dict[str, list[float]] = {"AccaSim, FIFO": [], "engine, SC": [], "engine, SC, with reading": []}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.swf"
        write_swf(["Version: 2.2"], _records(), path)
        for _ in range(rounds):
            command = [sys.executable, "-m", "tests.bench.accasim_program", str(path), str(PROCESSORS)]
            environment = {"PYTHONPATH": str(compiled.PROJECT_ROOT), "PATH": ""}
            ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            if ran.returncode:
                print(f"AccaSim does not run here: {ran.stderr.strip().splitlines()[-1]}")
                return {}
            rates["AccaSim, FIFO"].append(SWF_JOBS / float(ran.stdout.split()[-1]))
            read_s, found = timed(lambda: swf_jobs(read_swf(path), path, clusters=[PROCESSORS]))
            run_s, _ = timed(lambda jobs=found.jobs: simulate(jobs, clusters=[PROCESSORS], queue="sc"))
            rates["engine, SC"].append(SWF_JOBS / run_s)
            rates["engine, SC, with reading"].append(SWF_JOBS / (read_s + run_s))
    return rates


def _records() -> list[SwfRecord]:
    """Jobs of the comparison's sizes in whole seconds, as logs have them."""
    records: list[SwfRecord] = []
    for job in equal_shares().jobs(SWF_JOBS, 2):
        whole = StreamJob(
            job.id, float(round(100 * job.arrival_s)), float(1 + round(100 * job.service_s)), job.request, 0
        )
        records.append(swf_record(whole))
    return records


def placement_queue(jobs: int, rounds: int) -> dict[str, list[float]]:
    """Jobs per second of W2 under its placement queue, which falls behind, and under the queue's plain reading."""
    subject = prepared("W2", SimulationOptions(jobs=jobs))
    listed = list(subject.jobs)
    queues: dict[str, Any] = {
        "W2, every job tried": PlainPlacementQueue,
        "W2, placement queue": lambda: PlacementQueue(subject.scanning.interval_s),
    }
    rates: dict[str, list[float]] = {name: [] for name in queues}
    for _ in range(rounds):
        found: list[Any] = []
        for name, queue in queues.items():
            taken_s, result = timed(
                lambda queue=queue: simulate(
                    listed,
                    clusters=subject.topology,
                    queue=queue,
                    policy=subject.policy,
                    middleware=subject.middleware,
                )
            )
            rates[name].append(jobs / taken_s)
            found.append(result.statistics)
        if found[0] != found[1]:
            sys.exit("The placement queue and its plain reading decide differently.")
    return rates


def linearity(sizes: list[int]) -> None:
    """Time per job and the memory of the process as the number of jobs grows, statistics only."""
    print(f"\n{'jobs':>12} {'us per job':>11} {'peak memory MB':>15}")
    for jobs in sizes:
        taken_s, _ = timed(lambda jobs=jobs: simulate(equal_shares().jobs(jobs, 1), clusters=CLUSTERS, queue="gs"))
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{jobs:>12,} {1e6 * taken_s / jobs:>11.2f} {peak_mb:>15.0f}", flush=True)


def report(rates: dict[str, list[float]], yardstick: str) -> None:
    """Print medians, and ratios to `yardstick` round by round."""
    for name, values in rates.items():
        ratios = [value / base for value, base in zip(values, rates[yardstick], strict=True)]
        print(f"{name:<30} {statistics.median(values):>12,.0f} jobs/s {statistics.median(ratios):>8.2f}x {yardstick}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--w2-jobs", type=int, default=5_000, help="20000 leave 1,000 waiting (half a minute a round)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--linear", action="store_true", help="also up to 10 million jobs (about half a minute)")
    options = parser.parse_args()
    print(f"engine: {'compiled' if compiled.in_use() else 'interpreted'}")
    if options.linear:
        linearity([100_000, 1_000_000, 10_000_000])
        print()
    report(against_simpy(options.jobs, options.rounds), "SimPy, GS")
    report(placement_queue(options.w2_jobs, min(3, options.rounds)), "W2, every job tried")
    rates = against_accasim(min(3, options.rounds))
    if rates:
        report(rates, "AccaSim, FIFO")


if __name__ == "__main__":
    main()
