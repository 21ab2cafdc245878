"""The bursts of local users at nodes shared in time, as the arbiter of each cluster tells of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final

import docker

from emulator.containers.programs import OnLine, Program
from emulator.containers.state import TestbedState

PROGRAM: Final = ("/usr/bin/python3", "-m", "apps.local_bursts")


@contextmanager
def local_bursts_told(
    client: docker.DockerClient, testbed: TestbedState, clusters: Sequence[str], on_burst: OnLine
) -> Iterator[None]:
    """Tell `on_burst`, from other threads, of each burst of the local users of `clusters` inside the context.

    It gets the lines of `apps.local_bursts`.

    Raises:
        TestbedNotUp: if the container of a cluster does not run.
    """
    containers = {cluster.name: cluster.container for cluster in testbed.record.clusters}
    with ExitStack() as stack:
        for name in clusters:
            program = Program(client, containers[name], PROGRAM, partial(on_burst, name))
            stack.callback(program.close)
            stack.callback(program.end)
        yield
