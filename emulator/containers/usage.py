"""A container's use of the host until now: CPU, memory and packets received."""

from __future__ import annotations

import time
from dataclasses import dataclass

import docker
import docker.errors

from emulator.model.errors import EngineUnavailable
from emulator.model.units import seconds_from_nanoseconds


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds and packets received since the container was started, and the memory that it holds now.

    `host_moment_s` is the timestamp of the reading on the monotonic clock. Memory does not include pages of files that
    the kernel could drop at once.
    """

    host_moment_s: float
    host_cpu_s: float
    memory_bytes: int
    packets: int


def container_usage(client: docker.DockerClient, container: str) -> Usage:
    """Return the usage of the container of that name.

    Raises:
        EngineUnavailable: if the engine does not report it.
    """
    try:
        statistics = client.api.stats(container, stream=False, one_shot=True)
        memory = statistics["memory_stats"]
        details = memory.get("stats", {})
        droppable = details.get("total_inactive_file", details.get("inactive_file", 0))
        return Usage(
            host_moment_s=time.monotonic(),
            host_cpu_s=seconds_from_nanoseconds(statistics["cpu_stats"]["cpu_usage"]["total_usage"]),
            memory_bytes=int(memory["usage"]) - int(droppable),
            packets=sum(int(network["rx_packets"]) for network in statistics.get("networks", {}).values()),
        )
    except (docker.errors.DockerException, KeyError) as error:
        raise EngineUnavailable(f"Docker does not report what {container} uses of the host ({error}).") from error
