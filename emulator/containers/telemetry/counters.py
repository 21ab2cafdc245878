"""Counters of the host or of a container since it started; a row of evidence is the difference of two readings.

The host's own counters are read here, from /proc, which every user may read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from emulator.model.evidence import COMMAND_PART, HOST_PART, EvidenceRow, is_whole_host
from emulator.model.units import MICROSECONDS_PER_SECOND

_BYTES_PER_KB: Final = 1024
_STOLEN: Final = 7
_IDLE: Final = (3, 4)


@dataclass(frozen=True, slots=True)
class Counters:
    """Totals since the start, in the meaning of `EvidenceRow`'s columns; None where they are not counted.

    Only `memory_available_bytes` is a present value.
    """

    host_cpu_s: float | None = None
    host_stolen_s: float | None = None
    host_throttled_s: float | None = None
    host_stopped_s: float | None = None
    host_cpu_wait_s: float | None = None
    host_memory_wait_s: float | None = None
    host_io_wait_s: float | None = None
    memory_available_bytes: int | None = None
    swapped_pages: int | None = None
    killed_processes: int | None = None
    segments: int | None = None
    retransmissions: int | None = None
    timeouts: int | None = None
    datagrams_sent: int | None = None
    datagrams_received: int | None = None
    sent_bytes: int | None = None
    received_bytes: int | None = None

    def row_since(self, before: Counters, part: str, time_s: float, host_interval_s: float) -> EvidenceRow:
        """Return what was counted of `part` between two readings, the later one at `time_s`."""
        cells = {name: _since(name, getattr(before, name), getattr(self, name)) for name in self.__slots__}
        return EvidenceRow.model_validate({"time_s": time_s, "host_interval_s": host_interval_s, "part": part, **cells})


def _since(name: str, before: float | None, after: float | None) -> float | None:
    if before is None or after is None or name == "memory_available_bytes":
        return after if name == "memory_available_bytes" else None
    return max(after - before, 0)


def host_counters(proc: Path = Path("/proc"), host_now_s: float | None = None) -> Counters:
    """Read the counters of the whole machine; `host_now_s` is its time since it was booted, if it is another one."""
    host_now_s = time.monotonic() if host_now_s is None else host_now_s
    times_s = _processor_times_s(proc / "stat", host_now_s)
    pages, memory = _numbers(proc / "vmstat"), _numbers(proc / "meminfo")
    available_kb = memory.get("MemAvailable:")
    return Counters(
        host_cpu_s=None if times_s is None else times_s[0],
        host_stolen_s=None if times_s is None else times_s[1],
        host_cpu_wait_s=waited_s(proc / "pressure" / "cpu"),
        host_memory_wait_s=waited_s(proc / "pressure" / "memory"),
        host_io_wait_s=waited_s(proc / "pressure" / "io"),
        memory_available_bytes=None if available_kb is None else available_kb * _BYTES_PER_KB,
        swapped_pages=pages["pswpin"] + pages["pswpout"] if "pswpin" in pages and "pswpout" in pages else None,
        killed_processes=pages.get("oom_kill"),
    )


def waited_s(pressure: Path) -> float | None:
    """Read from a pressure file of the kernel in how many seconds some task waited; None if it counts none."""
    for line in lines_of(pressure):
        if line.startswith("some "):
            return int(line.rsplit("total=", 1)[1]) / MICROSECONDS_PER_SECOND
    return None


def lines_of(path: Path) -> list[str]:
    """Return the lines of a small file; none if it cannot be read."""
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []


def _processor_times_s(stat: Path, host_now_s: float) -> tuple[float, float] | None:
    """Read the seconds that all processors together were busy, and those that a hypervisor withheld; both cumulative.

    The kernel measures idle time, but samples by its ticks what processors are used for: bursts in step with the ticks,
    such as those of paced ranks, would count many times over or not at all.
    """
    lines = [line.split() for line in lines_of(stat) if line.startswith("cpu")]
    per_second = os.sysconf("SC_CLK_TCK")
    if not lines or len(lines[0]) <= 1 + _STOLEN:
        return None
    whole, processors = [int(ticks) / per_second for ticks in lines[0][1:]], len(lines) - 1
    stolen_s = whole[_STOLEN]
    return processors * host_now_s - sum(whole[index] for index in _IDLE) - stolen_s, stolen_s


def _numbers(path: Path) -> dict[str, int]:
    """Return the first number of each line, by the line's first word."""
    fields = (line.split() for line in lines_of(path))
    return {field[0]: int(field[1]) for field in fields if len(field) > 1 and field[1].isdigit()}


def missing_counters(looks: Mapping[str, Counters]) -> list[str]:
    """Return what a reading of the host and the containers did not find, a phrase each."""
    parts = [counters for part, counters in looks.items() if not is_whole_host(part) and part != COMMAND_PART]
    whole = looks.get(HOST_PART, Counters())
    phrases = (
        (whole.host_cpu_s is None, "the use of the host's processors"),
        (whole.host_cpu_wait_s is None, "the host's pressure: its kernel counts none"),
        (whole.memory_available_bytes is None, "the host's available memory"),
        (whole.swapped_pages is None, "swapping"),
        (whole.killed_processes is None, "processes killed for want of memory"),
        (_is_missing(parts, "host_cpu_s"), "the use of processors by containers: no control groups of theirs here"),
        (_is_missing(parts, "host_throttled_s"), "throttling of containers"),
        (_is_missing(parts, "timeouts"), "TCP's timeouts in containers"),
        (all(counters.sent_bytes is None for counters in parts), "the bytes that cross access links"),
    )
    return [phrase for is_missing, phrase in phrases if is_missing]


def _is_missing(parts: Iterable[Counters], name: str) -> bool:
    return any(getattr(counters, name) is None for counters in parts)
