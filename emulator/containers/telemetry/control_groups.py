"""A container's counters, read from its first process's control groups and network statistics.

Control groups of version 1, of version 2 and of both at once have different layouts; /proc/PID/cgroup and the table of
mounts say where a group is. A quota of a group above the container's own also throttles the container.
"""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Self

from emulator.containers.telemetry.counters import Counters, lines_of, waited_s
from emulator.containers.telemetry.link_counts import DOWNLINK_DEVICE
from emulator.model.units import MICROSECONDS_PER_SECOND, NANOSECONDS_PER_SECOND

UNIFIED: Final = ""
"""Key of the version 2 hierarchy, where version 1 names its controllers."""

_STOPPED: Final = "T"
"""A process that is traced, as a guest's own processes are all the time, is in another state while it stops."""
_DESTINATION, _GATEWAY, _MASK = 1, 2, 7
_BYTES_RECEIVED, _BYTES_SENT = 0, 8


@dataclass(frozen=True, slots=True)
class ControlGroups:
    """The folders of one container's counters; None if there is no such group. `device` leads to other sites."""

    process: Path
    unified: Path | None
    cpu: Path | None
    cpu_account: Path | None
    above: tuple[Path, ...]
    device: str | None = None

    @classmethod
    def of(
        cls, process_id: int, container_id: str, proc: Path = Path("/proc"), address: str | None = None
    ) -> Self | None:
        """Find those of the container whose first process is `process_id`; None if this host does not show it.

        `address` is its own on the way to other sites, with the length of its network's prefix (``10.0.1.2/24``): what
        crosses that device is counted.
        """
        process = proc / str(process_id)
        groups = dict(_groups(process / "cgroup"))
        # Where the engine lives in a virtual machine of its own, the number is that of another process, or of none.
        if not any(container_id in path for path in groups.values()):
            return None
        mounts = dict(_mounts(proc / "self" / "mountinfo"))
        folder = partial(_folder, groups, mounts)
        # Beside groups of version 1, that of version 2 may be the one of the runtime that started the container.
        unified = folder(UNIFIED) if container_id in groups.get(UNIFIED, "") else None
        cpu = folder("cpu")
        quotas = (cpu, mounts.get("cpu")) if cpu is not None else (unified, mounts.get(UNIFIED))
        device = None if address is None else device_of(address, process / "net" / "route")
        return cls(process, unified, cpu, folder("cpuacct"), tuple(_above(*quotas)), device)

    def counters(self) -> Counters:
        """Return the container's present counters."""
        unified = self.unified
        statistics = self.process / "net" / "snmp"
        segments, retransmissions = _segments(statistics)
        datagrams = _protocol_counters(statistics, "Udp:")
        timeouts = _protocol_counters(self.process / "net" / "netstat", "TcpExt:").get("TCPTimeouts")
        sent_bytes, received_bytes = _device_bytes(self.process / "net" / "dev", self.device)
        return Counters(
            host_cpu_s=self._used_s(),
            host_throttled_s=self._throttled_s(),
            host_cpu_wait_s=None if unified is None else waited_s(unified / "cpu.pressure"),
            host_memory_wait_s=None if unified is None else waited_s(unified / "memory.pressure"),
            host_io_wait_s=None if unified is None else waited_s(unified / "io.pressure"),
            segments=segments,
            retransmissions=retransmissions,
            timeouts=timeouts,
            datagrams_sent=datagrams.get("OutDatagrams"),
            datagrams_received=datagrams.get("InDatagrams"),
            sent_bytes=sent_bytes,
            received_bytes=received_bytes,
        )

    def has_stopped_process(self) -> bool:
        """Return whether a process of the container is stopped by a signal at present."""
        group = self.unified or self.cpu_account
        processes = [] if group is None else lines_of(group / "cgroup.procs")
        return any(_state(self.process.parent / number / "stat") == _STOPPED for number in processes)

    def _used_s(self) -> float | None:
        if self.cpu_account is not None:
            nanoseconds = next(iter(lines_of(self.cpu_account / "cpuacct.usage")), None)
            return None if nanoseconds is None else int(nanoseconds) / NANOSECONDS_PER_SECOND
        microseconds = None if self.unified is None else _statistics(self.unified / "cpu.stat").get("usage_usec")
        return None if microseconds is None else microseconds / MICROSECONDS_PER_SECOND

    def _throttled_s(self) -> float | None:
        """Add up how long the processors' queues of this group and of those above it were throttled."""
        own = self.cpu or self.unified
        if own is None:
            return None
        found = [_throttled_s(_statistics(group / "cpu.stat")) for group in (own, *self.above)]
        return None if found[0] is None else sum(each for each in found if each is not None)


