"""Run: ``python -m tests.bench.hung_head``. Does one head whose Slurm hangs hold up anything but its own jobs?

Stops the `slurmctld` of the first cluster of a running, idle testbed (SIGSTOP), and lets it go on in the end. Meanwhile
clients submit jobs that only this cluster could take, another client asks for the broker's health, and jobs for the
other clusters are submitted one by one. Prints submissions per second, how long health took, and how long the jobs for
other clusters took from their submission until they were placed and claimed. All times are host seconds.
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from collections.abc import Callable, Sequence

import httpx

from emulator.cli.options import DEFAULT_NAME
from emulator.client import BrokerClient
from emulator.containers import engine
from emulator.containers.state import TestbedState, testbed_state
from emulator.model.job import JobSpecification
from emulator.model.views import JobView, RunRequest, Submission

SETTLES_HOST_S = 12.0
"""After this long the broker's readers have met the hung head."""
HEALTH_EVERY_HOST_S = 0.05


class Asking(threading.Thread):
    """A thread that does `ask` again and again until told to stop, and keeps how long each took."""

    def __init__(self, ask: Callable[[int], object], host_pause_s: float = 0.0) -> None:
        super().__init__(daemon=True)
        self.taken_s: list[float] = []
        self._ask = ask
        self._host_pause_s = host_pause_s
        self._stopped = threading.Event()

    def run(self) -> None:
        """Ask until stopped."""
        while not self._stopped.wait(self._host_pause_s):
            began_s = time.perf_counter()
            self._ask(len(self.taken_s))
            self.taken_s.append(time.perf_counter() - began_s)

    def stop(self) -> None:
        """Stop after the question under way."""
        self._stopped.set()
        self.join()


def fixed_on(cluster: str) -> JobSpecification:
    """Return a job of two processors that only `cluster` can take."""
    return JobSpecification.model_validate(
        {"kind": "plain", "command": ["true"], "components": [2], "request": "fixed", "clusters": [cluster]}
    )


def health(testbed: TestbedState) -> Asking:
    """Return a thread that asks for the broker's health."""
    asked = httpx.Client(base_url=testbed.api_url, trust_env=False, timeout=60.0)
    return Asking(lambda _: asked.get("/v1/health"), HEALTH_EVERY_HOST_S)


def submitter(testbed: TestbedState, run: int, cluster: str, name: str) -> Asking:
    """Return a thread that submits jobs for `cluster`, each under a key of its own."""
    client = BrokerClient(testbed.api_url, testbed.token)
    job = fixed_on(cluster)
    return Asking(lambda number: client.submit(Submission(specification=job, run=run, key=f"{name}-{number}")))


def ended_elsewhere(broker: BrokerClient, run: int, clusters: Sequence[str], rounds: int) -> list[JobView]:
    """Submit one job after another for `clusters`, and return them when they have ended."""
    ended = []
    for number in range(rounds):
        specification = fixed_on(clusters[number % len(clusters)])
        job = broker.submit(Submission(specification=specification, run=run))
        while not (job := broker.job(job.id)).state.final:
            time.sleep(0.1)
        ended.append(job)
    return ended


def print_health(taken_s: Sequence[float]) -> None:
    """Print how long the broker took to say how it is."""
    each_ms = sorted(1e3 * one for one in taken_s)
    print(
        f"health: {len(each_ms)} answers, median {statistics.median(each_ms):.1f} ms, "
        f"99% under {each_ms[int(0.99 * len(each_ms))]:.1f} ms, longest {each_ms[-1]:.1f} ms"
    )


def print_placed(jobs: Sequence[JobView], when: str) -> None:
    """Print how long jobs took until they were placed and claimed."""
    placed_s = [job.placed_s - job.submitted_s for job in jobs if job.placed_s is not None]
    claimed_s = [job.claimed_s - job.submitted_s for job in jobs if job.claimed_s is not None]
    states = ", ".join(sorted({job.state.value for job in jobs}))
    print(
        f"jobs for other clusters, {when}: {len(placed_s)} of {len(jobs)} placed (median "
        f"{statistics.median(placed_s):.2f} s, longest {max(placed_s):.2f} s), claimed (median "
        f"{statistics.median(claimed_s):.2f} s, longest {max(claimed_s):.2f} s); {states}"
    )


def measure(testbed: TestbedState, clients: int, host_s: float, rounds: int) -> None:
    """Measure while the first cluster's head hangs, and print it."""
    hung, *others = testbed.topology.cluster_names
    container = engine.connect().containers.get(testbed.names.cluster(hung))
    with BrokerClient(testbed.api_url, testbed.token) as broker:
        run = broker.take_run(RunRequest(name="hung-head", paced_middleware=False)).id
        broker.start_run(run)
        container.exec_run(["pkill", "-STOP", "-f", "slurmctld -D"])
        try:
            time.sleep(SETTLES_HOST_S)
            asking = health(testbed)
            asking.start()
            print_placed(ended_elsewhere(broker, run, others, rounds), "nothing waits")
            submitters = [submitter(testbed, run, hung, f"client{number}") for number in range(clients)]
            began_s = time.perf_counter()
            for each in submitters:
                each.start()
            time.sleep(host_s)
            for each in submitters:
                each.stop()
            submitted = sum(len(each.taken_s) for each in submitters)
            rate = submitted / (time.perf_counter() - began_s)
            print(f"submissions: {submitted} by {clients} clients, {rate:.0f} a second")
            print_placed(ended_elsewhere(broker, run, others, rounds), f"{submitted} wait for the hung one")
            asking.stop()
            print_health(asking.taken_s)
        finally:
            broker.end_run(run)
            container.exec_run(["pkill", "-CONT", "-f", "slurmctld -D"])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="hung_head", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--name", default=DEFAULT_NAME)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    measure(testbed_state(options.name), options.clients, options.seconds, options.rounds)


if __name__ == "__main__":
    main()
