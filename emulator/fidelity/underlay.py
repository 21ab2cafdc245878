"""What is wrong with the network between hosts, where a testbed spreads over several: slow, unsteady or changed. Pure.

Its delay is a part of every emulated delay, and what crosses it at once must fit. What it delayed when the links were
programmed is known; a later change lengthens or shortens the links without any change of their program. Its jitter is
that of every link which crosses it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping

from emulator.model.clock import Dilation
from emulator.model.evidence import HOST_DELAY_TOLERANCE_S, RELATIVE_TOLERANCE, LinkFault
from emulator.model.topology import Topology
from emulator.model.underlay import Underlay
from emulator.model.units import MILLISECONDS_PER_SECOND


def underlay_faults(
    topology: Topology,
    dilation: Dilation,
    clusters_of: Mapping[str, Collection[str]],
    programmed: Mapping[str, Underlay],
    now: Mapping[str, Underlay],
) -> tuple[LinkFault, ...]:
    """Return the faults of the links at `dilation`, by the clusters that each host carries.

    `programmed` is what the links were programmed for, with rates, and `now` what was measured since.
    """
    found: list[LinkFault] = []
    for host, before in programmed.items():
        found += _rate_faults(topology, dilation, host, clusters_of.get(host, ()), before)
        if host in now:
            found += _delay_faults(topology, dilation, host, clusters_of.get(host, ()), before, now[host])
    return (*found, *jitter_faults(topology, dilation, clusters_of, now))


def jitter_faults(
    topology: Topology,
    dilation: Dilation,
    clusters_of: Mapping[str, Collection[str]],
    now: Mapping[str, Underlay],
) -> tuple[LinkFault, ...]:
    """Return a fault for each path whose delays the network between hosts scatters more than a link's may differ.

    A delay line adds jitter and takes none away. So nothing of it is subtracted: it is what a link cannot hold. Both
    hosts' and the stated one are independent, so that their squares add up; the excess over the stated one counts.
    """
    host_jitter_s = {name: now[host].host_jitter_s for host in now for name in clusters_of.get(host, ())}
    found: list[LinkFault] = []
    for source, target in topology.ordered_pairs:
        between_s = math.hypot(*(host_jitter_s.get(name, 0.0) for name in (source, target)))
        found += _jitter_fault(topology, dilation, source, target, between_s)
    return tuple(found)


def _jitter_fault(
    topology: Topology, dilation: Dilation, source: str, target: str, host_jitter_s: float
) -> Iterator[LinkFault]:
    path = topology.path(source, target)
    host_delay_s, host_stated_s = dilation.host_duration_s(path.delay_s), dilation.host_duration_s(path.jitter_s)
    host_excess_s = math.hypot(host_stated_s, host_jitter_s) - host_stated_s
    if host_excess_s > max(RELATIVE_TOLERANCE * host_delay_s, HOST_DELAY_TOLERANCE_S):
        what = (
            f"the delay from {source} to {target} (the network between their hosts scatters it by "
            f"{MILLISECONDS_PER_SECOND * host_jitter_s:.2f} ms)"
        )
        yield LinkFault(what, min(1.0, host_excess_s / host_delay_s) if host_delay_s else 1.0, source, target)


def _rate_faults(
    topology: Topology, dilation: Dilation, host: str, clusters: Collection[str], underlay: Underlay
) -> Iterator[LinkFault]:
    links = [topology.cluster(name).access_link for name in clusters]
    for needed_mbit, rate_mbit, way in (
        (sum(link.up_mbit for link in links), underlay.host_rate_to_central_mbit, "from"),
        (sum(link.down_mbit for link in links), underlay.host_rate_from_central_mbit, "to"),
    ):
        host_needed_mbit = dilation.host_rate_mbit(needed_mbit)
        if rate_mbit is not None and rate_mbit < host_needed_mbit:
            what = f"the network {way} host {host} ({rate_mbit:.0f} Mbit/s, where links ask {host_needed_mbit:.0f})"
            yield from _at_either_end(what, 1.0 - rate_mbit / host_needed_mbit, clusters)


def _delay_faults(
    topology: Topology, dilation: Dilation, host: str, clusters: Collection[str], before: Underlay, now: Underlay
) -> Iterator[LinkFault]:
    change_s = abs(now.host_delay_s - before.host_delay_s)
    for name in clusters:
        delays_s = [topology.path(name, other).delay_s for other in topology.cluster_names if other != name]
        host_shortest_s = dilation.host_duration_s(min(delays_s, default=0.0))
        if change_s > max(RELATIVE_TOLERANCE * host_shortest_s, HOST_DELAY_TOLERANCE_S):
            what = (
                f"the network to host {host} ({MILLISECONDS_PER_SECOND * now.host_delay_s:.2f} ms one way, and "
                f"{MILLISECONDS_PER_SECOND * before.host_delay_s:.2f} ms when its links were programmed)"
            )
            yield from _at_either_end(what, min(1.0, change_s / host_shortest_s) if host_shortest_s else 1.0, [name])


def _at_either_end(what: str, error: float, clusters: Collection[str]) -> Iterator[LinkFault]:
    for name in clusters:
        yield LinkFault(what, error, source=name)
        yield LinkFault(what, error, target=name)
