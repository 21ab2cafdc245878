"""What the services of the Compose file have in common: labels, logging, limits, and how their health is checked."""

from __future__ import annotations

from typing import Any, Final

from emulator.containers.rendering import Rendering

SHARE_OF_MEMORY: Final = 0.75
"""The share of the host's memory that all clusters together get, and the broker a third of it."""

LEADING_CPU_SHARES: Final = 10240
"""For what every cluster waits for: ten times a container's usual share of contended processors.

With control groups of version 2, runc makes four to six times of it.
"""

STOP_GRACE_PERIOD: Final = "3s"

READS_HOST_FILES: Final = "label=disable"
"""The security option of a container that reads files of this host, such as a user's keys.

SELinux would keep it from them unless they were labelled anew, for everybody. Without SELinux this does nothing.
"""


def in_every_service(
    rendering: Rendering, role: str, image: str, container: str, cluster: str | None = None
) -> dict[str, Any]:
    """Return what every service states, some of which it may state otherwise."""
    return {
        "image": image,
        "container_name": container,
        "labels": {**rendering.labels(role, cluster), **rendering.origin_labels()},
        "init": True,
        "security_opt": [READS_HOST_FILES],
        "restart": "no",
        "stop_grace_period": STOP_GRACE_PERIOD,
        "logging": {"driver": "json-file", "options": {"max-size": "10m", "max-file": "2"}},
    }


def memory_limit(size_bytes: int) -> dict[str, int]:
    """Return the keys that limit a container to that much memory, and to no swap space."""
    return {"mem_limit": size_bytes, "memswap_limit": size_bytes}


def health_check(test: list[str]) -> dict[str, Any]:
    """Return how a container's health is checked by `test`, a command in it."""
    # Rarely: a check costs the host's processors what a run needs. `up` does not wait for it.
    return {"test": test, "interval": "60s", "timeout": "30s", "retries": 3, "start_period": "60s"}
