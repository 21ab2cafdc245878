"""What the wide area is programmed with: a topology and a dilation turned into values, and values into commands. Pure.

The labour is divided as on real networks. Each cluster has one *edge*: its access link, a FIFO (tbf) per direction,
shared by all that crosses it; what arrives is shaped on an ifb. The *router* holds the paths: on the interface towards
a site, one band per source with a netem each, which delays and then transmits at the rate of the path's slower access
link. That is no second limit: a token bucket lets a frame and a little more pass at once after a pause, and a message
that is shorter than that would cross its link in no time at all. The host's kernel and the guest's take the very same
commands, because the router names its interfaces after the sites (``site0`` is the first cluster's).

Queues hold at least twice the bandwidth-delay product, which no dilation changes: rates shrink as delays grow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from emulator.containers.addresses import AddressPlan
from emulator.containers.wan.unshared import ConnectionLines, connection_script
from emulator.model.clock import Dilation
from emulator.model.topology import Topology
from emulator.model.units import BITS_PER_MBIT, microseconds, rate_bytes_per_s

FRAME_BYTES: Final = 1514
"""The largest Ethernet frame as tbf counts it: 1500 bytes and the header."""

SMALLEST_FRAME_BYTES: Final = 60
"""The smallest Ethernet frame: what a queue counted in packets must be sized for."""

MIN_QUEUE_FRAMES: Final = 64
"""An access link's queue holds this many full frames at least, however short its delays."""

MIN_DELAY_LINE_PACKETS: Final = 1000
BURST_HOST_S: Final = 0.0005
"""A late timer of the host costs an access link no rate if it is late by no more than this."""

CONGESTION_CONTROL: Final = "reno"
"""TCP's congestion control in the clusters: Linux's own in the years of DAS-2, and allowed to every container."""

MIN_TCP_BUFFER_BYTES: Final = 4 * 1024**2

LEAST_TIMEOUT_S: Final = 0.2
"""TCP sends again what nobody acknowledged for a round trip and this long: Linux's own least."""


@dataclass(frozen=True, slots=True)
class Shaper:
    """One direction of an access link: a token bucket in front of a FIFO, at the host's rate."""

    host_rate_mbit: float
    burst_bytes: int
    queue_bytes: int


@dataclass(frozen=True, slots=True)
class EdgeProgram:
    """A cluster's end of its access link, and the way into the wide area.

    TCP waits `host_least_timeout_s` beyond a round trip before it sends again what nobody acknowledged. A link that is
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
    topology: Topology, dilation: Dilation, addresses: AddressPlan, *, with_delays: bool = True, shared: bool = True
) -> WideAreaProgram:
    """The program of `topology` at `dilation`, its access links `shared` by all that crosses them or not."""
    return WideAreaProgram(
        dilation,
        tuple(edge_program(topology, name, dilation, addresses, shared=shared) for name in topology.cluster_names),
        router_program(topology, dilation, addresses, with_delays=with_delays, shared=shared),
    )


def edge_program(
    topology: Topology, cluster: str, dilation: Dilation, addresses: AddressPlan, *, shared: bool = True
) -> EdgeProgram:
    """The program of one cluster's access link."""
    index = topology.index(cluster)
    link = topology.cluster(cluster).access_link
    round_trip_s = max((_round_trip_s(topology, cluster, peer) for peer in _peers(topology, cluster)), default=0.0)
    return EdgeProgram(
        cluster=cluster,
        address=addresses.site_address(index),
        gateway=addresses.router(index),
        all_sites=addresses.all_sites,
        up=_shaper(link.up_mbit, round_trip_s, dilation),
        down=_shaper(link.down_mbit, round_trip_s, dilation),
        host_least_timeout_s=dilation.host_duration_s(LEAST_TIMEOUT_S),
        shared=shared,
    )


def router_program(
    topology: Topology, dilation: Dilation, addresses: AddressPlan, *, with_delays: bool = True, shared: bool = True
) -> RouterProgram:
    """The router's delay lines; without delays (nor jitter nor loss), the path's own delay can be measured."""
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
                    host_delay_s=dilation.host_duration_s(path.delay_s) if with_delays else 0.0,
                    host_jitter_s=dilation.host_duration_s(path.jitter_s) if with_delays else 0.0,
                    loss=path.loss if with_delays else 0.0,
                    host_rate_mbit=dilation.host_rate_mbit(topology.path_rate_mbit(source, target)),
                    queue_packets=_delay_line_packets(topology, source, target),
                )
            )
    sites = tuple(addresses.site_address(index) for index in range(len(topology.clusters)))
    return RouterProgram(sites, tuple(lines), shared)


