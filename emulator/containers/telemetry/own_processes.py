"""The CPU time of what works for the testbed outside of its containers.

That is the command that runs it, with the load generator that it starts, and programs that serve the containers' file
systems: an engine that may not mount overlays has a `fuse-overlayfs` for each container, which works whenever a program
starts there. Nothing else that the command may have started is the testbed's: a program that measures from Python may
have other children, and those disturb.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from emulator.containers.telemetry.counters import lines_of

STORAGE: Final = "fuse-overlayfs"
LOAD_GENERATOR: Final = ["-m", "locust"]
"""What a load generator's command line holds after the interpreter."""
_USER, _SYSTEM, _BEGUN = 11, 12, 19
"""Fields of /proc/PID/stat after the name: time used by the process and for it by the kernel, and when it began."""


@dataclass
class OwnProcesses:
    """Processes that are asked again and again; `storage` holds the numbers of those that serve file systems."""

    storage: tuple[str, ...] = ()
    proc: Path = Path("/proc")
    own: str = str(os.getpid())
    _used: dict[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, folders: Iterable[str], proc: Path = Path("/proc")) -> OwnProcesses:
        """Find the processes that serve the file systems at `folders`, where the engine's storage is a program."""
        return cls(tuple(_serving(set(folders), proc)), proc)

    def used_s(self) -> float:
        """Return the CPU seconds that these processes have used so far, those that have ended among them."""
        for number in (self.own, *self._load_generators(), *self.storage):
            values = _values(self.proc / number / "stat")
            if len(values) > _BEGUN:
                # A number may be given to another process once its own has ended.
                self._used[number, values[_BEGUN]] = int(values[_USER]) + int(values[_SYSTEM])
        return sum(self._used.values()) / os.sysconf("SC_CLK_TCK")

    def _load_generators(self) -> Iterator[str]:
        for children in (self.proc / self.own / "task").glob("*/children"):
            for number in " ".join(lines_of(children)).split():
                if _words(self.proc / number)[1:3] == LOAD_GENERATOR:
                    yield number


def _serving(folders: set[str], proc: Path) -> Iterator[str]:
    if not folders:
        return
    for process in proc.glob("[0-9]*"):
        if lines_of(process / "comm") == [STORAGE] and folders & set(_words(process)):
            yield process.name


def _words(process: Path) -> list[str]:
    return " ".join(lines_of(process / "cmdline")).split("\0")


def _values(stat: Path) -> list[str]:
    """Return the fields of a process that follow its name in parentheses; none if it has ended."""
    return " ".join(lines_of(stat)).rpartition(")")[2].split()
