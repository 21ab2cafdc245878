"""A private subnet and a port of the host that nothing uses, for a new testbed."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import docker
import psutil
from docker.models.containers import Container

from emulator.containers import engine
from emulator.containers.addresses import HIGHEST_SECOND_OCTET, LOWEST_SECOND_OCTET, AddressPlan
from emulator.containers.progress import Observer, ProgressStep, ignore
from emulator.containers.state import TestbedRecord, readable_record, remembered_names
from emulator.hosts.subnets import (
    LEAST_PREFIX,
    UNUSED,
    UsedSubnets,
    addresses_in,
    free_subnet,
    widest_in_the_way,
)
from emulator.model.errors import TestbedAlreadyUp

FIRST_PORT: Final = 8460
_PORTS_TRIED: Final = 200
_LOOPBACK: Final = "127.0.0.1"
_ROUTES: Final = Path("/proc/net/route")
_RESOLVER: Final = Path("/etc/resolv.conf")

Network = ipaddress.IPv4Network


def free_addresses(
    client: docker.DockerClient, elsewhere: UsedSubnets = UNUSED, observe: Observer = ignore
) -> AddressPlan:
    """Find an address plan whose subnet overlaps no Docker network, interface, route, other testbed or `elsewhere`.

    If wide routes leave none, it takes a part of where one leads, and `observe` hears of that.

    Raises:
        TestbedAlreadyUp: if every subnet is taken.
    """
    plans = {plan.whole: plan for plan in map(AddressPlan, range(LOWEST_SECOND_OCTET, HIGHEST_SECOND_OCTET + 1))}
    used = UsedSubnets(
        (*_docker_subnets(client), *_interface_subnets(), *_remembered_subnets(), *_name_servers(), *elsewhere.held),
        (*_routes(_ROUTES), *elsewhere.routes),
    )
    found = free_subnet(used, tuple(plans))
    if found is None:
        widest = widest_in_the_way(used, tuple(plans))
        raise TestbedAlreadyUp(
            f"Every subnet from 10.{LOWEST_SECOND_OCTET}.0.0/16 to 10.{HIGHEST_SECOND_OCTET}.0.0/16 is in use on this "
            f"host; the widest network in the way is {widest} (remove unused Docker networks, take another testbed "
            "down, or narrow that network)."
        )
    if found.hidden:
        observe(ProgressStep("addresses", found.hidden))
    return plans[str(found.subnet)]


def free_port(client: docker.DockerClient, requested: int | None, first: int = FIRST_PORT) -> int:
    """Return the port asked for, or find the first free one from `first` on the host's loopback.

    The port of a testbed that does not run, also of another user's, counts as taken.

    Raises:
        TestbedAlreadyUp: if the port asked for is in use, or none is free.
    """
    claimed = {*(record.api_port for record in _remembered()), *_published_ports(client)}
    if requested is not None:
        if requested in claimed or not is_free(requested):
            raise TestbedAlreadyUp(f"Port {requested} of {_LOOPBACK} is in use (choose another with --port, or none).")
        return requested
    for port in range(first, first + _PORTS_TRIED):
        if port not in claimed and is_free(port):
            return port
    raise TestbedAlreadyUp(f"No port from {first} to {first + _PORTS_TRIED - 1} is free (name one by --port).")


def is_free(port: int) -> bool:
    """Return whether nothing listens at a port of the host's loopback."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_LOOPBACK, port))
        except OSError:
            return False
        return True


def _published_ports(client: docker.DockerClient) -> Iterator[int]:
    """Yield the ports at which containers of testbeds are published, also of those that do not run."""
    for container in engine.containers_of(client, None):
        yield from published_ports(container)


def published_ports(container: Container) -> Iterator[int]:
    """Yield the ports of the host at which a container is published when it runs."""
    bindings: dict[str, Any] = (container.attrs.get("HostConfig") or {}).get("PortBindings") or {}
    for bound in bindings.values():
        yield from (int(each["HostPort"]) for each in bound or () if each.get("HostPort", "").isdigit())


def _docker_subnets(client: docker.DockerClient) -> Iterator[Network]:
    for network in client.networks.list():
        configurations: Iterable[dict[str, Any]] = (network.attrs.get("IPAM") or {}).get("Config") or ()
        for configuration in configurations:
            subnet = configuration.get("Subnet", "")
            if "." in subnet:
                yield Network(subnet, strict=False)


def _interface_subnets() -> Iterator[Network]:
    for addresses in psutil.net_if_addrs().values():
        for address in addresses:
            if address.family == socket.AF_INET and address.netmask:
                yield Network(f"{address.address}/{address.netmask}", strict=False)


def _routes(table: Path) -> Iterator[Network]:
    """Yield the destinations of the kernel's table of routes but those that lead everywhere; none without a table."""
    if not table.is_file():
        return
    for line in table.read_text().splitlines()[1:]:
        fields = line.split()
        destination, mask = (socket.ntohl(int(fields[index], 16)) for index in (1, 7))
        if mask.bit_count() >= LEAST_PREFIX:
            yield Network((destination, mask.bit_count()), strict=False)


def _name_servers() -> Iterator[Network]:
    """Yield the addresses of the host's name servers, to which a wide route may lead."""
    if not _RESOLVER.is_file():
        return
    for line in _RESOLVER.read_text(errors="replace").splitlines():
        words = line.split()
        if words[:1] == ["nameserver"]:
            yield from map(Network, addresses_in(words[1:]))


def _remembered_subnets() -> Iterator[Network]:
    for record in _remembered():
        yield Network(AddressPlan(record.second_octet).whole)


def _remembered() -> Iterator[TestbedRecord]:
    """Yield the record of every testbed; a damaged one keeps no other from being brought up."""
    for name in remembered_names():
        record = readable_record(name)
        if record is not None:
            yield record