def kernel_settings(topology: Topology) -> dict[str, str]:
    """The sysctls of every cluster's container: TCP pinned instead of inherited from the host, at every dilation.

    The largest buffers hold eight bandwidth-delay products (half of a buffer is the kernel's own overhead, and queues
    delay too). Of TCP's own timers only the least timeout dilates (an edge's route says so): so idle connections keep
    their window, and whoever waits a little long for an answer sends no segment again to probe for a loss (nor did the
    kernels of DAS-2's years).
    """
    largest_bytes = max(
        (
            rate_bytes_per_s(topology.cluster(source).access_link.up_mbit) * _round_trip_s(topology, source, target)
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


def edge_script(program: EdgeProgram) -> str:
    """A shell script that programs a cluster's edge in its network namespace, whatever was programmed before.

    The interface is found by its address, since Docker promises no order.
    """
    return f"""set -e
link=$(ip -o -4 addr show to {program.address} | awk '{{print $2; exit}}')
[ -n "$link" ] || {{ echo "no interface has the address {program.address}"; exit 1; }}
ip link set dev "$link" gso_max_segs 1
ip link show dev ifb0 >/dev/null 2>&1 || ip link add ifb0 type ifb
ip link set dev ifb0 up
tc qdisc del dev "$link" root 2>/dev/null || true
tc qdisc del dev "$link" ingress 2>/dev/null || true
tc qdisc del dev ifb0 root 2>/dev/null || true
{_shaping(program) if program.shared else ""}
ip route replace {program.all_sites} via {program.gateway} dev "$link" rto_min {program.host_least_timeout_s:.3f}s
{pinned_neighbours([(program.gateway, "$link")])}"""


def router_script(program: RouterProgram) -> str:
    """A shell script that programs the router, the same for every backend and whatever was programmed before."""
    deletions = "\n".join(f"qdisc del dev site{index} root" for index in range(program.sites))
    commands = "\n".join(router_commands(program))
    of_connections = "" if program.shared else connection_script([_of_connections(line) for line in program.lines])
    return f"""tc -force -batch - >/dev/null 2>&1 <<'deletions'
{deletions}
deletions
tc -batch - <<'commands'
{commands}
commands
{of_connections}
{pinned_neighbours([(address, f"site{index}") for index, address in enumerate(program.cluster_addresses)])}"""


def pinned_neighbours(neighbours: Sequence[tuple[str, str]]) -> str:
    """Shell lines that resolve the hardware addresses of (address, device) pairs now and for good.

    A real link needs no address resolution, and a reply dropped from a full queue would cut a cluster off.
    """
    deletions = "\n".join(f"neigh del {address} dev {device}" for address, device in neighbours)
    uses = "\n".join(f"neigh replace {address} dev {device} use" for address, device in neighbours)
    ours = "|".join(address.replace(".", "[.]") for address, _ in neighbours)
    return f"""ip -force -batch - >/dev/null 2>&1 <<deletions || true
{deletions}
deletions
for attempt in $(seq 100); do
    ip -batch - >/dev/null 2>&1 <<uses || true
{uses}
uses
    known=$(ip -4 neigh show | awk '$1 ~ /^({ours})$/ && $4 == "lladdr" {{
        print "neigh replace", $1, "dev", $3, "lladdr", $5, "nud permanent" }}')
    [ "$(echo "$known" | grep -c lladdr)" -lt {len(neighbours)} ] || break
    [ "$attempt" -lt 100 ] || {{ echo "no answer to address resolution from a neighbour"; exit 1; }}
    sleep 0.05
done
echo "$known" | ip -batch -
"""


def router_commands(program: RouterProgram) -> list[str]:
    """The router's tc commands, without the leading ``tc``: per site a prio root, its delay lines and their filters.

    What no filter knows goes to a last band, undelayed. Where links are not shared, lines only delay, and ``unshared``
    has the commands for what transmits.
    """
    commands: list[str] = []
    for target_index in range(program.sites):
        lines = [line for line in program.lines if line.target_index == target_index]
        if not lines:
            continue
        device = f"dev site{target_index}"
        last = len(lines)
        commands.append(f"qdisc add {device} root handle 1: prio bands {last + 1} priomap {' '.join([str(last)] * 16)}")
        for band, line in enumerate(lines, start=1):
            arguments = delay_arguments(line, transmits=program.shared)
            commands.append(f"qdisc add {device} parent 1:{band:x} handle {line_handle(band):x}: {arguments}")
            commands.append(
                f"filter add {device} parent 1: protocol ip prio 1"
                f" u32 match ip src {line.source_network} flowid 1:{band:x}"
            )
    return commands


def shaper_arguments(shaper: Shaper) -> str:
    """A shaper as tc's words."""
    return (
        f"tbf rate {round(shaper.host_rate_mbit * BITS_PER_MBIT)}bit"
        f" burst {shaper.burst_bytes}b limit {shaper.queue_bytes}b"
    )


def _shaping(program: EdgeProgram) -> str:
    return f"""tc qdisc add dev "$link" root handle 1: {shaper_arguments(program.up)}
tc qdisc add dev ifb0 root handle 1: {shaper_arguments(program.down)}
tc qdisc add dev "$link" handle ffff: ingress
tc filter add dev "$link" parent ffff: protocol ip prio 1 u32 match u32 0 0 action mirred egress redirect dev ifb0"""


def line_handle(band: int) -> int:
    """The major number of the delay line in a band (bands count from 1)."""
    return band + 16


def connections_handle(band: int) -> int:
    """The major number of what holds the lines of connections in a band, where links are not shared."""
    return band + 32


def band_of(line: DelayLine) -> int:
    """The band of a delay line on its target's interface: its source's place among the others, from 1."""
    return line.source_index + 1 - (line.source_index > line.target_index)


def _of_connections(line: DelayLine) -> ConnectionLines:
    band = band_of(line)
    return ConnectionLines(
        f"site{line.target_index}",
        f"{line_handle(band):x}:1",
        connections_handle(band),
        round(line.host_rate_mbit * BITS_PER_MBIT),
        line.queue_packets,
    )


def delay_arguments(line: DelayLine, *, transmits: bool = True) -> str:
    """A delay line as tc's words; without the rate if it only delays."""
    delay = f" delay {microseconds(line.host_delay_s):.3f}us" if line.host_delay_s or line.host_jitter_s else ""
    jitter = f" {microseconds(line.host_jitter_s):.3f}us" if line.host_jitter_s else ""
    loss = f" loss random {100 * line.loss:.6f}%" if line.loss else ""
    rate = f" rate {round(line.host_rate_mbit * BITS_PER_MBIT)}bit" if transmits else ""
    return f"netem limit {line.queue_packets}{delay}{jitter}{loss}{rate}"


def _shaper(rate_mbit: float, round_trip_s: float, dilation: Dilation) -> Shaper:
    host_rate_mbit = dilation.host_rate_mbit(rate_mbit)
    product_bytes = rate_bytes_per_s(rate_mbit) * round_trip_s
    return Shaper(
        host_rate_mbit,
        burst_bytes=FRAME_BYTES + math.ceil(rate_bytes_per_s(host_rate_mbit) * BURST_HOST_S),
        queue_bytes=max(MIN_QUEUE_FRAMES * FRAME_BYTES, math.ceil(2 * product_bytes)),
    )


def _delay_line_packets(topology: Topology, source: str, target: str) -> int:
    path = topology.path(source, target)
    rate = rate_bytes_per_s(topology.cluster(source).access_link.up_mbit)
    product_bytes = rate * (path.delay_s + path.jitter_s)
    return MIN_DELAY_LINE_PACKETS + math.ceil(2 * product_bytes / SMALLEST_FRAME_BYTES)


def _round_trip_s(topology: Topology, one: str, other: str) -> float:
    there, back = topology.path(one, other), topology.path(other, one)
    return there.delay_s + there.jitter_s + back.delay_s + back.jitter_s


def _peers(topology: Topology, cluster: str) -> list[str]:
    return [name for name in topology.cluster_names if name != cluster]
