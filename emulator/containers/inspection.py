"""What a testbed looks like now: asked of its containers, not of what the host remembers."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import docker
import docker.errors

from emulator.containers import engine
from emulator.containers.lifecycle import part_containers, wide_area_stand
from emulator.containers.readiness import unreached
from emulator.containers.state import StandState
from emulator.containers.wan.router import Router
from emulator.containers.wan.wide_area import programmed_wide_area
from emulator.model.errors import TestbedError
from emulator.model.topology import Cluster

RUNNING = "running"
REAL = "real"
UNREACHED = "real, not reached"


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """A cluster as its Slurm reports it; `idle` processors, nothing if it does not answer or is not asked, being real.

    A real cluster has no container, but its address there; its state is whether the broker reaches it.
    """

    name: str
    nodes: int
    processors: int
    idle: int | None
    container: str
    container_state: str


@dataclass(frozen=True, slots=True)
class TestbedStatus:
    """A testbed now: its clusters, its router's kernel, the dilation of its links, and what does not run.

    `dilation` is nothing where the wide area is not as one dilation wants it; `faults` are sentences.
    """

    clusters: tuple[ClusterStatus, ...]
    router_backend: str | None
    dilation: float | None
    api_url: str
    faults: tuple[str, ...]


def inspect(client: docker.DockerClient, stood: StandState) -> TestbedStatus:
    """Look at every part of a testbed."""
    states = {container.name: str(container.status) for container in engine.containers_of(client, stood.record.name)}
    lost = (unreached(stood.api_url) or []) if stood.topology.real_clusters else []
    states |= {cluster.name: UNREACHED if cluster.name in lost else REAL for cluster in stood.topology.real_clusters}
    with ThreadPoolExecutor(len(stood.topology.clusters)) as pool:
        clusters = tuple(pool.map(lambda cluster: _cluster(client, stood, cluster, states), stood.topology.clusters))
    faults = [
        f"The container {name} is {states.get(name, 'gone')}."
        for name in part_containers(stood)
        if states.get(name) != RUNNING
    ]
    faults += [
        f"Slurm of {cluster.name} does not answer."
        for cluster in clusters
        if cluster.container_state == RUNNING and cluster.idle is None
    ]
    backend, dilation, fault = _wide_area(client, stood) if not faults else (None, None, None)
    return TestbedStatus(clusters, backend, dilation, stood.api_url, (*faults, *([fault] if fault else [])))


def _cluster(
    client: docker.DockerClient, stood: StandState, cluster: Cluster, states: Mapping[str, str]
) -> ClusterStatus:
    if cluster.ssh is not None:
        return ClusterStatus(
            cluster.name, cluster.nodes, cluster.processors, None, cluster.ssh.address, states[cluster.name]
        )
    container = stood.names.cluster(cluster.name)
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
    """Idle processors as Slurm counts them."""
    try:
        answer: Any = client.containers.get(container).exec_run(["sinfo", "--noheader", "--format=%C"])
    except docker.errors.APIError:
        return None
    if answer.exit_code != 0:
        return None
    return sum(int(line.split("/")[1]) for line in answer.output.decode().split())


def _wide_area(client: docker.DockerClient, stood: StandState) -> tuple[str | None, float | None, str | None]:
    stand, emulated = wide_area_stand(client, stood), stood.topology.emulated
    if emulated is None:
        return None, None, None
    try:
        backend = Router(stand).backend().shown
        programmed = programmed_wide_area(stand, emulated)
    except TestbedError as error:
        return None, None, str(error)
    fault = f"The wide area is not as programmed: {programmed.differences[0]}." if programmed.differences else None
    return backend, programmed.dilation.factor if programmed.dilation else None, fault
