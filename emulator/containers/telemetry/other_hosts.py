"""The counters of a host on which this command does not run, through a console in the container of a cluster there.

A container sees its host's own counters in /proc, and those of its own control groups and network. They are copied into
a folder here and read like this host's own.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import docker

from emulator.containers.engine import ENGINE_ERRORS
from emulator.containers.telemetry.consoles import Console
from emulator.containers.telemetry.control_groups import ControlGroups, device_of
from emulator.containers.telemetry.counters import Counters, host_counters, lines_of
from emulator.model.errors import TestbedNotUp
from emulator.model.evidence import HostSize

BOOT: Final = "/proc/sys/kernel/random/boot_id"
"""What two hosts have in common if they are one machine."""

_GROUPS: Final = "/sys/fs/cgroup"
_OF_VERSION_1: Final = (f"{_GROUPS}/cpu/cpu.stat", f"{_GROUPS}/cpuacct/cpuacct.usage")
_OF_VERSION_2: Final = ("cpu.stat", "cpu.pressure", "memory.pressure", "io.pressure")
_OF_HOST: Final = ("stat", "vmstat", "meminfo", "uptime", "pressure/cpu", "pressure/memory", "pressure/io")
_OF_NETWORK: Final = ("snmp", "netstat", "dev", "route")
FILES: Final = (
    BOOT,
    *(f"/proc/{name}" for name in _OF_HOST),
    *(f"/proc/self/net/{name}" for name in _OF_NETWORK),
    *_OF_VERSION_1,
    *(f"{_GROUPS}/{name}" for name in _OF_VERSION_2),
)
READ: Final = f"grep -sH '' {' '.join(FILES)}"
"""Prints each line of all files after its file's name, in one process."""

HOST_LEFT_ALONE_S: Final = 30.0
"""How long a container that did not answer is not asked again, in host seconds."""

_BYTES_PER_KB: Final = 1024


@dataclass
class RemoteContainer:
    """The container of `cluster` on the host called `host`; what it sees is copied into `folder`.

    `address` is its own on the way to other sites, with the length of its network's prefix.
    """

    client: docker.DockerClient
    container: str
    cluster: str
    host: str
    folder: Path
    address: str | None = None
    _console: Console | None = None
    _host_ask_again_s: float = 0.0

    def ask(self) -> bool:
        """Ask for all counters without waiting for them; return whether the container could be asked.

        One that was lost is left alone for a while: a host that is not reached lets each try wait for long.
        """
        if time.monotonic() < self._host_ask_again_s:
            return False
        with suppress(TestbedNotUp):
            self._console = self._console or self._opened()
            self._console.ask()
            return True
        return self._lost()

    def receive(self) -> bool:
        """Copy the counters that were asked for; return whether they came."""
        with suppress(TestbedNotUp):
            answer = "" if self._console is None else self._console.answer()
            self._copy(answer)
            return bool(answer)
        return self._lost()

    @property
    def boot(self) -> list[str]:
        """What identifies the host's machine since it was booted; empty if it was never read."""
        return lines_of(self._here(BOOT))

    @property
    def size(self) -> HostSize | None:
        """The host's processors and memory; None if they were never read."""
        processors = sum(line.startswith("cpu") for line in lines_of(self._here("/proc/stat"))) - 1
        memory = [line.split() for line in lines_of(self._here("/proc/meminfo")) if line.startswith("MemTotal:")]
        return HostSize(processors, int(memory[0][1]) * _BYTES_PER_KB) if processors > 0 and memory else None

    def host_counters(self) -> Counters:
        """Return the counters of the container's host."""
        uptime = " ".join(lines_of(self._here("/proc/uptime"))).split()
        return host_counters(self._here("/proc"), float(uptime[0]) if uptime else None)

    def counters(self) -> Counters:
        """Return the container's own counters."""
        process, groups = self._here("/proc/self"), self._here(_GROUPS)
        device = None if self.address is None else device_of(self.address, process / "net" / "route")
        cpu, account = (folder if folder.exists() else None for folder in (groups / "cpu", groups / "cpuacct"))
        unified = groups if (groups / "cpu.stat").exists() else None
        return ControlGroups(process, unified, cpu, account, above=(), device=device).counters()

    def close(self) -> None:
        """Close the console; it is opened again when it is needed, also if the container was lost before."""
        if self._console is not None:
            with suppress(OSError):
                self._console.close()
        self._console = None
        self._host_ask_again_s = 0.0

    def _lost(self) -> bool:
        self.close()
        self._host_ask_again_s = time.monotonic() + HOST_LEFT_ALONE_S
        return False

    def _opened(self) -> Console:
        try:
            return Console.opened(self.client.containers.get(self.container), READ)
        except ENGINE_ERRORS as error:
            raise TestbedNotUp(f"The container {self.container} does not run ({error}).") from error

    def _copy(self, answer: str) -> None:
        found: dict[str, list[str]] = {}
        for line in answer.splitlines():
            name, _, text = line.partition(":")
            if name in FILES:
                found.setdefault(name, []).append(text)
        for name, lines in found.items():
            file = self._here(name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(lines) + "\n", encoding="ascii", errors="replace")

    def _here(self, path: str) -> Path:
        return self.folder / path.lstrip("/")
