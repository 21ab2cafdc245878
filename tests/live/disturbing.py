"""Ways to disturb the host, a link or a container of a running testbed: context managers that undo it at their end.

`Scene` is the testbed that they disturb.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from emulator.containers import engine
from emulator.containers.state import testbed_state
from emulator.containers.wan.commands import band_of, delay_arguments, line_handle
from emulator.containers.wan.handle import WanHandle
from emulator.containers.wan.program import DelayLine, WideAreaProgram, wide_area_program
from emulator.containers.wan.router import Router
from emulator.model.clock import Dilation

PERIOD_US = 200_000

SOURCE, TARGET = 0, 1
"""The indices of the clusters between which links are disturbed: the first two, whose link the jobs use."""

BUSY = "while True: pass"
WRITER = """
import os, sys
with open(sys.argv[1], "wb", buffering=0) as file:
    while True:
        file.write(b"x" * 65536)
        os.fsync(file.fileno())
        file.seek(0)
"""
FLOOD = """
import socket, sys, time
address, rate_bytes, seconds = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
began, sent = time.monotonic(), 0
while (now := time.monotonic() - began) < seconds:
    while sent < rate_bytes * now:
        try:
            sender.sendto(bytes(1400), (address, 9))
        except OSError:
            pass
        sent += 1442
    time.sleep(0.002)
"""

STREAM_PORT = 9009
STREAM_S = 5.0
"""How long a stranger's stream lasts, in host seconds."""

SINK = """
import socket, sys
listening = socket.create_server(("", int(sys.argv[1])), backlog=16)
listening.settimeout(float(sys.argv[2]) + 5)
connections = []
for _ in range(int(sys.argv[3])):
    connections.append(listening.accept()[0])
for connection in connections:
    connection.settimeout(float(sys.argv[2]) + 30)
    while connection.recv(65536):
        pass
"""
STREAMS = """
import socket, sys, threading, time
address, port, rate_bytes, seconds, number = sys.argv[1], *map(float, sys.argv[2:])

def send(connection):
    began, sent = time.monotonic(), 0
    while (now := time.monotonic() - began) < seconds:
        if sent < rate_bytes * now:
            sent += connection.send(bytes(1448))
        else:
            time.sleep(0.002)
    connection.close()

def connected():
    for _ in range(50):
        try:
            return socket.create_connection((address, int(port)), timeout=30)
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise SystemExit("nobody listens")

senders = [threading.Thread(target=send, args=(connected(),)) for _ in range(int(number))]
for sender in senders:
    sender.start()
"""
RANKS = "^python3 -m apps "


@dataclass(frozen=True)
class Scene:
    """The disturbed testbed, at the dilation of the run, and a folder on the disk of the run's records."""

    handle: WanHandle
    program: WideAreaProgram
    folder: Path

    @classmethod
    def of(cls, name: str, dilation: Dilation, folder: Path) -> Scene:
        """Return the scene of the running testbed called `name`."""
        state = testbed_state(name)
        handle = WanHandle.of(engine.connect(), state.names, state.topology.cluster_names, state.addresses)
        return cls(handle, wide_area_program(state.topology, dilation, state.addresses), folder)

    @property
    def cluster(self) -> str:
        """The container of the first cluster."""
        return self.handle.cluster_containers[SOURCE]

    @property
    def line(self) -> DelayLine:
        """The delay line from the first cluster to the second."""
        return next(
            line for line in self.program.router.lines if (line.source_index, line.target_index) == (SOURCE, TARGET)
        )


@contextmanager
def processes(commands: list[list[str]]) -> Iterator[None]:
    """Run `commands` as processes, and kill them afterwards."""
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for command in commands]
    try:
        yield
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()


def busy_loops(per_core: float, scene: Scene) -> AbstractContextManager[None]:
    loops = max(1, round(per_core * (os.cpu_count() or 1)))
    return processes([[sys.executable, "-c", BUSY]] * loops)


def memory_hog(limit: str, scene: Scene) -> AbstractContextManager[None]:
    """Run a container that repeatedly allocates more memory than its limit and is killed."""
    return beside(scene, limit, 'while :; do python3 -c "bytearray(2**30)"; sleep 0.5; done')


def writers(number: int, scene: Scene) -> AbstractContextManager[None]:
    return processes(
        [[sys.executable, "-c", WRITER, str(scene.folder / f"written-{index}")] for index in range(number)]
    )


def thrashing(limit: str, scene: Scene) -> AbstractContextManager[None]:
    """Run a container that reads files larger than its memory limit again and again."""
    return beside(scene, limit, "while :; do cat /usr/lib/x86_64-linux-gnu/*.so* /usr/bin/* >/dev/null; done")


@contextmanager
def beside(scene: Scene, limit: str, script: str) -> Iterator[None]:
    """Run `script` in an extra container with the memory limit `limit`."""
    image = scene.handle.container(scene.cluster).image.id
    container = scene.handle.client.containers.run(
        image,
        ["-c", script],
        entrypoint=["sh"],
        mem_limit=limit,
        detach=True,
        remove=True,
    )
    try:
        yield
    finally:
        container.kill()


