"""The broker's service in the Compose file: the files that its container mounts, its port and its limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from emulator.containers.broker_settings import BROKER_FOLDER, BROKER_JOURNAL, BROKER_PORT, keys_of_heads
from emulator.containers.common_service import (
    LEADING_CPU_SHARES,
    SHARE_OF_MEMORY,
    health_check,
    in_every_service,
    memory_limit,
)
from emulator.containers.rendering import Rendering

MOUNTED_AT: Final = Path("/etc/testbed")
"""Where the broker's container has its files, which only root can read."""

AGENT_AT: Final = "/root/ssh-agent"
"""Where the broker's container has the socket of the user's ssh-agent, in a folder that only root can enter."""

MAX_BROKER_PROCESSES: Final = 8192

BROKER_STOP_GRACE_PERIOD: Final = "10s"
"""A broker that is stopped releases what it holds."""

RESTART_BROKER: Final = "on-failure:5"
"""A broker that cannot start is restarted five times at most."""


def broker_service(rendering: Rendering) -> dict[str, Any]:
    """Return the broker's service: on the control network, with its API published on the host's loopback only.

    Its entry point copies what is mounted to `BROKER_FOLDER`, and runs the broker as a user of its own, which keeps
    CAP_SETUID, CAP_SETGID and CAP_KILL of root's capabilities.
    """
    state = rendering.state_folder
    mounted = {
        "topology.yaml": state / "topology.yaml",
        "broker.json": state / "broker.json",
        "token": state / "token",
        "keys/broker": state / "keys" / "broker",
        "keys/known_hosts": state / "keys" / "known_hosts",
        **keys_of_heads(rendering),
    }
    # Without a file of that name Docker makes a folder: the broker then starts without an agent.
    agent = [f"{rendering.agent.path}:{AGENT_AT}:ro"] if rendering.agent else []
    url = f"http://127.0.0.1:{BROKER_PORT}/v1/health"
    # Compose may have given the container a proxy, which does not lead to the container itself.
    probe = f"import urllib.request as u; u.build_opener(u.ProxyHandler({{}})).open('{url}', timeout=5)"
    return {
        **in_every_service(rendering, "broker", rendering.images.broker, rendering.names.broker),
        "stop_grace_period": BROKER_STOP_GRACE_PERIOD,
        # A killed broker recovers from its journal; the other parts hold state that no journal restores.
        "restart": RESTART_BROKER,
        "hostname": "broker",
        "ports": [published_at(rendering.api_port)],
        "volumes": [
            *(f"{source}:{MOUNTED_AT / target}:ro" for target, source in mounted.items()),
            *agent,
            f"journal:{BROKER_JOURNAL.parent}",
        ],
        "tmpfs": [f"{BROKER_FOLDER}:mode=700"],
        "pids_limit": MAX_BROKER_PROCESSES,
        **memory_limit(int(SHARE_OF_MEMORY * rendering.host_memory_bytes / 3)),
        # Its decisions and timestamps must not wait behind the ranks that it started.
        "cpu_shares": LEADING_CPU_SHARES,
        "networks": {"control": {"ipv4_address": rendering.addresses.broker}},
        "healthcheck": health_check(["CMD", "python3", "-c", probe]),
    }


def published_at(port: int) -> str:
    """Return how the Compose file says that the API is published at `port` of the host's loopback."""
    return f"127.0.0.1:{port}:{BROKER_PORT}"
