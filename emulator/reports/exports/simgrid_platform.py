"""A topology as a SimGrid platform (format 4.1): all that the testbed emulates, and nothing else.

A processor is a host of its own, since the testbed paces each process by itself; its speed counts grid-point updates
in cache, so that one flop is one such update. Each host has two ways out: one, full duplex, to the switch of its
cluster at the interconnect's latency and rate, and one that costs nothing to its cluster's gateway, because the testbed
does not pace what leaves a cluster. Gateways are joined, for each ordered pair of clusters, by the access link up of
the one, an unshared delay, and the access link down of the other.

Left out, because SimGrid's format has no place for them: jitter and losses of a path, and that a link serves its
packets in the order of arrival (SimGrid's links share their rate fairly among the messages that cross them at a time).
"""

from __future__ import annotations

from typing import Final
from xml.etree import ElementTree as ET

from emulator.model.errors import InvalidInput
from emulator.model.interconnects import Interconnect
from emulator.model.point_costs import PointCosts
from emulator.model.processor import Processor
from emulator.model.topology import Cluster, Topology
from emulator.model.units import NANOSECONDS_PER_SECOND

UNLIMITED: Final = "1TBps"
"""The rate of links without one: far above every emulated rate."""

_HEADER: Final = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
_ALONE: Final = {"symmetrical": "NO"}
_NEVER_SHARED: Final = {"sharing_policy": "FATPIPE"}


def host_name(cluster: Cluster, processor: int) -> str:
    """Return the host for a processor of `cluster`, counted from 0: CLUSTER.NODE.PROCESSOR."""
    node, on_node = divmod(processor, cluster.processors_per_node)
    return f"{cluster.name}.{node}.{on_node}"


def host_costs(processor: Processor) -> PointCosts:
    """Return the cost of a grid-point update.

    Raises:
        InvalidInput: if the processor is unpaced, so that it has no speed of its own.
    """
    if processor.costs is None:
        raise InvalidInput(
            f"processor: {processor.name!r} is unpaced and has no speed that SimGrid could be told: "
            "name a profile with costs, such as one that `testbed calibrate --from-host` writes."
        )
    return processor.costs


def host_speed(processor: Processor) -> float:
    """Return the flops per second of a host: grid-point updates in cache.

    Raises:
        InvalidInput: as `host_costs`.
    """
    return NANOSECONDS_PER_SECOND / host_costs(processor).in_cache_ns_per_point


def render_platform(topology: Topology, interconnect: Interconnect | None) -> str:
    """Return the platform file of `topology` with `interconnect` inside clusters (None: messages there are free).

    Raises:
        InvalidInput: as `host_costs`.
    """
    speed = f"{host_speed(topology.processor)!r}f"
    platform = ET.Element("platform", version="4.1")
    inside = "messages are free" if interconnect is None else interconnect.described
    platform.append(ET.Comment(f" {topology.name}, {topology.processor.described}; inside a cluster {inside} "))
    world = ET.SubElement(platform, "zone", id=topology.name, routing="Full")
    for cluster in topology.clusters:
        _add_cluster(world, cluster, speed, interconnect)
    for cluster in topology.clusters:
        _add_access_link(world, cluster)
    for source, target in topology.ordered_pairs:
        delay = f"{topology.path(source, target).delay_s!r}s"
        ET.SubElement(
            world, "link", {"id": f"{source}.to.{target}", "bandwidth": UNLIMITED, "latency": delay, **_NEVER_SHARED}
        )
    for source, target in topology.ordered_pairs:
        _add_path(world, source, target)
    ET.indent(platform)
    return _HEADER + ET.tostring(platform, encoding="unicode") + "\n"


def _add_cluster(world: ET.Element, cluster: Cluster, speed: str, interconnect: Interconnect | None) -> None:
    """Add a zone with its hosts, its switch and its gateway; shortest paths lead through one or the other."""
    name = cluster.name
    zone = ET.SubElement(world, "zone", id=f"{name}.cluster", routing="DijkstraCache")
    hosts = [host_name(cluster, processor) for processor in range(cluster.processors)]
    for host in hosts:
        ET.SubElement(zone, "host", id=host, speed=speed)
    ET.SubElement(zone, "router", id=f"{name}.switch")
    ET.SubElement(zone, "router", id=f"{name}.gateway")
    for host in hosts:
        ET.SubElement(zone, "link", {"id": f"{host}.port", **_port(interconnect)})
    ET.SubElement(zone, "link", {"id": f"{name}.outwards", "bandwidth": UNLIMITED, "latency": "0s", **_NEVER_SHARED})
    for host in hosts:
        _add_route(zone, "route", {"src": host, "dst": f"{name}.switch"}, [(f"{host}.port", "UP")])
        _add_route(zone, "route", {"src": f"{name}.switch", "dst": host}, [(f"{host}.port", "DOWN")])
        # Twice the same link: so the way over the gateway is never the shorter one between two hosts.
        for ends in ({"src": host, "dst": f"{name}.gateway"}, {"src": f"{name}.gateway", "dst": host}):
            _add_route(zone, "route", ends, [(f"{name}.outwards", None)] * 2)


def _port(interconnect: Interconnect | None) -> dict[str, str]:
    """Add a host's link to the switch; a message crosses two, so each has half of the latency."""
    if interconnect is None:
        return {"bandwidth": UNLIMITED, "latency": "0s", "sharing_policy": "SPLITDUPLEX"}
    return {
        "bandwidth": f"{interconnect.rate_mbit!r}Mbps",
        "latency": f"{interconnect.latency_s / 2!r}s",
        "sharing_policy": "SPLITDUPLEX",
    }


def _add_access_link(world: ET.Element, cluster: Cluster) -> None:
    for direction, rate_mbit in (("up", cluster.access_link.up_mbit), ("down", cluster.access_link.down_mbit)):
        rate = {"bandwidth": f"{rate_mbit!r}Mbps", "latency": "0s", "sharing_policy": "SHARED"}
        ET.SubElement(world, "link", {"id": f"{cluster.name}.{direction}", **rate})


def _add_path(world: ET.Element, source: str, target: str) -> None:
    ends = {
        "src": f"{source}.cluster",
        "dst": f"{target}.cluster",
        "gw_src": f"{source}.gateway",
        "gw_dst": f"{target}.gateway",
    }
    links = (f"{source}.up", f"{source}.to.{target}", f"{target}.down")
    _add_route(world, "zoneRoute", ends, [(link, None) for link in links])


def _add_route(zone: ET.Element, kind: str, ends: dict[str, str], links: list[tuple[str, str | None]]) -> None:
    """Add a one-way route over `links`, each with its direction where it has two."""
    route = ET.SubElement(zone, kind, {**ends, **_ALONE})
    for link, direction in links:
        ET.SubElement(route, "link_ctn", {"id": link} | ({} if direction is None else {"direction": direction}))
