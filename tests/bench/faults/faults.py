"""How each kind of fault is made and ended, with the rights of the host's administrator.

Each is a context: the fault is made on entry and, if it lasts, ended on exit. Processes are killed by name, as a
machine's own troubles would; nothing here knows of the broker's code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress

import docker

from emulator.containers.names import USER
from tests.bench.faults.clock import set_clock
from tests.bench.faults.drawing import Fault, Kind, Part
from tests.bench.faults.site import JOURNAL_FOLDER, FaultySite

EVENTS = f"/home/{USER}/.testbed/events"
KILL_BROKER = """
import os, pathlib, signal
for process in pathlib.Path("/proc").glob("[0-9]*"):
    words = (process / "cmdline").read_bytes().split(b"\\0")
    if words[:1] != [b""] and b"emulator.broker" in words:
        os.kill(int(process.name), signal.SIGKILL)
"""
# The log is emptied first: pages that it holds already would take more events without needing the disk.
FILL = f"""
import os, sqlite3
journal = sqlite3.connect("{JOURNAL_FOLDER}/journal.sqlite", timeout=5)
journal.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
journal.close()
with open("{JOURNAL_FOLDER}/filler", "wb", buffering=0) as filler:
    for block in (b"x" * 65536, b"x" * 512):
        try:
            while True:
                filler.seek(0, 2)
                filler.write(block)
        except OSError:
            pass
"""
LOCK = f"""
import sqlite3, time
journal = sqlite3.connect("{JOURNAL_FOLDER}/journal.sqlite", timeout=5, isolation_level=None)
journal.execute("BEGIN IMMEDIATE")
time.sleep({{host_s:.1f}})
journal.execute("ROLLBACK")
"""
TORN = (
    "printf 'claimed 17' >> {events}; printf '\\n\\000\\377ended nan x 9\\nclaimed 1e999 {testbed}.0-1.1-x 5\\n' >> "
    "{events}; head -c 5000 /dev/urandom >> {events}; echo >> {events}"
)
WRITERS = 4

Made = Callable[[FaultySite, Fault], AbstractContextManager[None]]


def _at_once(act: Callable[[FaultySite, Fault], object]) -> Made:
    """A fault that is over when it is made."""

    @contextmanager
    def made(site: FaultySite, fault: Fault) -> Iterator[None]:
        act(site, fault)
        yield

    return made


def _kill(command: str, signal: str = "KILL") -> Callable[[FaultySite, Fault], object]:
    """Send a signal to the processes of a cluster whose command line matches; ``%n`` stands for the node."""

    def act(site: FaultySite, fault: Fault) -> None:
        # Not over a shell, whose own command line would match. It may have been killed already.
        pattern = command.replace("%n", f"n{fault.node}")
        site.container(fault.cluster).exec_run(["pkill", f"-{signal}", "-f", pattern])

    return act


@contextmanager
def _hung(site: FaultySite, fault: Fault, command: str) -> Iterator[None]:
    _kill(command, "STOP")(site, fault)
    try:
        yield
    finally:
        with suppress(docker.errors.APIError):  # the container may be gone, with its processes
            _kill(command, "CONT")(site, fault)


@contextmanager
def _paused(site: FaultySite, fault: Fault) -> Iterator[None]:
    container = site.container(_service(fault))
    container.pause()
    try:
        yield
    finally:
        container.unpause()


def _service(fault: Fault) -> str:
    return {Part.BROKER: "broker", Part.ROUTER: "wan"}.get(fault.kind.part, fault.cluster)


@contextmanager
def _full_disk(site: FaultySite, fault: Fault) -> Iterator[None]:
    site.run("keeper", "python3", "-c", FILL)
    try:
        yield
    finally:
        site.shell("keeper", f"rm -f {JOURNAL_FOLDER}/filler")


@contextmanager
def _locked_journal(site: FaultySite, fault: Fault) -> Iterator[None]:
    script = LOCK.format(host_s=fault.host_lasts_s)
    site.container("keeper").exec_run(["python3", "-c", script], detach=True)
    yield


@contextmanager
def _slow_disk(site: FaultySite, fault: Fault) -> Iterator[None]:
    folder = f"/home/{USER}"
    loop = (
        f"end=$(($(date +%s) + {fault.host_lasts_s:.0f})); while [ $(date +%s) -lt $end ]; do "
        f"dd if=/dev/zero of={folder}/.slow.$1 bs=64k count=64 oflag=dsync 2> /dev/null; done; rm -f {folder}/.slow.$1"
    )
    for number in range(WRITERS):
        site.container(fault.cluster).exec_run(["sh", "-c", loop, "slow-disk", str(number)], detach=True)
    yield


def _disconnected(network: Callable[[FaultySite, Fault], str]) -> Callable[[FaultySite, Fault], object]:
    def act(site: FaultySite, fault: Fault) -> None:
        container = site.container(_service(fault))
        container.client.networks.get(network(site, fault)).disconnect(container, force=True)

    return act


def _control(site: FaultySite, fault: Fault) -> str:
    return site.names.control_network


def _site_network(site: FaultySite, fault: Fault) -> str:
    return site.names.site_network(fault.cluster)


@contextmanager
def _cut_off(site: FaultySite, fault: Fault) -> Iterator[None]:
    with site.hosts.cut_off(site.hosts.host(fault.host)):
        yield


@contextmanager
def _full_host(site: FaultySite, fault: Fault) -> Iterator[None]:
    with site.hosts.host(fault.host).full_disk():
        yield


def _restart_host(site: FaultySite, fault: Fault) -> None:
    """End a host's engine with its containers, as a reboot does, and start it."""
    site.hosts.host(fault.host).restart()


