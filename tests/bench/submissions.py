"""Run: ``python -m tests.bench.submissions``. How fast the broker takes submissions, and what a scan costs.

The broker is a process on one core of its own, with its journal on a disk; its clients run on the other cores, each a
thread that submits under keys and waits for the answer, which comes when the job is durable. Before the clock starts
10,000 jobs wait that cannot start. A scan's cost is the CPU time of one decision of the placement queue over 10,000
waiting jobs on five clusters, median of rounds, for each placement policy: with all clusters full, and with one of them
idle, so that some jobs start.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time

import numpy

from emulator.model.request import JobRequest, RequestKind
from emulator.policies.placement.close_to_files import every_pair
from emulator.policies.placement.fixed import AcceptingFixed
from emulator.policies.protocols import Arrival, Scan, WaitingJob
from emulator.policies.queues.placement_queue import PlacementQueue
from emulator.policies.registry import placement_policy
from emulator.policies.state import FileState, Surroundings, SystemState
from tests.bench.broker_load import Submitter, running_broker, stop
from tests.bench.broker_program import CLUSTERS, PROCESSORS

KINDS = {
    "wf": RequestKind.NON_FIXED,
    "wf-distinct": RequestKind.UNORDERED,
    "cm": RequestKind.NON_FIXED,
    "fcm": RequestKind.FLEXIBLE,
    "cf": RequestKind.NON_FIXED,
}
FILES = 50


def submissions(queued: int, clients: int, host_s: float) -> None:
    """Print what a broker with `queued` waiting jobs takes from `clients` clients in `host_s` seconds."""
    with running_broker() as broker:
        broker.fill(queued)
        submitters = [Submitter(broker.port, f"client{number}") for number in range(clients)]
        began_s, cpu_s = time.perf_counter(), broker.cpu_s()
        for submitter in submitters:
            submitter.start()
        time.sleep(host_s)
        stop(submitters)
        taken_s, cpu_s = time.perf_counter() - began_s, broker.cpu_s() - cpu_s
    each_s = sorted(one for submitter in submitters for one in submitter.taken_s)
    print(
        f"{clients:>4} clients, {queued:,} jobs queued before: {len(each_s) / taken_s:>6.0f} submissions/s, "
        f"median {1e3 * statistics.median(each_s):.1f} ms, 99% under {1e3 * each_s[int(0.99 * len(each_s))]:.1f} ms, "
        f"{1e3 * cpu_s / len(each_s):.2f} ms of the broker's CPU each",
        flush=True,
    )


def scans(waiting: int, rounds: int) -> None:
    """Print the CPU time of one scan over `waiting` jobs for each policy."""
    print(f"\n{'policy':<12} {'nothing changed, ms':>20} {'one cluster idle, ms':>21}")
    for policy in KINDS:
        requests = _requests(policy, waiting)
        same_s, started_s = (_scan_s(policy, requests, idle, rounds) for idle in (0, PROCESSORS))
        print(f"{policy:<12} {1e3 * same_s:>20.3f} {1e3 * started_s:>21.2f}", flush=True)


def _scan_s(policy: str, requests: list[JobRequest], idle: int, rounds: int) -> float:
    """Return the CPU time of a scan after one in which the cluster was full, and of what the broker asks after it."""
    placement = AcceptingFixed(placement_policy(policy))
    rng = numpy.random.default_rng(1)
    taken_s = []
    for _ in range(rounds):
        queue = PlacementQueue()
        for number, request in enumerate(requests):
            queue.decide(Arrival(WaitingJob(number, request)), _state(0), placement, rng)
        queue.decide(Scan(), _state(0), placement, rng)
        state = _state(idle)
        began_s = time.process_time()
        queue.decide(Scan(), state, placement, rng)
        queue.waiting()
        taken_s.append(time.process_time() - began_s)
    return statistics.median(taken_s)


def _state(idle_in_one: int) -> SystemState:
    idle = tuple(idle_in_one if index == 2 else 3 for index in range(len(CLUSTERS)))
    files = {f"file{number}": FileState((number % len(CLUSTERS),), 1e9) for number in range(FILES)}
    bandwidth = dict.fromkeys(every_pair(len(CLUSTERS)), 1000000.0)
    return SystemState(
        (PROCESSORS,) * len(CLUSTERS), idle, 0.0, Surroundings(files, bandwidth, every_pair(len(CLUSTERS)))
    )


def _requests(policy: str, waiting: int) -> list[JobRequest]:
    """Requests as campaigns have them: some sizes, one to four components, under `cf` one of some files."""
    draw = random.Random(1)
    requests = []
    for _ in range(waiting):
        sizes = tuple(draw.choice((4, 8, 12, 16, 24, 32)) for _ in range(draw.randint(1, 4)))
        components = (sum(sizes),) if policy == "fcm" else sizes
        file = f"file{draw.randrange(FILES)}" if policy == "cf" else None
        requests.append(JobRequest(KINDS[policy], components, file=file))
    return requests


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queued", type=int, default=10_000)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    scans(options.queued, options.rounds)
    print()
    for clients in options.clients:
        submissions(options.queued, clients, options.seconds)


if __name__ == "__main__":
    main()
