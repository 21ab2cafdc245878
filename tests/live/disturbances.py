"""Twenty ways of disturbing a run behind its back, and of taking the disturbance back: kinds and strengths.

Each is a context: the host, a link or a container is disturbed for as long as it is held. What a verdict must name, if
it is to count as having noticed, stands beside each. Used by the live tests and by the bench.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from emulator.campaigns.conduct import Progress
from emulator.containers import engine
from emulator.containers.state import standing
from emulator.containers.wan.program import (
    DelayLine,
    WideAreaProgram,
    band_of,
    delay_arguments,
    line_handle,
    wide_area_program,
)
from emulator.containers.wan.router import Router
from emulator.containers.wan.stand import Stand
from emulator.model.clock import Dilation

PERIOD_US = 200_000
HOST_LEAD_S = 0.5
"""How long a job has run when it is disturbed."""

HOST_HELD_S = 4.0
"""For how long it is."""

SOURCE, TARGET = 0, 1
"""The clusters, by their number in the topology, between which links are disturbed: the first two, which jobs cross."""

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


@dataclass(frozen=True)
class Scene:
    """The testbed that is disturbed, at the dilation of the run, and a folder on the disk of the run's records."""

    stand: Stand
    program: WideAreaProgram
    folder: Path

    @classmethod
    def of(cls, name: str, dilation: Dilation, folder: Path) -> Scene:
        """The scene on the standing testbed called `name`."""
        state = standing(name)
        stand = Stand.of(engine.connect(), state.names, state.topology.cluster_names, state.addresses)
        return cls(stand, wide_area_program(state.topology, dilation, state.addresses), folder)

    @property
    def cluster(self) -> str:
        """The container of the first cluster."""
        return self.stand.cluster_containers[SOURCE]

    @property
    def line(self) -> DelayLine:
        """The way from the first cluster to the second."""
        return next(
            line for line in self.program.router.lines if (line.source_index, line.target_index) == (SOURCE, TARGET)
        )


Disturbing = Callable[[Scene], AbstractContextManager[None]]


@dataclass(frozen=True)
class Disturbance:
    """One disturbance: its kind, its strength in words, and words of which a verdict's reasons must hold one."""

    kind: str
    strength: str
    disturbing: Disturbing
    named: tuple[str, ...]

    @property
    def shown(self) -> str:
        """The disturbance in words."""
        return f"{self.kind}: {self.strength}"

    def is_named_in(self, reasons: Iterable[str]) -> bool:
        """Whether one of the reasons of a verdict names it."""
        return any(words in reason for reason in reasons for words in self.named)


@dataclass
class Disturber:
    """Disturbs jobs that run one after another as they come; `plan` has a disturbance, or None, for each."""

    scene: Scene
    plan: Sequence[Disturbance | None]
    begun: set[int] = field(default_factory=set)
    threads: list[threading.Thread] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)

    def tell(self, progress: Progress) -> None:
        """Disturb the job that runs, once: what a run is given to tell its progress to."""
        job = progress.finished + progress.failed
        if progress.running == 0 or job in self.begun or job >= len(self.plan):
            return
        self.begun.add(job)
        disturbance = self.plan[job]
        if disturbance is not None:
            self.threads.append(threading.Thread(target=self._disturb, args=(disturbance,)))
            self.threads[-1].start()

    def _disturb(self, disturbance: Disturbance) -> None:
        time.sleep(HOST_LEAD_S)
        try:
            with disturbance.disturbing(self.scene):
                time.sleep(HOST_HELD_S)
        except Exception as error:
            self.errors.append(error)

    def finish(self) -> None:
        """Wait until everything is undisturbed again.

        Raises:
            ExceptionGroup: if something could not be disturbed, or not be put back.
        """
        for thread in self.threads:
            thread.join()
        if self.errors:
            raise ExceptionGroup("disturbances", [error for error in self.errors if isinstance(error, Exception)])


@contextmanager
def processes(commands: list[list[str]]) -> Iterator[None]:
    """Processes of their own, ended when this is left."""
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
    """A container that takes more memory than it may have, again and again, and is killed for it."""
    return beside(scene, limit, 'while :; do python3 -c "bytearray(2**30)"; sleep 0.5; done')


def writers(number: int, scene: Scene) -> AbstractContextManager[None]:
    return processes([[sys.executable, "-c", WRITER, str(scene.folder / f"written-{it}")] for it in range(number)])


def thrashing(limit: str, scene: Scene) -> AbstractContextManager[None]:
    """A container whose memory does not hold the files that it reads, and so reads them again and again."""
    return beside(scene, limit, "while :; do cat /usr/lib/x86_64-linux-gnu/*.so* /usr/bin/* >/dev/null; done")


