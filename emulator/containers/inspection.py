"""The status of a testbed now, as its containers report it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import docker
import docker.errors

from emulator.containers import engine
from emulator.containers.readiness import unreached
from emulator.containers.state import TestbedState
from emulator.containers.wan.handle import wan_handle
from emulator.containers.wan.router import Router
from emulator.containers.wan.wide_area import programmed_wide_area
from emulator.model.errors import TestbedError
from emulator.model.topology import Cluster

RUNNING = "running"
REAL = "real"
UNREACHED = "real, not reached"


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """A cluster as its Slurm reports it.

    `idle` counts processors; it is None if Slurm does not answer, and for a real cluster, which is not asked. A real
    cluster has its address as `container`; its state says whether the broker reaches it.
    """

    name: str
    nodes: int
    processors: int
    idle: int | None
    container: str
    container_state: str


@dataclass(frozen=True, slots=True)
class TestbedStatus:
    """A testbed now: its clusters, its router's kernel, the dilation of its links, and its faults.

    `dilation` is None if the wide area does not match any one dilation; `faults` are sentences.
    """

    clusters: tuple[ClusterStatus, ...]
    router_backend: str | None
    dilation: float | None
    api_url: str
    faults: tuple[str, ...]


def inspect(client: docker.DockerClient, testbed: TestbedState) -> TestbedStatus:
    """Return the status of every part of a testbed."""
    states = {container.name: str(container.status) for container in engine.containers_of(client, testbed.record.name)}
    lost = (unreached(testbed.api_url) or []) if testbed.topology.real_clusters else []
    states |= {cluster.name: UNREACHED if cluster.name in lost else REAL for cluster in testbed.topology.real_clusters}
    with ThreadPoolExecutor(len(testbed.topology.clusters)) as pool:
        clusters = tuple(
            pool.map(lambda cluster: _cluster(client, testbed, cluster, states), testbed.topology.clusters)
        )
    faults = [
        f"The container {name} is {states.get(name, 'gone')}."
        for name in testbed.containers
        if states.get(name) != RUNNING
    ]
    faults += [
        f"Slurm of {cluster.name} does not answer."
        for cluster in clusters
        if cluster.container_state == RUNNING and cluster.idle is None
    ]
    backend, dilation, fault = _wide_area(client, testbed) if not faults else (None, None, None)
    return TestbedStatus(clusters, backend, dilation, testbed.api_url, (*faults, *([fault] if fault else [])))


def _cluster(
    client: docker.DockerClient, testbed: TestbedState, cluster: Cluster, states: Mapping[str, str]
) -> ClusterStatus:
    if cluster.ssh is not None:
        return ClusterStatus(
            cluster.name, cluster.nodes, cluster.processors, None, cluster.ssh.address, states[cluster.name]
        )
    container = testbed.names.cluster(cluster.name)
    container_state = states.get(container, "gone")
    return ClusterStatus(
        name=cluster.name,
        nodes=cluster.nodes,
        processors=cluster.processors,
        idle=_idle(client, container) if container_state == RUNNING else None,
        container=container,
        container_state=container_state,
    )


def _idle(client: docker.DockerClient, container: str) -> int | None:
    """Return the idle processors that Slurm counts, or None if it does not answer."""
    try:
        answer: Any = client.containers.get(container).exec_run(["sinfo", "--noheader", "--format=%C"])
    except docker.errors.APIError:
        return None
    if answer.exit_code != 0:
        return None
    return sum(int(line.split("/")[1]) for line in answer.output.decode().split())


def _wide_area(client: docker.DockerClient, testbed: TestbedState) -> tuple[str | None, float | None, str | None]:
    handle, emulated = wan_handle(client, testbed), testbed.topology.emulated
    if emulated is None:
        return None, None, None
    try:
        backend = Router(handle).backend().shown
        programmed = programmed_wide_area(handle, emulated)
    except TestbedError as error:
        return None, None, str(error)
    fault = f"The wide area is not as programmed: {programmed.differences[0]}." if programmed.differences else None
    return backend, programmed.dilation.factor if programmed.dilation else None, fault
