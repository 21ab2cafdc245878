"""The program of the wide area: a topology and a dilation turned into values. Pure.

The work is divided as in real networks. Each cluster has one *edge*: its access link, a FIFO (tbf) per direction,
shared by all that crosses it; what arrives is shaped on an ifb. The *router* holds the paths: on the interface towards
a site, one band per source with a netem each, which delays and then transmits at the rate of the path's slower access
link. This is not a second limit, but is needed all the same: after a pause, a token bucket passes a frame and a little
more at once, so a shorter message would otherwise cross its link in no time. Where an uplink is faster than the
receiver's downlink, what one source sends too fast therefore waits in its delay line, which is longer than the
downlink's queue. The host's kernel and the guest's take the very same commands, because the router names its interfaces
after the sites (``site0`` is the first cluster's).

Over several hosts a packet also takes its time between them. That is subtracted: a delay line adds what is left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from emulator.containers.addresses import AddressPlan
from emulator.model.clock import Dilation
from emulator.model.errors import WideAreaUnfaithful
from emulator.model.evidence import HOST_DELAY_TOLERANCE_S
from emulator.model.link_queues import FRAME_BYTES, LEAST_TIMEOUT_S, queue_bytes, round_trip_s
from emulator.model.topology import Topology
from emulator.model.units import rate_bytes_per_s

SMALLEST_FRAME_BYTES: Final = 60
"""The smallest Ethernet frame, for which a queue counted in packets must be sized."""

MIN_DELAY_LINE_PACKETS: Final = 1000
BURST_HOST_S: Final = 0.0005
"""An access link loses no rate if a timer of the host is late by no more than this."""

CONGESTION_CONTROL: Final = "reno"
"""TCP's congestion control in the clusters: the default of Linux in the years of DAS-2; every container may use it."""

MIN_TCP_BUFFER_BYTES: Final = 4 * 1024**2


@dataclass(frozen=True, slots=True)
class Shaper:
    """One direction of an access link: a token bucket in front of a FIFO, at the host's rate."""

    host_rate_mbit: float
    burst_bytes: int
    queue_bytes: int


@dataclass(frozen=True, slots=True)
class EdgeProgram:
    """A cluster's end of its access link, and the way into the wide area.

    TCP waits `host_least_timeout_s` beyond a round trip before it retransmits. A link that is
    not `shared` is not limited here: the router gives every connection its rate (``unshared``).
    """

    cluster: str
    address: str
    gateway: str
    all_sites: str
    up: Shaper
    down: Shaper
    host_least_timeout_s: float
    shared: bool = True


@dataclass(frozen=True, slots=True)
class DelayLine:
    """The wide area from one site to another, in host seconds; `loss` is the share of packets lost.

    Packets are transmitted at `host_rate_mbit`, that of the slower of the two access links.
    """

    source_index: int
    target_index: int
    source_network: str
    host_delay_s: float
    host_jitter_s: float
    loss: float
    host_rate_mbit: float
    queue_packets: int


@dataclass(frozen=True, slots=True)
class RouterProgram:
    """The clusters' addresses in order, and all delay lines, ordered by target and then by source.

    Where access links are not `shared` every connection has a delay line of its own.
    """

    cluster_addresses: tuple[str, ...]
    lines: tuple[DelayLine, ...]
    shared: bool = True

    @property
    def sites(self) -> int:
        """How many sites the router joins."""
        return len(self.cluster_addresses)


@dataclass(frozen=True, slots=True)
class WideAreaProgram:
    """Everything that is programmed for a topology at a dilation."""

    dilation: Dilation
    edges: tuple[EdgeProgram, ...]
    router: RouterProgram


def wide_area_program(
    topology: Topology,
    dilation: Dilation,
    addresses: AddressPlan,
    *,
    host_underlay_s: Sequence[float] = (),
    with_delays: bool = True,
    shared: bool = True,
) -> WideAreaProgram:
    """Return the program of `topology` at `dilation`, its access links `shared` by all traffic or not.

    `host_underlay_s` are the delays between the clusters' hosts and the router's; none are stated on one host.

    Raises:
        WideAreaUnfaithful: if they take longer than a link's delay.
    """
    program = partial(router_program, topology, dilation, addresses, host_underlay_s=host_underlay_s)
    return WideAreaProgram(
        dilation,
        tuple(edge_program(topology, name, dilation, addresses, shared=shared) for name in topology.cluster_names),
        program(with_delays=with_delays, shared=shared),
    )


def edge_program(
    topology: Topology, cluster: str, dilation: Dilation, addresses: AddressPlan, *, shared: bool = True
) -> EdgeProgram:
    """Return the program of one cluster's access link."""
    index = topology.index(cluster)
    link = topology.cluster(cluster).access_link
    return EdgeProgram(
        cluster=cluster,
        address=addresses.site_address(index),
        gateway=addresses.router(index),
        all_sites=addresses.all_sites,
        up=_shaper(topology, cluster, link.up_mbit, dilation),
        down=_shaper(topology, cluster, link.down_mbit, dilation),
        host_least_timeout_s=dilation.host_duration_s(LEAST_TIMEOUT_S),
        shared=shared,
    )