def _state(stat: Path) -> str:
    """Read the state of a process, which follows its name in parentheses; empty if it has ended."""
    fields = " ".join(lines_of(stat)).rpartition(")")[2].split()
    return fields[0] if fields else ""


def _throttled_s(statistics: dict[str, int]) -> float | None:
    if "throttled_time" in statistics:
        return statistics["throttled_time"] / NANOSECONDS_PER_SECOND
    if "throttled_usec" in statistics:
        return statistics["throttled_usec"] / MICROSECONDS_PER_SECOND
    return None


def _groups(path: Path) -> Iterator[tuple[str, str]]:
    """Yield a process's group under each controller: ``4:cpu,cpuacct:/docker/1a2b``, ``0::/docker/1a2b``."""
    for line in lines_of(path):
        _, controllers, group = line.split(":", 2)
        for controller in controllers.split(","):
            yield controller, group


def _mounts(path: Path) -> Iterator[tuple[str, Path]]:
    """Yield where each controller's groups are mounted."""
    for line in lines_of(path):
        mount, _, kind = line.partition(" - ")
        point, fields = Path(mount.split()[4]), kind.split()
        if fields[0] == "cgroup2":
            yield UNIFIED, point
        elif fields[0] == "cgroup":
            for option in fields[-1].split(","):
                yield option, point


def _folder(groups: dict[str, str], mounts: dict[str, Path], controller: str) -> Path | None:
    if controller not in groups or controller not in mounts:
        return None
    folder = mounts[controller] / groups[controller].lstrip("/")
    return folder if folder.is_dir() else None


def _above(group: Path | None, root: Path | None) -> Iterator[Path]:
    """Yield the groups above `group` and below the root, which has no quota."""
    if group is None or root is None:
        return
    for parent in group.parents:
        if parent == root:
            return
        yield parent


def _statistics(path: Path) -> dict[str, int]:
    fields = (line.split() for line in lines_of(path))
    return {field[0]: int(field[1]) for field in fields if len(field) == 2}


def _segments(path: Path) -> tuple[int | None, int | None]:
    """Read TCP's segments: all that were sent, and those retransmitted."""
    found = _protocol_counters(path, "Tcp:")
    if "OutSegs" not in found or "RetransSegs" not in found:
        return None, None
    # Linux counts as sent what was sent for the first time.
    return found["OutSegs"] + found["RetransSegs"], found["RetransSegs"]


def _protocol_counters(path: Path, protocol: str) -> dict[str, int]:
    """Read a protocol's counters: of two lines that begin with its name, one has names and the other numbers."""
    names, numbers = ([line.split()[1:] for line in lines_of(path) if line.startswith(protocol)] + [[], []])[:2]
    return dict(zip(names, map(int, numbers), strict=False))


def device_of(address: str, routes: Path) -> str | None:
    """Return the device on the network of `address`, by the kernel's table of routes; None if there is none."""
    network = ipaddress.ip_interface(address).network
    # The table has addresses as the processor has them in memory.
    parts = (network.network_address, ipaddress.ip_address(0), network.netmask)
    wanted = [f"{int.from_bytes(part.packed, sys.byteorder):08X}" for part in parts]
    for fields in map(str.split, lines_of(routes)[1:]):
        if len(fields) > _MASK and [fields[at] for at in (_DESTINATION, _GATEWAY, _MASK)] == wanted:
            return fields[0]
    return None


def _device_bytes(path: Path, device: str | None) -> tuple[int | None, int | None]:
    """Read the bytes of frames that a device sent and received.

    What arrives waits in the queue of the downlink's own device, where there is one, and is counted behind it: a frame
    that the queue drops has not crossed the link.
    """
    counted = {
        name.strip(): [int(number) for number in numbers.split()]
        for name, colon, numbers in (line.partition(":") for line in lines_of(path))
        if colon
    }
    if device not in counted:
        return None, None
    arrived = counted.get(DOWNLINK_DEVICE, counted[device])
    return counted[device][_BYTES_SENT], arrived[_BYTES_RECEIVED]
