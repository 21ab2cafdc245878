"""What a container has used of the host until now: CPU, memory, packets that came in."""

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

    `host_moment_s` is when that was, on the monotonic clock. Pages of files that the kernel could drop at once are not
    counted as memory.
    """

    host_moment_s: float
    host_cpu_s: float
    memory_bytes: int
    packets: int


def usage_of(client: docker.DockerClient, container: str) -> Usage:
    """What the container of that name has used.

    Raises:
        EngineUnavailable: if the engine does not say.
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
            packets=sum(int(it["rx_packets"]) for it in statistics.get("networks", {}).values()),
        )
    except (docker.errors.DockerException, KeyError) as error:
        raise EngineUnavailable(f"Docker does not say what {container} uses of the host ({error}).") from error
