"""An access link that nobody shares: every connection has the link's rate and a queue of its own. For control runs.

What a job loses because its own connections wait for each other at an access link is the difference between the link
as it is and this one. A connection is what has the same two ports (htb with a class for each, found by u32's hash
tables: kernels that lack more elaborate classifiers have these). Only the ports' lowest bits are looked at, so that two
of n connections that cross a link share a class with a probability of about n * n / 2 in `CLASSES`.
"""

from __future__ import annotations

import re
from typing import Final

from emulator.model.units import rate_bytes_per_s

PORTS: Final = 32
"""How many ports are told apart at either end; a power of two."""

CLASSES: Final = PORTS * PORTS

_BITS_PER_UNIT: Final = {"bit": 1, "Kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9}

# TCP's and UDP's ports are the first four bytes behind an IP header without options. 800: is u32's own root table.
_COMMANDS: Final = """awk -v ports={ports} 'BEGIN {{
    device = "dev " ARGV[1]
    filter = "filter add " device " parent 1: protocol ip prio 1"
    print "qdisc add " device " root handle 1: htb"
    print filter " handle 1: u32 divisor " ports
    for (from = 0; from < ports; from++) printf "%s handle %x: u32 divisor %d\\n", filter, from + 2, ports
    print filter " u32 ht 800:: match u32 0 0 hashkey mask 0x{mask:04x}0000 at 20 link 1:"
    for (from = 0; from < ports; from++) {{
        printf "%s u32 ht 1:%x: match u32 0 0 hashkey mask 0x0000{mask:04x} at 20 link %x:\\n", filter, from, from + 2
        for (to = 0; to < ports; to++) {{
            class = from * ports + to + 1
            printf "class add %s parent 1: classid 1:%x htb {shape}\\n", device, class
            printf "%s u32 ht %x:%x: match u32 0 0 flowid 1:%x\\n", filter, from + 2, to, class
        }}
    }}
}}' {device} | tc -batch -"""

RATES_COMMAND: Final = "tc class show dev {device} | grep -o ' rate [^ ]*' | sort | uniq -c"
"""A shell command that prints how many classes of an unshared device have which rate."""


def unshared_lines(device: str, rate_bits: int, burst_bytes: int, queue_packets: int) -> str:
    """Shell lines that give each connection on `device`, which has no root discipline, a rate and a queue of its own.

    A class queues as many packets as its device when the class is made.
    """
    shape = f"rate {rate_bits}bit ceil {rate_bits}bit burst {burst_bytes}b cburst {burst_bytes}b quantum {burst_bytes}"
    commands = _COMMANDS.format(ports=PORTS, mask=PORTS - 1, shape=shape, device=device)
    return f"ip link set dev {device} txqueuelen {queue_packets}\n{commands}"


def common_rate_bytes_per_s(listed: str) -> float:
    """The rate of all classes, from what `RATES_COMMAND` printed; 0 if one is missing or differs."""
    found = re.findall(r"(\d+) +rate (\d+(?:\.\d+)?)([KMG]?bit)", listed)
    if len(found) != 1 or int(found[0][0]) != CLASSES:
        return 0.0
    _, number, unit = found[0]
    return rate_bytes_per_s(float(number) * _BITS_PER_UNIT[unit] / 10**6)
