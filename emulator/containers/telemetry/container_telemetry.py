"""The telemetry of a running testbed: counters of the host, of its containers and of its links.

Reading counters takes a millisecond or two, because they are files of the host; another host's are read through a
console there. Reading links takes a short command in each container and in the router's guest, so links are read less
often.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import docker
from docker.models.containers import Container

from emulator.containers.engine import ENGINE_ERRORS
from emulator.containers.hosts.engines import unseen_host
from emulator.containers.names import PartNames
from emulator.containers.telemetry.consoles import Console
from emulator.containers.telemetry.control_groups import ControlGroups
from emulator.containers.telemetry.counters import Counters, host_counters, lines_of, missing_counters
from emulator.containers.telemetry.link_counts import LinkCount, Queue, delay_links, edge_links, parsed_queues
from emulator.containers.telemetry.other_hosts import BOOT, RemoteContainer
from emulator.containers.telemetry.own_processes import OwnProcesses
from emulator.containers.telemetry.standstills import Standstills, listening
from emulator.containers.wan.router import RUN
from emulator.model.errors import TestbedNotUp
from emulator.model.evidence import BROKER_PART, COMMAND_PART, HOST_PART, ROUTER_PART, HostSize, host_part

QUEUES: Final = "tc -s -j qdisc show"
_ATTEMPTS: Final = 2
_CHANGES: Final = "--changes--"

# In a cluster's container, the shell of the console watches itself.
_WATCH_EDGE: Final = "changes=$(mktemp /run/changes.XXXXXX); tc monitor >$changes 2>/dev/null </dev/null & watcher=$!"
_LEAVE_EDGE: Final = "kill $watcher; rm -f $changes"

# The router's kernel may be a guest, which writes what the container reads at /run/wan to its own /mnt, and writes it
# at once only where a file is closed.
_GUEST_FOLDER: Final = "d=/run/wan; (: >$d/changes) 2>/dev/null || d=/mnt; : >$d/changes"
_WATCH_ROUTER: Final = (
    f"{_GUEST_FOLDER}; {{ tc monitor & echo $! >$d/watcher; wait; }} 2>/dev/null </dev/null"
    " | while read -r change; do echo $change >>$d/changes; done >/dev/null 2>&1 &"
)
_LEAVE_ROUTER: Final = "kill $(cat /run/wan/watcher)"


@dataclass
class ContainerTelemetry:
    """The telemetry of a testbed; `containers` by part, the clusters first and in the topology's order."""

    client: docker.DockerClient
    clusters: tuple[str, ...]
    containers: Mapping[str, str]
    standstills: Standstills
    own_processes: OwnProcesses
    groups: dict[str, ControlGroups] = field(default_factory=dict)
    others: dict[str, RemoteContainer] = field(default_factory=dict)
    untold: dict[str, None] = field(default_factory=dict)
    _consoles: dict[str, Console] = field(default_factory=dict)
    _host_looked_s: float = field(default_factory=time.monotonic)
    _host_router_stopped_s: float = 0.0

    @property
    def missing(self) -> tuple[str, ...]:
        """What this host does not report, or did not at some time, a phrase each."""
        return tuple(self.untold)

    @property
    def hosts(self) -> dict[str, str]:
        """The host of each cluster that is not on this one."""
        return {cluster: container.host for cluster, container in self.others.items()}

    @property
    def sizes(self) -> dict[str, HostSize]:
        """The size of each other host that was read."""
        return {each.host: size for each in self.others.values() if (size := each.size) is not None}

    def look(self) -> dict[str, Counters]:
        """Return the present counters of all hosts and of every part that could be read."""
        asked = [container for container in self.others.values() if self._is_heard(container) and container.ask()]
        found = {HOST_PART: host_counters(), COMMAND_PART: Counters(host_cpu_s=self.own_processes.used_s())}
        found |= {part: self._of(part, groups) for part, groups in self.groups.items()}
        read = [container for container in asked if container.receive()]
        for container in read:
            host_stopped_s = self.standstills.host_stopped_s(container.container)
            found[container.cluster] = replace(container.counters(), host_stopped_s=host_stopped_s)
            found[host_part(container.host)] = container.host_counters()
        self.untold |= dict.fromkeys(
            f"the counters of {container.cluster} on host {container.host}, at some time"
            for container in self.others.values()
            if container not in read
        )
        return found

    def links(self) -> list[LinkCount]:
        """Return the present counts of every link that could be read."""
        parts = [*self.clusters, ROUTER_PART]
        answering = {part: console for part in parts if (console := self._answering_console(part)) is not None}
        found: list[LinkCount] = []
        for part, console in answering.items():
            queues = self._queues(part, console)
            if queues is not None:
                is_router = part == ROUTER_PART
                found += delay_links(self.clusters, *queues) if is_router else edge_links(part, *queues)
        return found

    def close(self) -> None:
        """Close the consoles."""
        for console in self._consoles.values():
            with suppress(OSError):
                console.close()
        self._consoles.clear()
        for container in self.others.values():
            container.close()

    def _is_heard(self, container: RemoteContainer) -> bool:
        """Return whether events come from a container's host; while they do not, the container is not looked at.

        What is lost with the events is opened again when they come, at once, so that no look waits for a lost host.
        """
        if container.host not in self.standstills.unheard_hosts:
            return True
        container.close()
        return False

    def _of(self, part: str, groups: ControlGroups) -> Counters:
        host_stopped_s = self.standstills.host_stopped_s(self.containers[part])
        if part == ROUTER_PART:
            host_stopped_s += self._router_stopped_s(groups)
        return replace(groups.counters(), host_stopped_s=host_stopped_s)

    def _router_stopped_s(self, groups: ControlGroups) -> float:
        """Return how long the router's guest was stopped: a look that finds it so counts since the look before.

        Ranks say themselves when they were stopped; a guest that stood still looks to them like a slow wide area.
        """
        host_now_s, before_s = time.monotonic(), self._host_looked_s
        self._host_looked_s = host_now_s
        if groups.has_stopped_process():
            self._host_router_stopped_s += host_now_s - before_s
        return self._host_router_stopped_s

    def _answering_console(self, part: str) -> Console | None:
        """Ask the console of a part and return it; open it again if it was lost, unless its host is."""
        if self.hosts.get(part) in self.standstills.unheard_hosts:
            self.untold[f"the queues of {part}, at some time"] = None
            return None
        for _ in range(_ATTEMPTS):
            with suppress(TestbedNotUp):
                console = self._consoles.get(part) or self._opened(part)
                console.ask()
                return console
            self._consoles.pop(part, None)
        self.untold[f"the queues of {part}"] = None
        return None

    def _opened(self, part: str) -> Console:
        try:
            container = self.client.containers.get(self.containers[part])
        except ENGINE_ERRORS as error:
            raise TestbedNotUp(f"The container {self.containers[part]} does not run ({error}).") from error
        if part == ROUTER_PART:
            show, watch, leave = map(_in_router, (QUEUES, _WATCH_ROUTER, _LEAVE_ROUTER))
            changes = "/run/wan/changes"
        else:
            show, watch, leave, changes = QUEUES, _WATCH_EDGE, _LEAVE_EDGE, "$changes"
        answer = f"{show}; echo; echo {_CHANGES}; cat {changes}"
        self._consoles[part] = Console.opened(container, answer, watch, leave)
        return self._consoles[part]

    def _queues(self, part: str, console: Console) -> tuple[list[Queue], list[str]] | None:
        """Read the queues and their changes; after an invalid answer the console is opened anew next time."""
        with suppress(TestbedNotUp):
            shown, _, changes = console.answer().partition(_CHANGES)
            queues = parsed_queues(shown)
            if queues is not None:
                return queues, [" ".join(line.split()) for line in changes.splitlines() if line.strip()]
        self.untold[f"the queues of {part}, at some time"] = None
        self._consoles.pop(part).close()
        return None


