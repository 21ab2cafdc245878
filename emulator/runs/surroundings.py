"""The host of a run and the versions of its software, as its manifest records them."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from emulator.model.evidence import HostSize
from emulator.runs.program_version import program_version

_RECORDED_PACKAGES = ("multicluster-testbed", "docker", "httpx", "locust", "numpy", "pydantic")


def host() -> dict[str, object]:
    """Return the host's processors, memory and kernel; nothing that names it or its owner."""
    import psutil  # late: simulations need the versions only, and do without it

    return {
        "processor": _processor_name(),
        "cores": psutil.cpu_count(logical=False) or psutil.cpu_count(),
        "threads": psutil.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "system": platform.system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
    }


def host_size() -> HostSize:
    """Return the host's processors and memory, as shares of them are judged."""
    import psutil

    return HostSize(psutil.cpu_count() or 1, psutil.virtual_memory().total)


def versions() -> dict[str, str]:
    """Return the versions of Python, of the packages that shape a run, and of the program itself (no path of it)."""
    found = {"python": platform.python_version(), **program_version()}
    for package in _RECORDED_PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def host_now() -> str:
    """Return the current time, in UTC, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _processor_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())
