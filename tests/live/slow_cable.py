"""A cable that delays frames, between a host of a lab and the switch. Run as a program, it is the cable itself.

Two taps, one at each end, and a program that passes frames on from one to the other after a time. It needs no traffic
control of the kernel, which may lack it. ``NAME NAME SECONDS`` are the taps and the delay one way.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.live.hosts_lab import Lab, LabHost

TUNSETIFF: Final = 0x400454CA
TAP_WITHOUT_HEADER: Final = 0x0002 | 0x1000
PR_SET_TIMERSLACK: Final = 29
LARGEST_FRAME_BYTES: Final = 65_536


def main() -> None:
    """Pass frames on until the process is ended."""
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    ends = [opened_tap(name) for name in sys.argv[1:3]]
    delay_s = float(sys.argv[3])
    other = dict(zip(ends, reversed(ends), strict=True))
    under_way: deque[tuple[float, int, bytes]] = deque()
    print("ready", flush=True)
    while True:
        wait_s = max(0.0, under_way[0][0] - time.monotonic()) if under_way else None
        ready, _, _ = select.select(ends, [], [], wait_s)
        for end in ready:
            under_way.append((time.monotonic() + delay_s, other[end], os.read(end, LARGEST_FRAME_BYTES)))
        while under_way and under_way[0][0] <= time.monotonic():
            _, end, frame = under_way.popleft()
            os.write(end, frame)


def opened_tap(name: str) -> int:
    """Make a tap, which lasts as long as this process, and return its open file."""
    opened = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(opened, TUNSETIFF, struct.pack("16sH", name.encode(), TAP_WITHOUT_HEADER))
    return opened


@contextmanager
def slow_cable(lab: Lab, host: LabHost, delay_s: float) -> Iterator[None]:
    """Delay what a host sends and receives over the underlay, inside the context."""
    switch = f"{lab.testbed}-sw"
    inside = ["nsenter", f"--net=/run/netns/{switch}"]
    ip = ["ip", "-n", switch, "link"]
    program = [*inside, sys.executable, str(Path(__file__)), "slow0", "slow1", str(delay_s)]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as cable:
        assert cable.stdout is not None
        assert cable.stdout.readline() == b"ready\n"
        for words in (
            ["add", "sw1", "type", "bridge"],
            ["set", "sw1", "up", "mtu", lab.underlay_mtu],
            ["set", "slow0", "mtu", lab.underlay_mtu, "master", "sw0", "up"],
            ["set", "slow1", "mtu", lab.underlay_mtu, "master", "sw1", "up"],
            ["set", host.cable, "master", "sw1"],
        ):
            subprocess.run([*ip, *words], check=True, capture_output=True)
        try:
            yield
        finally:
            subprocess.run([*ip, "set", host.cable, "master", "sw0"], check=True, capture_output=True)
            cable.kill()
            subprocess.run([*ip, "del", "sw1"], check=False, capture_output=True)


if __name__ == "__main__":
    main()
