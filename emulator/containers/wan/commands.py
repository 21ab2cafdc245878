"""The program of the wide area as shell scripts of tc and ip commands. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from emulator.containers.wan.program import DelayLine, EdgeProgram, RouterProgram, Shaper
from emulator.containers.wan.unshared import ConnectionLines, connection_script
from emulator.model.units import BITS_PER_MBIT, microseconds

FORGET_NEIGHBOURS: Final = "ip -4 neigh flush nud permanent"
"""Drops what `pinned_neighbours` resolved."""


def edge_script(program: EdgeProgram) -> str:
    """Return a shell script that programs a cluster's edge in its network namespace, replacing what was there.

    The interface is found by its address, because Docker guarantees no order. The way out of the testbed's networks is
    closed again, because Docker opens it when it attaches a network.
    """
    return f"""set -e
link=$(ip -o -4 addr show to {program.address} | awk '{{print $2; exit}}')
[ -n "$link" ] || {{ echo "no interface has the address {program.address}"; exit 1; }}
[ -n "$TESTBED_HAS_REAL_CLUSTERS" ] || ip route del default 2>/dev/null || true
ip link set dev "$link" gso_max_segs 1
tc qdisc del dev "$link" root 2>/dev/null || true
tc qdisc del dev "$link" ingress 2>/dev/null || true
tc qdisc del dev ifb0 root 2>/dev/null || true
{_shaping(program) if program.shared else "ip link del dev ifb0 2>/dev/null || true"}
ip route replace {program.all_sites} via {program.gateway} dev "$link" rto_min {program.host_least_timeout_s:.3f}s
{pinned_neighbours([(program.gateway, "$link")])}"""


def router_script(program: RouterProgram) -> str:
    """Return a shell script that programs the router, the same for every backend, replacing what was there."""
    deletions = "\n".join(f"qdisc del dev site{index} root" for index in range(program.sites))
    commands = "\n".join(router_commands(program))
    of_connections = "" if program.shared else connection_script([_of_connections(line) for line in program.lines])
    return f"""tc -force -batch - >/dev/null 2>&1 <<'deletions'
{deletions}
deletions
set -e
tc -batch - <<'commands'
{commands}
commands
{of_connections}
{pinned_neighbours([(address, f"site{index}") for index, address in enumerate(program.cluster_addresses)])}"""


def router_changes(program: RouterProgram) -> str:
    """Return a shell script that changes every delay line of a router that has lines for the same paths already.

    It starts one program where `router_script` starts several, and fails if a line is missing. Only for links that are
    shared: a line that loses its rate would keep the old one.
    """
    changes = "\n".join(
        f"qdisc change dev site{line.target_index} {_line(line, transmits=program.shared)}" for line in program.lines
    )
    return f"""tc -batch - <<'changes'
{changes}
changes"""


def pinned_neighbours(neighbours: Sequence[tuple[str, str]]) -> str:
    """Return shell lines that resolve the hardware addresses of (address, device) pairs permanently, unless they are.

    A real link needs no address resolution, and a reply dropped from a full queue would cut a cluster off. A guest
    takes a tenth of a second to start a program, so what is permanent already is not resolved again.
    """
    wanted = " ".join(f'"{address} dev {device}"' for address, device in neighbours)
    uses = "\n".join(f"neigh replace {address} dev {device} use" for address, device in neighbours)
    ours = "|".join(address.replace(".", "[.]") for address, _ in neighbours)
    return f"""line_end='
'
permanent=$line_end$(ip -4 neigh show nud permanent)
missing=
for neighbour in {wanted}; do
    case $permanent in *"$line_end$neighbour lladdr "*) ;; *) missing=1 ;; esac
done
[ -z "$missing" ] || for attempt in $(seq 100); do
    ip -batch - >/dev/null 2>&1 <<uses || true
{uses}
uses
    known=$(ip -4 neigh show | awk '$1 ~ /^({ours})$/ && $4 == "lladdr" {{
        print "neigh replace", $1, "dev", $3, "lladdr", $5, "nud permanent" }}')
    [ "$(echo "$known" | grep -c lladdr)" -lt {len(neighbours)} ] || {{ echo "$known" | ip -batch -; break; }}
    [ "$attempt" -lt 100 ] || {{ echo "no answer to address resolution from a neighbour"; exit 1; }}
    sleep 0.05
done
"""


def router_commands(program: RouterProgram) -> list[str]:
    """Return the router's tc commands without ``tc``: per site a prio root, its delay lines and their filters.

    Packets that no filter matches go to a last band, undelayed. If links are not shared, lines only delay, and
    ``unshared`` has the commands for the lines that transmit.
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
            commands.append(f"qdisc add {device} {_line(line, transmits=program.shared)}")
            commands.append(
                f"filter add {device} parent 1: protocol ip prio 1"
                f" u32 match ip src {line.source_network} flowid 1:{band:x}"
            )
    return commands


def _line(line: DelayLine, *, transmits: bool) -> str:
    band = band_of(line)
    return f"parent 1:{band:x} handle {line_handle(band):x}: {delay_arguments(line, transmits=transmits)}"


def shaper_arguments(shaper: Shaper) -> str:
    """Return a shaper as arguments of tc."""
    return (
        f"tbf rate {round(shaper.host_rate_mbit * BITS_PER_MBIT)}bit"
        f" burst {shaper.burst_bytes}b limit {shaper.queue_bytes}b"
    )


def _shaping(program: EdgeProgram) -> str:
    return f"""ip link show dev ifb0 >/dev/null 2>&1 || ip link add ifb0 type ifb
ip link set dev ifb0 up
tc qdisc add dev "$link" root handle 1: {shaper_arguments(program.up)}
tc qdisc add dev ifb0 root handle 1: {shaper_arguments(program.down)}
tc qdisc add dev "$link" handle ffff: ingress
tc filter add dev "$link" parent ffff: protocol ip prio 1 u32 match u32 0 0 action mirred egress redirect dev ifb0"""


def line_handle(band: int) -> int:
    """Return the major number of the delay line in a band (bands count from 1)."""
    return band + 16


def connections_handle(band: int) -> int:
    """Return the major number of the queue that holds a band's lines of connections, if links are not shared."""
    return band + 32


def band_of(line: DelayLine) -> int:
    """Return the band of a delay line on its target's interface: its source's position among the others, from 1."""
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
    """Return a delay line as arguments of tc, without the rate if it only delays."""
    delay = f" delay {microseconds(line.host_delay_s):.3f}us" if line.host_delay_s or line.host_jitter_s else ""
    jitter = f" {microseconds(line.host_jitter_s):.3f}us" if line.host_jitter_s else ""
    loss = f" loss random {100 * line.loss:.6f}%" if line.loss else ""
    rate = f" rate {round(line.host_rate_mbit * BITS_PER_MBIT)}bit" if transmits else ""
    return f"netem limit {line.queue_packets}{delay}{jitter}{loss}{rate}"
