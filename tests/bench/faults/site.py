"""The testbed that faults are made in: brought up with its journal on a small disk, seen, mended and taken down.

Its journal lies on a disk of its own in memory, which can be filled without harm to the host; only root may mount it. A
container beside the testbed, the keeper, has that disk too, and fills it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import docker
import httpx
import requests
from docker.models.containers import Container

from emulator.client import BrokerClient
from emulator.containers import engine
from emulator.containers.hosts.connecting import engine_named
from emulator.containers.images import ensure_images
from emulator.containers.names import USER, PartNames
from emulator.containers.progress import ignore
from emulator.containers.state import testbed_state
from emulator.containers.wan.handle import wan_handle
from emulator.containers.wan.wide_area import programmed_wide_area
from emulator.model.clock import REAL_TIME
from emulator.model.errors import TestbedError
from emulator.model.topology import Topology
from tests.bench.faults.books import Began, Site, began_of
from tests.bench.faults.load import MARK, RAN
from tests.live.command_line import CommandLine
from tests.live.hosts_lab import Lab, lab

JOURNAL_FOLDER = "/journal"
"""Where the keeper has the journal's disk."""
WELL_WITHIN_HOST_S = 120.0
IDLE_WITHIN_HOST_S = 60.0
LOOK_EVERY_HOST_S = 0.5


@dataclass(frozen=True)
class FaultySite:
    """A testbed under its name, and everything that is done to it and seen of it from outside."""

    testbed: CommandLine
    topology_file: str
    client: docker.DockerClient
    lab: Lab | None = None

    @property
    def names(self) -> PartNames:
        """The names of the testbed's parts."""
        return PartNames(self.testbed.name)

    @cached_property
    def topology(self) -> Topology:
        """The topology that was brought up."""
        return testbed_state(self.testbed.name).topology

    @property
    def keeper_name(self) -> str:
        """The container that fills the journal's disk."""
        return f"{self.testbed.name}-keeper"

    @property
    def hosts(self) -> Lab:
        """The hosts that the testbed is spread over.

        Raises:
            TestbedError: if there is only one.
        """
        if self.lab is None:
            raise TestbedError("This testbed is on one host.")
        return self.lab

    def container(self, part: str) -> Container:
        """Return the container of a part: a cluster's name, ``wan``, ``broker`` or ``keeper``.

        Raises:
            docker.errors.NotFound: if no engine that answers has it.
        """
        name = f"{self.testbed.name}-{part}"
        for client in (self.client,) if self.lab is None else (host.client for host in self.lab.hosts):
            with contextlib.suppress(docker.errors.NotFound, requests.ConnectionError):
                return client.containers.get(name)
        raise docker.errors.NotFound(f"no engine has {name}")

    def run(self, part: str, *command: str, user: str = "root") -> str:
        """Run a command in a part to its end, and return what it printed.

        Raises:
            TestbedError: if it fails.
        """
        code, output = self.container(part).exec_run(list(command), user=user)
        if code != 0:
            raise TestbedError(f"{part}: {command[0]} ended with {code}: {output.decode(errors='replace').strip()}.")
        return output.decode(errors="replace")

    def shell(self, part: str, script: str) -> str:
        """Run a shell script in a part to its end as root, and return what it printed."""
        return self.run(part, "sh", "-c", script)

    def api(self) -> BrokerClient:
        """Return a client of the broker."""
        state = testbed_state(self.testbed.name)
        return BrokerClient(state.api_url, state.token)

    def up(self) -> None:
        """Bring the testbed up, or mend it, once its hosts are ready in the Swarm again.

        Raises:
            TestbedError: if that fails, with all that the command said.
        """
        spread = []
        if self.lab is not None:
            self.lab.await_ready()
            spread = ["--hosts", self.lab.inventory()]
        outcome = self.testbed("up", "--topology", self.topology_file, *spread)
        if outcome.exit_code != 0:
            raise TestbedError(outcome.errors)

    def is_well(self) -> bool:
        """Return whether the broker answers that all is well."""
        url = testbed_state(self.testbed.name).api_url
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(f"{url}/v1/health", trust_env=False, timeout=5.0).status_code == httpx.codes.OK
        return False

    def host_until_well_s(self) -> float | None:
        """Wait until all is well; returns how long that took, or None if it did not come to that."""
        return waited_for(self.is_well, WELL_WITHIN_HOST_S)

    def began(self) -> list[Began]:
        """Return what the processes of jobs wrote down in every cluster."""
        read: list[Began] = []
        for cluster in self.topology.cluster_names:
            lines = self.shell(cluster, f"cat /home/{USER}/{RAN} 2> /dev/null || true").splitlines()
            read += began_of(lines, cluster)
        return read

    def sites(self) -> dict[str, Site]:
        """Return what each cluster holds, once all is idle or that has taken too long."""
        waited_for(lambda: all(_is_idle(site) for site in self._sites().values()), IDLE_WITHIN_HOST_S)
        return self._sites()

    def wrong_links(self) -> list[str]:
        """Return how the wide area differs from what is to be programmed while no run holds the testbed."""
        emulated = self.topology.emulated
        if emulated is None:
            return []
        programmed = programmed_wide_area(
            wan_handle(engine_named(self.testbed.name), testbed_state(self.testbed.name)), emulated
        )
        if programmed.is_for(REAL_TIME):
            return []
        return [f"The wide area is programmed for {programmed.dilation}: {'; '.join(programmed.differences)}."]

    def _sites(self) -> dict[str, Site]:
        return {cluster: self._site(cluster) for cluster in self.topology.cluster_names}

    def _site(self, cluster: str) -> Site:
        held = self.run(cluster, "squeue", "-h", "-o", "%i %j %t").splitlines()
        counts = self.run(cluster, "sinfo", "-h", "-o", "%C").strip().split("/")
        looked_for = ("^python3 -m apps", f"^bash -c .*{MARK}", "slurmstepd: ", "^salloc ")
        listed = [self.shell(cluster, f"pgrep -af '{pattern}' -u {USER},root || true") for pattern in looked_for]
        processes = [line for lines in listed for line in lines.splitlines() if "pgrep -af" not in line]
        return Site(tuple(held), int(counts[3]), int(counts[1]), tuple(processes))


