"""The bursts of local users at nodes shared in time, as the arbiter of each cluster tells of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

import docker

from emulator.containers.programs import Program
from emulator.containers.state import TestbedState

PROGRAM: Final = ("/usr/bin/python3", "-m", "apps.local_bursts")

OnBurst = Callable[[str, str | None], None]
"""Called with a cluster and a line of `apps.local_bursts`, or None if the program has ended by itself."""


@contextmanager
def local_bursts_told(
    client: docker.DockerClient, testbed: TestbedState, clusters: Sequence[str], on_burst: OnBurst
) -> Iterator[None]:
    """Tell `on_burst`, from other threads, of each burst of the local users of `clusters` inside the context.

    Raises:
        TestbedNotUp: if the container of a cluster does not run.
    """
    containers = {cluster.name: cluster.container for cluster in testbed.record.clusters}
    with ExitStack() as stack:
        for name in clusters:
            program = Program(client, containers[name], PROGRAM, _named(name, on_burst))
            stack.callback(program.close)
            stack.callback(program.end)
        yield


def _named(cluster: str, on_burst: OnBurst) -> Callable[[str | None], None]:
    return lambda line: on_burst(cluster, line)
