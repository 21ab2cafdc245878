"""Read the facts of hosts: from their engines, and by a container in each host's own network. Changes nothing."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import docker
import docker.errors

from emulator.containers import engine
from emulator.containers.concurrency import run_concurrently
from emulator.containers.hosts.engines import HostEngines
from emulator.hosts.checks import CONTROL_PORT, GOSSIP_PORT
from emulator.hosts.facts import FactsReader, HostFacts, Known, NetworkFacts, SwarmFacts, Unreachable
from emulator.hosts.inventory import Host, HostInventory
from emulator.model.errors import EngineUnavailable

PROBE: Final = Path(__file__).with_name("network_probe.py")
_TIMESTAMP: Final = re.compile(r"(?P<second>[0-9-]+T[0-9:]+)(?:\.(?P<fraction>[0-9]+))?(?P<zone>Z|[+-][0-9:]+)")


@dataclass(frozen=True, slots=True)
class EngineFactsReader:
    """A reader of engines' facts; a container of `node_image` looks at a host's network if the host has that image."""

    engines: HostEngines
    node_image: str

    def facts_of(self, host: Host) -> Known:
        """Return what a host's engine says."""
        if host.name in self.engines.lost:
            return Unreachable(self.engines.lost[host.name])
        try:
            return _facts(self.engines.engines[host.name].client, self.node_image)
        except (docker.errors.DockerException, OSError) as error:
            return Unreachable(f"The engine of host {host.name!r} ceased to answer ({error}).")

    def network_of(self, host: Host, targets: Sequence[str]) -> NetworkFacts | None:
        """Look at a host's network from a container that shares it; None where it cannot be looked at."""
        command = ["python3", "-c", PROBE.read_text(encoding="utf-8"), *targets]
        try:
            output = engine.output_of(self.engines.engines[host.name].client, self.node_image, command, network="host")
            return NetworkFacts(**{key: _frozen(value) for key, value in json.loads(output).items()})
        except (EngineUnavailable, docker.errors.DockerException, OSError, ValueError, TypeError):
            return None


def read_facts(reader: FactsReader, inventory: HostInventory) -> dict[str, Known]:
    """Return what is known of every host, asked all at once."""
    said = run_concurrently([partial(reader.facts_of, host) for host in inventory.hosts])
    known = {host.name: facts for host, facts in zip(inventory.hosts, said, strict=True)}

    def with_network(host: Host) -> Known:
        facts = known[host.name]
        if isinstance(facts, Unreachable) or not facts.has_node_image:
            return facts
        return replace(facts, network=reader.network_of(host, ports_asked(host, inventory, known)))

    whole = run_concurrently([partial(with_network, host) for host in inventory.hosts])
    return {host.name: facts for host, facts in zip(inventory.hosts, whole, strict=True)}


def ports_asked(host: Host, inventory: HostInventory, known: Mapping[str, Known]) -> list[str]:
    """Return the ports of the Swarm that a host must reach at the others: only those of hosts in a Swarm are open."""
    swarms = {name: facts.swarm for name, facts in known.items() if isinstance(facts, HostFacts)}
    if host.name not in swarms or swarms[host.name].state != "active":
        return []
    others = [other for other in inventory.hosts if other.name != host.name and other.name in swarms]
    active = [other for other in others if swarms[other.name].state == "active"]
    gossip = [f"{other.address}:{GOSSIP_PORT}" for other in active]
    return gossip + [f"{other.address}:{CONTROL_PORT}" for other in active if swarms[other.name].is_manager]


def _facts(client: docker.DockerClient, node_image: str) -> HostFacts:
    before_s = time.time()
    said = client.info()
    after_s = time.time()
    return HostFacts(
        engine=str(said["ServerVersion"]),
        architecture=str(said["Architecture"]),
        cores=int(said["NCPU"]),
        memory_bytes=int(said["MemTotal"]),
        swarm=swarm_facts(said, _members(client, said)),
        subnets=_subnets(client),
        has_node_image=_has_image(client, node_image),
        clock_ahead_s=timestamp_s(str(said["SystemTime"])) - (before_s + after_s) / 2,
        clock_bound_s=(after_s - before_s) / 2,
        security_options=tuple(said.get("SecurityOptions") or ()),
    )


def swarm_facts(said: Mapping[str, Any], members: dict[str, str]) -> SwarmFacts:
    """Return a host's place in its Swarm, from what its engine says of itself."""
    swarm = said.get("Swarm") or {}
    return SwarmFacts(
        state=str(swarm.get("LocalNodeState") or "inactive"),
        node=str(swarm.get("NodeID") or ""),
        is_manager=bool(swarm.get("ControlAvailable")),
        managers=int(swarm.get("Managers") or 0),
        members=members,
        address=str(swarm.get("NodeAddr") or ""),
    )


def timestamp_s(text: str) -> float:
    """Return a timestamp of Go, of up to nine digits behind the second, as seconds since 1970."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        raise ValueError(f"no timestamp: {text!r}")
    zone = found["zone"].replace("Z", "+00:00")
    return datetime.fromisoformat(found["second"] + zone).timestamp() + float(f"0.{found['fraction'] or 0}")


def _members(client: docker.DockerClient, said: Mapping[str, Any]) -> dict[str, str]:
    """Return the state of each node of the Swarm, which only a manager knows."""
    if not (said.get("Swarm") or {}).get("ControlAvailable"):
        return {}
    return {str(node.id): str(node.attrs["Status"]["State"]) for node in client.nodes.list()}


def _subnets(client: docker.DockerClient) -> tuple[str, ...]:
    stated = [
        configuration.get("Subnet", "")
        for network in client.networks.list()
        for configuration in (network.attrs.get("IPAM") or {}).get("Config") or ()
    ]
    return tuple(subnet for subnet in stated if "." in subnet)


def _has_image(client: docker.DockerClient, reference: str) -> bool:
    try:
        client.images.get(reference)
    except docker.errors.ImageNotFound:
        return False
    return True


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