def _restart_central_host(site: FaultySite, fault: Fault) -> None:
    site.hosts.central.restart()
    site.container("keeper").start()


MADE: Mapping[Kind, Made] = {
    Kind("broker killed", Part.BROKER, weight=3.0): _at_once(
        lambda site, fault: site.run("broker", "python3", "-c", KILL_BROKER)
    ),
    Kind("broker stopped and started", Part.BROKER, weight=2.0): _at_once(
        lambda site, fault: site.container("broker").restart(timeout=10)
    ),
    Kind("broker killed from outside", Part.BROKER, needs_up=True): _at_once(
        lambda site, fault: site.container("broker").kill()
    ),
    Kind("broker paused", Part.BROKER, (2.0, 15.0)): _paused,
    Kind("broker without its network", Part.BROKER, needs_up=True): _at_once(_disconnected(_control)),
    Kind("journal's disk full", Part.JOURNAL, (3.0, 20.0), weight=2.0): _full_disk,
    Kind("journal locked", Part.BROKER, (2.0, 12.0)): _locked_journal,
    Kind("slurmctld killed", Part.CLUSTER, weight=2.0): _at_once(_kill("slurmctld -D")),
    Kind("slurmctld hung", Part.CLUSTER, (3.0, 25.0), weight=2.0): lambda site, fault: _hung(
        site, fault, "slurmctld -D"
    ),
    Kind("slurmd killed", Part.NODE, weight=2.0): _at_once(_kill("slurmd -D -N %n$")),
    Kind("slurmd hung", Part.NODE, (3.0, 20.0)): lambda site, fault: _hung(site, fault, f"slurmd -D -N n{fault.node}$"),
    Kind("munged killed", Part.CLUSTER): _at_once(_kill("munged --foreground")),
    Kind("sshd killed", Part.CLUSTER): _at_once(_kill("sshd -D")),
    Kind("connections of the broker killed", Part.CLUSTER, weight=2.0): _at_once(_kill(f"sshd: {USER}")),
    Kind("programs of the jobs killed", Part.CLUSTER): _at_once(_kill("^srun --jobid")),
    Kind("events file emptied", Part.CLUSTER, weight=2.0): _at_once(
        lambda site, fault: site.shell(fault.cluster, f": > {EVENTS}")
    ),
    Kind("events file removed", Part.CLUSTER): _at_once(
        lambda site, fault: site.shell(fault.cluster, f"rm -f {EVENTS}")
    ),
    Kind("torn and forged events", Part.CLUSTER): _at_once(
        lambda site, fault: site.shell(fault.cluster, TORN.format(events=EVENTS, testbed=site.testbed.name))
    ),
    Kind("disk of a head slow", Part.CLUSTER, (3.0, 10.0)): _slow_disk,
    Kind("head paused", Part.CLUSTER, (2.0, 25.0)): _paused,
    Kind("head restarted", Part.CLUSTER, needs_up=True): _at_once(
        lambda site, fault: site.container(fault.cluster).restart(timeout=2)
    ),
    Kind("head killed", Part.CLUSTER, needs_up=True): _at_once(
        lambda site, fault: site.container(fault.cluster).kill()
    ),
    Kind("head without its control network", Part.CLUSTER, needs_up=True): _at_once(_disconnected(_control)),
    Kind("head without its site's network", Part.CLUSTER, needs_up=True): _at_once(_disconnected(_site_network)),
    Kind("clock set an hour ahead", Part.ALL): _at_once(lambda site, fault: set_clock(site, 3600.0)),
    Kind("clock set an hour back", Part.ALL): _at_once(lambda site, fault: set_clock(site, -3600.0)),
    Kind("router paused", Part.ROUTER, (2.0, 10.0)): _paused,
    Kind("router killed", Part.ROUTER, needs_up=True): _at_once(lambda site, fault: site.container("wan").kill()),
    Kind("host cut off", Part.HOST, (5.0, 60.0), weight=3.0, needs_up=True): _cut_off,
    Kind("host restarted", Part.HOST, weight=3.0, needs_up=True): _at_once(_restart_host),
    Kind("disk of a host full", Part.HOST, (3.0, 20.0), weight=3.0, needs_up=True): _full_host,
    Kind("central host restarted", Part.CENTRAL_HOST, weight=3.0, needs_up=True): _at_once(_restart_central_host),
}
"""Every kind of fault, and how it is made."""

FAULTS = tuple(MADE)