@contextmanager
def delay_line(scene: Scene, *, factor: float = 1.0, loss: float = 0.0) -> Iterator[None]:
    """Multiply the delay from the first cluster to the second, or add loss."""
    line = scene.line
    band = band_of(line)
    change = f"tc qdisc change dev site{line.target_index} parent 1:{band:x} handle {line_handle(band):x}: "
    changed = DelayLine(
        line.source_index,
        line.target_index,
        line.source_network,
        line.host_delay_s * factor,
        line.host_jitter_s,
        loss or line.loss,
        line.host_rate_mbit,
        line.queue_packets,
    )
    router = Router(scene.handle)
    router.run(change + delay_arguments(changed))
    try:
        yield
    finally:
        router.run(change + delay_arguments(line))


@contextmanager
def uplink(scene: Scene, *, factor: float) -> Iterator[None]:
    """Reduce the first cluster's uplink to a share of its rate."""
    shaper = scene.program.edges[SOURCE].up

    def programmed(rate_mbit: float) -> None:
        script = (
            f"link=$(ip -o -4 addr show to {scene.program.edges[SOURCE].address} | awk '{{print $2; exit}}'); tc qdisc"
            f" change dev $link root handle 1: tbf rate {round(rate_mbit * 1e6)}bit burst {shaper.burst_bytes}b"
            f" limit {shaper.queue_bytes}b"
        )
        scene.handle.execute(scene.cluster, ["sh", "-c", script])

    programmed(factor * shaper.host_rate_mbit)
    try:
        yield
    finally:
        programmed(shaper.host_rate_mbit)


@contextmanager
def quota(part: str, share: float, scene: Scene) -> Iterator[None]:
    """Limit a container to a share of one processor."""
    name = scene.handle.router_container if part == "router" else scene.cluster
    container = scene.handle.container(name)
    container.update(cpu_period=PERIOD_US, cpu_quota=round(share * PERIOD_US))
    try:
        yield
    finally:
        container.update(cpu_period=PERIOD_US, cpu_quota=-1)


@contextmanager
def paused(part: str, host_s: float, scene: Scene) -> Iterator[None]:
    """Pause a container for `host_s` seconds."""
    container = scene.handle.container(scene.handle.router_container if part == "router" else scene.cluster)
    container.pause()
    try:
        time.sleep(host_s)
    finally:
        container.unpause()
    yield


@contextmanager
def flood(factor: float, scene: Scene) -> Iterator[None]:
    """Send datagrams over the job's link, at `factor` times its rate."""
    rate_bytes = factor * scene.program.edges[SOURCE].up.host_rate_mbit * 1e6 / 8
    address = scene.program.edges[TARGET].address
    command = ["python3", "-c", FLOOD, address, str(rate_bytes), "3"]
    sending = threading.Thread(target=scene.handle.execute, args=(scene.cluster, command))
    sending.start()
    yield
    sending.join()


@contextmanager
def streams(factor: float, number: int, scene: Scene, *, back: bool = False) -> Iterator[None]:
    """Send streams of TCP over the job's link for some seconds, each at most at `factor` times its rate.

    They go from the first cluster to the second, or `back`.
    """
    source, target = (TARGET, SOURCE) if back else (SOURCE, TARGET)
    rate_bytes = factor * scene.program.edges[source].up.host_rate_mbit * 1e6 / 8
    given = [str(STREAM_PORT), str(rate_bytes), str(STREAM_S), str(number)]
    sink = ["python3", "-c", SINK, str(STREAM_PORT), str(STREAM_S), str(number)]
    stream = ["python3", "-c", STREAMS, scene.program.edges[target].address, *given]
    ends = ((scene.handle.cluster_containers[target], sink), (scene.handle.cluster_containers[source], stream))
    running = [threading.Thread(target=scene.handle.execute, args=end) for end in ends]
    for end in running:
        end.start()
    yield
    for end in running:
        end.join()


@contextmanager
def ranks_stopped(host_s: float, which: str, scene: Scene) -> Iterator[None]:
    """Stop ranks for `host_s` seconds, as a debugger does: all of `both` clusters, all of the `first`, or `one`."""
    at = (SOURCE, TARGET) if which == "both" else (SOURCE,)
    containers = [scene.handle.cluster_containers[cluster] for cluster in at]
    chosen = "--newest" if which == "one" else ""

    def signal(name: str) -> None:
        for container in containers:
            scene.handle.execute(container, ["sh", "-c", f"pkill --signal {name} {chosen} --full '{RANKS}'"])

    try:
        signal("STOP")
        time.sleep(host_s)
    finally:
        signal("CONT")
    yield


@contextmanager
def guest_stopped(host_s: float, scene: Scene) -> Iterator[None]:
    """Stop all processes of the router's container but its first, which a signal from inside does not stop."""
    router = scene.handle.router_container
    scene.handle.execute(router, ["sh", "-c", "kill -STOP -1"])
    try:
        time.sleep(host_s)
    finally:
        scene.handle.execute(router, ["sh", "-c", "kill -CONT -1"])
    yield


@contextmanager
def echoes(scene: Scene) -> Iterator[None]:
    """Ask the second cluster for echoes (ICMP) as fast as the link takes them."""
    command = ["ping", "-q", "-f", "-s", "1400", "-w", "3", scene.program.edges[TARGET].address]
    asking = threading.Thread(target=scene.handle.container(scene.cluster).exec_run, args=(command,))
    asking.start()
    yield
    asking.join()
