"""Unshared access links: every connection has a path's rate and a queue of its own. For control runs.

The difference between shared and unshared links is what a job loses because its own connections wait for each other.
The edges then limit nothing. In the router each delay line only delays, and behind it every connection has a line of
its own that transmits: netem below a class of htb, found by hash tables of u32, which kernels without better
classifiers have, too. A connection is identified by its two ports. Only the ports' lowest bits are compared, so two of
n connections between two sites share a line with a probability of about n * n / 2 in `CONNECTIONS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

PORTS: Final = 16
"""How many ports are distinguished at either end; a power of two."""

CONNECTIONS: Final = PORTS * PORTS

# TCP's and UDP's ports are the first four bytes behind an IP header without options. 800: is u32's own root table.
_OF_A_LINE: Final = """lines_of_connections() {{
    awk -v ports={ports} -v device="dev $1" -v parent="$2" -v root="$3" -v rate="$4" -v limit="$5" 'BEGIN {{
        filter = "filter add " device " parent " root " protocol ip prio 1"
        print "qdisc add " device " parent " parent " handle " root " htb"
        print filter " handle 1: u32 divisor " ports
        for (from = 0; from < ports; from++) printf "%s handle %x: u32 divisor %d\\n", filter, from + 2, ports
        print filter " u32 ht 800:: match u32 0 0 hashkey mask 0x{mask:04x}0000 at 20 link 1:"
        next_key = "match u32 0 0 hashkey mask 0x0000{mask:04x} at 20"
        for (from = 0; from < ports; from++) {{
            printf "%s u32 ht 1:%x: %s link %x:\\n", filter, from, next_key, from + 2
            for (to = 0; to < ports; to++) {{
                class = root sprintf("%x", from * ports + to + 1)
                print "class add " device " parent " root " classid " class " htb rate {free_bits}bit quantum 1514"
                print "qdisc add " device " parent " class " netem limit " limit " rate " rate
                printf "%s u32 ht %x:%x: match u32 0 0 flowid %s\\n", filter, from + 2, to, class
            }}
        }}
    }}' | tc -batch -
}}"""

_FREE_BITS: Final = 10**10
"""A class's rate: no limit, because the line below it limits."""


@dataclass(frozen=True, slots=True)
class ConnectionLines:
    """The lines of all connections that pass `parent` (of tc) on `device`.

    `handle` is the major number of the queueing discipline that holds them, which no other on the device may have.
    """

    device: str
    parent: str
    handle: int
    rate_bits: int
    queue_packets: int


def connection_script(lines: Sequence[ConnectionLines]) -> str:
    """Return shell lines that give each connection a line of its own."""
    function = _OF_A_LINE.format(ports=PORTS, mask=PORTS - 1, free_bits=_FREE_BITS)
    calls = (
        f"lines_of_connections {line.device} {line.parent} {line.handle:x}: {line.rate_bits}bit {line.queue_packets}"
        for line in lines
    )
    return "\n".join([function, *calls])
