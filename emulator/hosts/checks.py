"""Judge whether hosts can carry a testbed together: a finding for each thing that they need, with its remedy. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Final

from emulator.hosts.engine_options import rootless, user_namespaces
from emulator.hosts.engine_versions import engine_finding
from emulator.hosts.facts import HostFacts, Known, Unreachable
from emulator.hosts.inventory import Host, HostInventory
from emulator.hosts.subnets import LEAST_PREFIX, UsedSubnets, free_subnet, widest_in_the_way
from emulator.model.errors import EngineUnavailable
from emulator.model.finding import Finding

LEAST_MTU: Final = 1550
"""Frames of 1500 bytes inside of the testbed, and the 50 bytes by which VXLAN wraps them."""

LEAST_MEMORY_BYTES: Final = 1024**3
MOST_CLOCK_OFFSET_S: Final = 0.05
GOSSIP_PORT: Final = 7946
CONTROL_PORT: Final = 2377
SWARM_PORTS: Final = f"{CONTROL_PORT}/tcp, {GOSSIP_PORT}/tcp and udp, and 4789/udp"

_GIB: Final = 1024**3


@dataclass(frozen=True, slots=True)
class HostFinding:
    """The result of one check of one host."""

    host: str
    finding: Finding


def judge(
    inventory: HostInventory, known: Mapping[str, Known], possible_subnets: Sequence[str]
) -> tuple[HostFinding, ...]:
    """Return a finding for each check of each host; `possible_subnets` are those that a testbed may take, in order."""
    central = central_host(inventory, known)
    found = [HostFinding(host.name, finding) for host in inventory.hosts for finding in _of_host(host, known, central)]
    if any(isinstance(each, HostFacts) for each in known.values()):
        shared = _shared_subnet(used_subnets(inventory, known), possible_subnets)
        found.append(HostFinding(central.name if central else inventory.hosts[0].name, shared))
    return tuple(found)


def central_host(inventory: HostInventory, known: Mapping[str, Known]) -> Host | None:
    """Return the host for router and broker: the first local one that manages the Swarm, or the first at all that does.

    None if none does.
    """
    managers = [host for host in inventory.hosts if _manages(known[host.name])]
    return next((host for host in managers if host.is_local), managers[0] if managers else None)


def _manages(facts: Known) -> bool:
    return isinstance(facts, HostFacts) and facts.swarm.state == "active" and facts.swarm.is_manager


def require_fit(found: Sequence[HostFinding]) -> None:
    """Refuse hosts that lack anything that a testbed needs.

    Raises:
        EngineUnavailable: with the first fault and its remedy.
    """
    lacking = [each for each in found if each.finding.needed and not each.finding.ok]
    if not lacking:
        return
    first, more = lacking[0], len(lacking) - 1
    others = f" There {'is one more fault' if more == 1 else f'are {more} more faults'}." if more else ""
    raise EngineUnavailable(
        f"Host {first.host!r} cannot carry a testbed: {first.finding.check}: {first.finding.found} "
        f"({first.finding.remedy}).{others} `testbed hosts check` lists all."
    )


def _shared_subnet(used: UsedSubnets, possible: Sequence[str]) -> Finding:
    found = free_subnet(used, possible)
    if found is None:
        # What each host has by itself may leave room; together they overlap.
        widest = widest_in_the_way(used, possible)
        lacking = f"the hosts' networks leave no private /16 free on all; the widest in the way is {widest}"
        remedy = "remove unused Docker networks on the hosts, take another testbed down, or narrow that network"
        return Finding("subnets", False, lacking, remedy, needed=True)
    if found.hidden:
        return Finding("subnets", False, found.hidden, "give the route a narrower mask if a host needs what is there")
    return Finding("subnets", True, f"{found.subnet} is free on every host", needed=True)


def used_subnets(inventory: HostInventory, known: Mapping[str, Known]) -> UsedSubnets:
    """Return every subnet that the hosts use already, as far as they answer, and their addresses."""
    facts = [each for each in known.values() if isinstance(each, HostFacts)]
    networks = [each.network for each in facts if each.network is not None]
    held = [host.address for host in inventory.hosts]
    held += [subnet for each in facts for subnet in each.subnets]
    held += [interface for each in networks for interface in each.interfaces]
    routes = [IPv4Network(route, strict=False) for each in networks for route in each.routes]
    return UsedSubnets(
        tuple(IPv4Network(each, strict=False) for each in held),
        tuple(route for route in routes if route.prefixlen >= LEAST_PREFIX),
    )


def _of_host(host: Host, known: Mapping[str, Known], central: Host | None) -> Iterator[Finding]:
    facts = known[host.name]
    if isinstance(facts, Unreachable):
        yield Finding("engine", False, "not reachable", facts.reason, needed=True)
        return
    yield engine_finding("engine", facts.engine)
    yield from user_namespaces(facts.security_options)
    yield from rootless(facts.security_options)
    yield from _swarm(facts, known, central)
    yield from _swarm_address(host, facts)
    if host is central:
        yield from _central(host, facts)
    yield _architecture(facts, known, central)
    yield Finding("cores", True, f"{facts.cores} (share {host.share:g})")
    yield _memory(host, facts)
    yield _clock(facts)
    yield _images(host, facts, central)
    yield from _network(host, facts)


def _swarm(facts: HostFacts, known: Mapping[str, Known], central: Host | None) -> Iterator[Finding]:
    if facts.swarm.state != "active":
        how = "`docker swarm init` on the first host, and `docker swarm join` there with the token that it prints"
        yield Finding("swarm", False, f"its engine is in no Swarm ({facts.swarm.state})", how, needed=True)
        return
    manager = known[central.name] if central else None
    if not isinstance(manager, HostFacts):
        remedy = "name a manager of the Swarm in the inventory, or `docker node promote` one of its hosts"
        yield Finding("swarm", False, "no host of the inventory manages its Swarm", remedy, needed=True)
        return
    state = manager.swarm.members.get(facts.swarm.node)
    if state is None:
        remedy = f"`docker swarm leave` there, and join the Swarm of {central.name if central else ''!r}"
        yield Finding("swarm", False, "it is in another Swarm", remedy, needed=True)
    else:
        remedy = f"wait until it is ready, or open {SWARM_PORTS} between the hosts"
        yield Finding("swarm", state == "ready", f"{_role(facts)}, {state}", remedy, needed=True)


def _swarm_address(host: Host, facts: HostFacts) -> Iterator[Finding]:
    """Yield a finding if the Swarm reaches a host by another address: what is measured then is not what it uses."""
    if facts.swarm.address not in ("", host.address):
        found = f"it uses {facts.swarm.address}, the inventory states {host.address}"
        again = f"leave the Swarm and join it again with `--advertise-addr {host.address}`"
        yield Finding("Swarm's address", False, found, f"state the address that the Swarm uses, or {again}")


def _role(facts: HostFacts) -> str:
    return "manager" if facts.swarm.is_manager else "worker"


def _central(host: Host, facts: HostFacts) -> Iterator[Finding]:
    remedy = "run `testbed` on that host, and state its engine as unix:///var/run/docker.sock"
    where = "here, with router and broker" if host.is_local else f"at {host.engine}"
    yield Finding("central", host.is_local, where, remedy, needed=True)
    count = facts.swarm.managers
    more = "promote one more host (with two, losing one stops the Swarm), or demote one"
    yield Finding("managers", count == 1 or count >= 3, str(count), more)


def _architecture(facts: HostFacts, known: Mapping[str, Known], central: Host | None) -> Finding:
    manager = known[central.name] if central else None
    expected = manager.architecture if isinstance(manager, HostFacts) else facts.architecture
    remedy = f"leave the host out: images are made once, here for {expected}"
    return Finding("architecture", facts.architecture == expected, facts.architecture, remedy, needed=True)


def _memory(host: Host, facts: HostFacts) -> Finding:
    usable = host.share * facts.memory_bytes
    found = f"{usable / _GIB:.1f} of {facts.memory_bytes / _GIB:.1f} GiB"
    return Finding("memory", usable >= LEAST_MEMORY_BYTES, found, "raise its share, or leave it out", needed=True)


def _clock(facts: HostFacts) -> Finding:
    found = f"{facts.clock_ahead_s:+.3f} s, known to {facts.clock_bound_s:.3f} s"
    certainly_off = abs(facts.clock_ahead_s) - facts.clock_bound_s > MOST_CLOCK_OFFSET_S
    return Finding("clock", not certainly_off, found, "synchronize it by NTP (chrony, systemd-timesyncd)")


def _images(host: Host, facts: HostFacts, central: Host | None) -> Finding:
    if facts.has_node_image:
        return Finding("images", True, "there")
    where = "are made" if host is central else "are sent to it"
    return Finding("images", True, f"missing: they {where} by `testbed up`")


def _network(host: Host, facts: HostFacts) -> Iterator[Finding]:
    network = facts.network
    if network is None:
        unknown = "not examined: that needs the images (`testbed up` examines it once they are there)"
        yield Finding("mtu", True, unknown)
        return
    mtu = network.mtu_by_address.get(host.address)
    if mtu is None:
        remedy = "state the address by which other hosts reach it"
        known = ", ".join(network.mtu_by_address) or "none"
        yield Finding("address", False, f"no interface has {host.address} (it has {known})", remedy, needed=True)
    else:
        remedy = f"raise the MTU of its interface and of the switch: ip link set dev INTERFACE mtu {LEAST_MTU}"
        yield Finding("mtu", mtu >= LEAST_MTU, f"{mtu}, where {LEAST_MTU} is needed", remedy, needed=True)
    closed = ", ".join(network.closed)
    found = f"cannot connect to {closed}" if closed else "open"
    yield Finding("ports", not closed, found, f"open {SWARM_PORTS} between the hosts", needed=True)