@contextmanager
def container_telemetry(
    client: docker.DockerClient, names: PartNames, clusters: tuple[str, ...]
) -> Iterator[ContainerTelemetry]:
    """Open the telemetry of the testbed of `names`, its `clusters` in the topology's order."""
    containers = {cluster: names.cluster(cluster) for cluster in clusters}
    containers |= {ROUTER_PART: names.router, BROKER_PART: names.broker}
    with listening(client, containers.values()) as standstills, TemporaryDirectory() as folder:
        own = OwnProcesses.of(_file_systems(client, containers.values()))
        others = _on_other_machines(client, names, clusters, Path(folder))
        telemetry = ContainerTelemetry(client, clusters, containers, standstills, own, others=others)
        for part, container in containers.items():
            if part in others:
                continue
            groups = _groups(client, container, names.site_network(part) if part in clusters else None)
            if groups is None:
                telemetry.untold["the containers' counters: this host does not show their processes"] = None
            else:
                telemetry.groups[part] = groups
        telemetry.untold |= dict.fromkeys(missing_counters(telemetry.look()))
        try:
            yield telemetry
        finally:
            telemetry.close()


def _on_other_machines(
    client: docker.DockerClient, names: PartNames, clusters: Iterable[str], folder: Path
) -> dict[str, RemoteContainer]:
    """Return the containers of clusters on other machines than this one; several engines may be on one machine."""
    here, found = lines_of(Path(BOOT)), dict[str, RemoteContainer]()
    for cluster in clusters:
        name = names.cluster(cluster)
        host = unseen_host(client, name)
        if not host:
            continue
        address = None
        with suppress(*ENGINE_ERRORS):
            address = _address(client.containers.get(name), names.site_network(cluster))
        container = RemoteContainer(client, name, cluster, host, folder / cluster, address)
        if container.ask() and container.receive() and container.boot == here:
            container.close()
        else:
            found[cluster] = container
    return found


def _file_systems(client: docker.DockerClient, names: Iterable[str]) -> Iterator[str]:
    """Yield the folder of this host at which each container's file system is mounted, where the engine names it."""
    for name in names:
        with suppress(*ENGINE_ERRORS):
            attributes = client.containers.get(name).attrs
            folder = ((attributes.get("GraphDriver") or {}).get("Data") or {}).get("MergedDir")
            if folder:
                yield str(folder)


def _in_router(script: str) -> str:
    """Return the shell command that runs `script` in the kernel that forwards."""
    return f"SCRIPT={shlex.quote(script)} {' '.join(RUN)}"


def _groups(client: docker.DockerClient, name: str, network: str | None) -> ControlGroups | None:
    """Return the groups of a container; `network` is that on which frames to other sites are counted."""
    try:
        container = client.containers.get(name)
    except ENGINE_ERRORS:
        return None
    address = None if network is None else _address(container, network)
    return ControlGroups.of(int(container.attrs["State"]["Pid"]), str(container.id), address=address)


def _address(container: Container, network: str) -> str | None:
    """Return a container's address on `network`, with the length of the network's prefix."""
    joined = container.attrs["NetworkSettings"]["Networks"].get(network) or {}
    return f"{joined['IPAddress']}/{joined['IPPrefixLen']}" if joined.get("IPAddress") else None