def _is_idle(site: Site) -> bool:
    return not site.held and not site.processes and site.idle == site.processors


def waited_for(condition: Callable[[], bool], host_limit_s: float) -> float | None:
    """Wait until `condition` holds; returns the host seconds that this took, or None if it took too long."""
    began_s = time.monotonic()
    while time.monotonic() - began_s < host_limit_s:
        # A part may be away for a moment.
        with contextlib.suppress(TestbedError, docker.errors.APIError):
            if condition():
                return time.monotonic() - began_s
        time.sleep(LOOK_EVERY_HOST_S)
    return None


@contextmanager
def standing_over(hosts: int, name: str, topology: str, journal_mbytes: int) -> Iterator[FaultySite]:
    """Do as `standing`, over so many hosts in network namespaces; with one, on this host itself."""
    if hosts == 1:
        with standing(name, topology, journal_mbytes) as site:
            yield site
        return
    with lab(name, hosts) as made:
        made.join(*made.hosts[1:])
        with made.entered(), standing(name, topology, journal_mbytes, made) as site:
            yield site


@contextmanager
def standing(name: str, topology: str, journal_mbytes: int, over: Lab | None = None) -> Iterator[FaultySite]:
    """Bring a testbed up, with its journal on a disk of that size; take it down, with all that belongs to it.

    Over several hosts the journal has no disk of its own.

    Raises:
        TestbedError: if this user may not mount such a disk.
    """
    client = engine.connect()
    site = FaultySite(CommandLine(name), topology, client, over)
    images = ensure_images(client, ignore)
    _remove(site)
    try:
        site.up()
        journal = client.volumes.get(site.names.journal_volume)
        if over is None:
            size = f"size={journal_mbytes}m,mode=755"
            with _stopped(site.container("broker")):
                _as_root("mount", "-t", "tmpfs", "-o", size, "tmpfs", journal.attrs["Mountpoint"])
        mounted = {journal.name: {"bind": JOURNAL_FOLDER, "mode": "rw"}}
        command = ["sleep", "infinity"]
        client.containers.run(
            images.broker, command, name=site.keeper_name, volumes=mounted, detach=True, init=True, network_mode="none"
        )
        site.host_until_well_s()
        yield site
    finally:
        _remove(site)


@contextmanager
def _stopped(container: Container) -> Iterator[None]:
    container.stop()
    yield
    container.start()


def _remove(site: FaultySite) -> None:
    with contextlib.suppress(docker.errors.NotFound):
        site.client.containers.get(site.keeper_name).remove(force=True)
    for journal in site.client.volumes.list(filters={"name": site.names.journal_volume}):
        if os.path.ismount(journal.attrs["Mountpoint"]):
            _as_root("umount", journal.attrs["Mountpoint"])
    if site.testbed.left_over():
        site.testbed.succeed("down")


def _as_root(*command: str) -> None:
    """Run a command of this host's administrator.

    Raises:
        TestbedError: if this user may not.
    """
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        said = ended.stderr.strip().rstrip(".")
        raise TestbedError(f"A disk for the journal cannot be mounted: {said} (run this as root, where Docker runs).")
