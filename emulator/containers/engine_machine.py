"""The machine on which an engine runs its containers: this host, or a virtual machine (Docker Desktop)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from emulator.containers import this_kernel
from emulator.model.evidence import HostSize
from emulator.model.host_processors import usable_processors


def machine_size(information: Mapping[str, Any]) -> HostSize:
    """Return the processors and memory of the machine of the engine that gives this `information`."""
    if this_kernel.is_of(information):
        return HostSize(usable_processors(), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return HostSize(int(information["NCPU"]), int(information["MemTotal"]))