def router_program(
    topology: Topology,
    dilation: Dilation,
    addresses: AddressPlan,
    *,
    host_underlay_s: Sequence[float] = (),
    with_delays: bool = True,
    shared: bool = True,
) -> RouterProgram:
    """Return the router's delay lines; without delays (and jitter and loss), the path's own delay can be measured.

    Raises:
        WideAreaUnfaithful: if the network between the hosts takes longer than a link's delay.
    """
    lines: list[DelayLine] = []
    for target_index, target in enumerate(topology.cluster_names):
        for source_index, source in enumerate(topology.cluster_names):
            if source == target:
                continue
            path = topology.path(source, target)
            lines.append(
                DelayLine(
                    source_index=source_index,
                    target_index=target_index,
                    source_network=addresses.site_network(source_index),
                    host_delay_s=_left_s(topology, source, target, dilation, host_underlay_s) if with_delays else 0.0,
                    host_jitter_s=dilation.host_duration_s(path.jitter_s) if with_delays else 0.0,
                    loss=path.loss if with_delays else 0.0,
                    host_rate_mbit=dilation.host_rate_mbit(topology.path_rate_mbit(source, target)),
                    queue_packets=_delay_line_packets(topology, source, target),
                )
            )
    sites = tuple(addresses.site_address(index) for index in range(len(topology.clusters)))
    return RouterProgram(sites, tuple(lines), shared)


def between_hosts_s(topology: Topology, source: str, target: str, host_underlay_s: Sequence[float]) -> float:
    """Return the host seconds that packets from `source` to `target` take between hosts, by way of the router's."""
    return sum(host_underlay_s[topology.index(name)] for name in (source, target)) if host_underlay_s else 0.0


def least_dilation(topology: Topology, host_underlay_s: Sequence[float]) -> float:
    """Return the dilation from which on every link is longer than the way between the hosts; 0 on one host.

    Links without a delay do not count: no dilation lengthens them.
    """
    return max(
        (
            between_hosts_s(topology, source, target, host_underlay_s) / topology.path(source, target).delay_s
            for source, target in topology.ordered_pairs
            if topology.path(source, target).delay_s > 0
        ),
        default=0.0,
    )


def _left_s(
    topology: Topology, source: str, target: str, dilation: Dilation, host_underlay_s: Sequence[float]
) -> float:
    """Return the delay to program, in host seconds: what the way between the hosts leaves of the path's.

    Raises:
        WideAreaUnfaithful: if that way takes longer, beyond what a check of the links tolerates.
    """
    delay_s = topology.path(source, target).delay_s
    host_delay_s = dilation.host_duration_s(delay_s)
    between_s = between_hosts_s(topology, source, target, host_underlay_s)
    if between_s > host_delay_s + HOST_DELAY_TOLERANCE_S:
        least = least_dilation(topology, host_underlay_s)
        remedy = f"dilate by {least:.2g} or more, or put" if delay_s > 0 else "put"
        raise WideAreaUnfaithful(
            f"Between their hosts packets from {source} to {target} take {1e3 * between_s:.3g} ms, and their link of "
            f"{1e3 * delay_s:g} ms takes {1e3 * host_delay_s:.3g} ms at dilation {dilation.factor:g} ({remedy} both on "
            "one host by `on:` in the topology)."
        )
    return max(0.0, host_delay_s - between_s)


def kernel_settings(topology: Topology) -> dict[str, str]:
    """Return the sysctls of every cluster's container: TCP is pinned, not inherited from the host, at every dilation.

    The largest buffers hold eight bandwidth-delay products (half of a buffer is the kernel's own overhead, and queues
    delay too). Of TCP's own timers only the least timeout dilates, which the route of an edge states. So idle
    connections must keep their window, and a sender must not repeat a segment to probe for a loss when an answer is a
    little late (the kernels of DAS-2's years did not do that either).
    """
    largest_bytes = max(
        (
            rate_bytes_per_s(topology.cluster(source).access_link.up_mbit) * round_trip_s(topology, source, target)
            for source, target in topology.ordered_pairs
        ),
        default=0.0,
    )
    buffer_bytes = max(MIN_TCP_BUFFER_BYTES, math.ceil(8 * largest_bytes))
    return {
        "net.ipv4.tcp_congestion_control": CONGESTION_CONTROL,
        "net.ipv4.tcp_rmem": f"4096 131072 {buffer_bytes}",
        "net.ipv4.tcp_wmem": f"4096 65536 {buffer_bytes}",
        "net.ipv4.tcp_no_metrics_save": "1",
        "net.ipv4.tcp_slow_start_after_idle": "0",
        "net.ipv4.tcp_early_retrans": "0",
    }


def _shaper(topology: Topology, cluster: str, rate_mbit: float, dilation: Dilation) -> Shaper:
    host_rate_mbit = dilation.host_rate_mbit(rate_mbit)
    return Shaper(
        host_rate_mbit,
        burst_bytes=FRAME_BYTES + math.ceil(rate_bytes_per_s(host_rate_mbit) * BURST_HOST_S),
        queue_bytes=queue_bytes(topology, cluster, rate_mbit),
    )


def _delay_line_packets(topology: Topology, source: str, target: str) -> int:
    path = topology.path(source, target)
    rate = rate_bytes_per_s(topology.cluster(source).access_link.up_mbit)
    product_bytes = rate * (path.delay_s + path.jitter_s)
    return MIN_DELAY_LINE_PACKETS + math.ceil(2 * product_bytes / SMALLEST_FRAME_BYTES)
