"""Run: ``python -m tests.bench.arbiter``. What the arbiter of 16 shared nodes takes of a core, by tasks on a node.

The arbiter is a process of its own, with the rule and the local users of `cisne-shared`. Its tasks are those of drawn
jobs of SIT: each asks for the processor time of a step, and then waits for its messages. They live in one process that
does nothing else, so that they ask in time. Processor time is the arbiter's alone.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import multiprocessing
import select
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from apps.arbiter import Server, Sharing, listen
from apps.pacing import make_timers_exact
from apps.shared_pacing import ANSWER, MOST_BYTES, REQUEST
from emulator.cli.tables import show_rows
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.local_users import profile_named
from emulator.model.node_names import node_names
from emulator.model.units import nanoseconds, seconds_from_nanoseconds
from workloads.shared_node_jobs import published_jobs

TOPOLOGY = topology_named("cisne-shared")
SETTLING_HOST_S = 1.0


@dataclass(slots=True)
class Task:
    """A task: its connection, and the host nanoseconds for which it computes and then waits in every step."""

    connection: socket.socket
    host_compute_ns: int
    host_wait_ns: int

    def ask(self, host_from_ns: int) -> None:
        """Ask for the processor time of the next step."""
        self.connection.send(REQUEST.pack(host_from_ns, self.host_compute_ns))


def sharing() -> Sharing:
    """How tasks share the nodes of the topology."""
    (cluster,), stated = TOPOLOGY.clusters, TOPOLOGY.time_sharing
    assert stated is not None
    users = {node: profile_named(name) for node, name in cluster.local_users.items()}
    times_s = {node: (user.burst_s, user.think_s) for node, user in users.items()}
    return Sharing.parse(json.dumps({"rule": stated.rule, "parallel_share": stated.parallel_share, "users": times_s}))


def serve(listener: socket.socket, folder: Path, nodes: list[str]) -> None:
    """Be the arbiter."""
    make_timers_exact()
    Server(listener, sharing(), nodes, interfaces=folder).serve()


@contextmanager
def arbiter(nodes: list[str]) -> Iterator[tuple[psutil.Process, str]]:
    """An arbiter's process, and the place where it listens."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "socket"
        listener = listen(place)
        process = multiprocessing.get_context("fork").Process(target=serve, args=(listener, Path(folder), nodes))
        process.start()
        try:
            yield psutil.Process(process.pid), str(place)
        finally:
            process.kill()
            process.join()
            listener.close()


def joined(place: str, node: str, dilation: Dilation) -> socket.socket:
    """A connection of a task on `node`, alone in its job."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(place)
    connection.send(json.dumps({"node": node, "nodes": [node], "dilation": dilation.factor}).encode())
    refused = json.loads(connection.recv(MOST_BYTES))["refused"]
    assert not refused, refused
    return connection


def tasks(place: str, nodes: list[str], on_each: int, dilation: Dilation) -> dict[int, Task]:
    """Tasks of drawn jobs on every node, by the numbers of their connections."""
    steps = itertools.cycle([job.steps for job in published_jobs("sit", 1)])
    found = [
        Task(
            joined(place, node, dilation),
            nanoseconds(dilation.host_duration_s(each.compute_s)),
            nanoseconds(dilation.host_duration_s(each.exchange_s)),
        )
        for node, each in zip(nodes * on_each, steps, strict=False)
    ]
    return {task.connection.fileno(): task for task in found}


def run_until(running: dict[int, Task], host_deadline_s: float, ahead: list[tuple[int, int]]) -> int:
    """Let the tasks run until then, those `ahead` from their timestamps on; return how many requests were met."""
    speaking = select.epoll()
    for number in running:
        speaking.register(number, select.EPOLLIN)
    count = 0
    while (now_s := time.monotonic()) < host_deadline_s:
        while ahead and ahead[0][0] <= nanoseconds(now_s):
            host_from_ns, number = heapq.heappop(ahead)
            running[number].ask(host_from_ns)
        next_s = seconds_from_nanoseconds(ahead[0][0]) if ahead else host_deadline_s
        select.select([speaking], [], [], max(0.0, min(next_s, host_deadline_s) - time.monotonic()))
        for number, _ in speaking.poll(0):
            host_end_ns, _ = ANSWER.unpack(running[number].connection.recv(MOST_BYTES))
            heapq.heappush(ahead, (host_end_ns + running[number].host_wait_ns, number))
            count += 1
    return count


def measured(nodes: list[str], on_each: int, dilation: Dilation, host_duration_s: float) -> dict[str, float | str]:
    """What the arbiter takes with so many tasks on each node."""
    with arbiter(nodes) as (process, place):
        running = tasks(place, nodes, on_each, dilation)
        ahead = [(time.monotonic_ns(), number) for number in running]
        run_until(running, time.monotonic() + SETTLING_HOST_S, ahead)
        before_s = sum(process.cpu_times()[:2])
        count = run_until(running, time.monotonic() + host_duration_s, ahead)
        cpu_s = sum(process.cpu_times()[:2]) - before_s
        for task in running.values():
            task.connection.close()
    return {
        "dilation": dilation.factor,
        "tasks on a node": on_each,
        "requests met a second": round(count / host_duration_s),
        "CPU of one (us)": round(1e6 * cpu_s / max(1, count)),
        "share of a core": f"{cpu_s / host_duration_s:.1%}",
    }


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dilations", type=float, nargs="+", default=[0.5, 1.0, 4.0])
    parser.add_argument("--on-each", type=int, nargs="+", default=[1, 4], help="tasks on every node")
    parser.add_argument("--host-seconds", type=float, default=5.0)
    asked = parser.parse_args()
    nodes = node_names(TOPOLOGY.clusters[0].nodes)
    rows = [
        measured(nodes, on_each, Dilation(factor), asked.host_seconds)
        for factor, on_each in itertools.product(asked.dilations, asked.on_each)
    ]
    show_rows(rows, as_json=False, title=f"The arbiter of {len(nodes)} nodes")


if __name__ == "__main__":
    main()