@contextmanager
def beside(scene: Scene, limit: str, script: str) -> Iterator[None]:
    """A container beside the testbed's that runs `script` in so much memory."""
    image = scene.stand.container(scene.cluster).image.id
    container = scene.stand.client.containers.run(
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
    """The way from the first cluster to the second made longer, or lossy."""
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
    router = Router(scene.stand)
    router.run(change + delay_arguments(changed))
    try:
        yield
    finally:
        router.run(change + delay_arguments(line))


@contextmanager
def uplink(scene: Scene, *, factor: float) -> Iterator[None]:
    """The first cluster's uplink at a share of its rate."""
    shaper = scene.program.edges[SOURCE].up

    def programmed(rate_mbit: float) -> None:
        script = (
            f"link=$(ip -o -4 addr show to {scene.program.edges[SOURCE].address} | awk '{{print $2; exit}}'); tc qdisc"
            f" change dev $link root handle 1: tbf rate {round(rate_mbit * 1e6)}bit burst {shaper.burst_bytes}b"
            f" limit {shaper.queue_bytes}b"
        )
        scene.stand.execute(scene.cluster, ["sh", "-c", script])

    programmed(factor * shaper.host_rate_mbit)
    try:
        yield
    finally:
        programmed(shaper.host_rate_mbit)


@contextmanager
def quota(part: str, share: float, scene: Scene) -> Iterator[None]:
    """A container held to a share of one processor."""
    name = scene.stand.router_container if part == "router" else scene.cluster
    container = scene.stand.container(name)
    container.update(cpu_period=PERIOD_US, cpu_quota=round(share * PERIOD_US))
    try:
        yield
    finally:
        container.update(cpu_period=PERIOD_US, cpu_quota=-1)


@contextmanager
def paused(part: str, host_s: float, scene: Scene) -> Iterator[None]:
    """A container that stands still for a while."""
    container = scene.stand.container(scene.stand.router_container if part == "router" else scene.cluster)
    container.pause()
    try:
        time.sleep(host_s)
    finally:
        container.unpause()
    yield


@contextmanager
def flood(factor: float, scene: Scene) -> Iterator[None]:
    """Datagrams over the job's link, at so many times its rate."""
    rate_bytes = factor * scene.program.edges[SOURCE].up.host_rate_mbit * 1e6 / 8
    address = scene.program.edges[TARGET].address
    command = ["python3", "-c", FLOOD, address, str(rate_bytes), "3"]
    sending = threading.Thread(target=scene.stand.execute, args=(scene.cluster, command))
    sending.start()
    yield
    sending.join()


CHANGED = ("a link was programmed anew",)
CPU = ("other work took", "waited for a processor")
MEMORY = ("of the host's memory available", "waited for memory", "killed for want of memory")
DISK = ("waited for a disk", "to reach the disk")
THROTTLED = ("throttled by its CPU quota",)
STILL = ("stood still",)
OTHERS = ("datagrams of others",)

DISTURBANCES = (
    Disturbance("busy loops", "one on every core", partial(busy_loops, 1.0), CPU),
    Disturbance("busy loops", "two on every core", partial(busy_loops, 2.0), CPU),
    Disturbance("busy loops", "four on every core", partial(busy_loops, 4.0), CPU),
    Disturbance("link's delay", "four times as long", partial(delay_line, factor=4.0), CHANGED),
    Disturbance("link's delay", "a tenth longer", partial(delay_line, factor=1.1), CHANGED),
    Disturbance("link's rate", "half", partial(uplink, factor=0.5), CHANGED),
    Disturbance("link's rate", "nine tenths", partial(uplink, factor=0.9), CHANGED),
    Disturbance("link's loss", "5%", partial(delay_line, loss=0.05), CHANGED),
    Disturbance("link's loss", "0.5%", partial(delay_line, loss=0.005), CHANGED),
    Disturbance("datagrams over the link", "twice its rate", partial(flood, 2.0), OTHERS),
    Disturbance("cluster's CPU quota", "a hundredth of a core", partial(quota, "cluster", 0.01), THROTTLED),
    Disturbance("cluster's CPU quota", "a two-hundredth of a core", partial(quota, "cluster", 0.005), THROTTLED),
    Disturbance("router's CPU quota", "a two-hundredth of a core", partial(quota, "router", 0.005), THROTTLED),
    Disturbance("cluster stands still", "1 s", partial(paused, "cluster", 1.0), STILL),
    Disturbance("cluster stands still", "0.4 s", partial(paused, "cluster", 0.4), STILL),
    Disturbance("router stands still", "1 s", partial(paused, "router", 1.0), STILL),
    Disturbance("memory hog", "more than its container may have", partial(memory_hog, "64m"), MEMORY),
    Disturbance("memory thrashing", "in a container of 32 MB", partial(thrashing, "32m"), (*MEMORY, *CPU, *DISK)),
    Disturbance("slow disk", "four writers that sync", partial(writers, 4), DISK),
    Disturbance("slow disk", "one writer that syncs", partial(writers, 1), DISK),
)
