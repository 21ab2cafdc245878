"""The status of a testbed now, as its containers report it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

import docker
import docker.errors

from emulator.containers import engine
from emulator.containers.mending import RenderedPart, attachments_for
from emulator.containers.parts import FoundParts, find_parts, rendered_document, rendered_parts
from emulator.containers.readiness import degraded, silent, unreached
from emulator.containers.state import TestbedState
from emulator.containers.wan.handle import wan_handle
from emulator.containers.wan.router import Router
from emulator.containers.wan.wide_area import programmed_wide_area
from emulator.model.errors import TestbedError
from emulator.model.topology import Cluster

RUNNING = "running"
REAL = "real"
UNREACHED = "real, not reached"
SILENT = "Cluster {cluster!r} does not say how many processors are idle, so no job is placed there."
DEGRADED = (
    "The broker cannot write its journal ({reason}), so it changes nothing until it can: make room on the disk of the "
    "volume {volume}; it then goes on by itself."
)
REMEDY = "`testbed up` mends this; jobs, outputs and files stay."


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


def inspect(client: docker.DockerClient, testbed: TestbedState, *, patient: bool = False) -> TestbedStatus:
    """Return the status of every part of a testbed; if `patient`, a part gets the time to become healthy first."""
    emulated = testbed.record.clusters
    with ThreadPoolExecutor(1 + len(emulated)) as pool:
        finding = pool.submit(find_parts, client, testbed, patient=patient)
        if patient:
            wait([finding])
        counting = {cluster.name: pool.submit(_idle, client, cluster.container) for cluster in emulated}
    found = finding.result()
    idle = {name: counted.result() for name, counted in counting.items()}
    lost = (unreached(testbed.api_url) or []) if testbed.topology.real_clusters else []
    clusters = tuple(_cluster(testbed, cluster, found, idle, lost) for cluster in testbed.topology.clusters)
    faults = faults_of(rendered_parts(rendered_document(testbed)), found)
    backend, dilation, fault = _wide_area(client, testbed) if not faults else (None, None, None)
    faults += [fault] if fault else []
    faults += [SILENT.format(cluster=cluster) for cluster in silent(testbed.api_url)]
    faults += [REMEDY] if faults else []
    if reason := degraded(testbed.api_url):
        faults.append(DEGRADED.format(reason=reason, volume=testbed.names.journal_volume))
    return TestbedStatus(clusters, backend, dilation, testbed.api_url, tuple(faults))


def faults_of(parts: Sequence[RenderedPart], found: FoundParts) -> list[str]:
    """Return what is wrong with the parts of a testbed, a sentence for each fault."""
    faults = [f"{missing[0].upper()}{missing[1:]} is gone." for missing in found.missing]
    for part in parts:
        there = found.parts[part.name]
        if there.status != RUNNING:
            faults.append(f"The container {part.name} is {there.status}.")
            continue
        faults += [f"The container {part.name} {action.why}." for action in attachments_for(part, there)]
        faults += [f"The container {part.name} {fault}." for fault in there.faults]
    return faults


def _cluster(
    testbed: TestbedState, cluster: Cluster, found: FoundParts, idle: Mapping[str, int | None], lost: Collection[str]
) -> ClusterStatus:
    if cluster.ssh is not None:
        container, state = cluster.ssh.address, UNREACHED if cluster.name in lost else REAL
    else:
        container = testbed.names.cluster(cluster.name)
        state = found.parts[container].status if container in found.parts else "gone"
    return ClusterStatus(
        name=cluster.name,
        nodes=cluster.nodes,
        processors=cluster.processors,
        idle=idle.get(cluster.name) if state == RUNNING else None,
        container=container,
        container_state=state,
    )


def _idle(client: docker.DockerClient, container: str) -> int | None:
    """Return the idle processors that Slurm counts, or None if it does not answer."""
    try:
        code, printed = engine.read_output(client.containers.get(container), ["sinfo", "--noheader", "--format=%C"])
    except (docker.errors.APIError, TestbedError):
        return None
    if code != 0 or not printed:
        return None
    return sum(int(line.split("/")[1]) for line in printed.split())


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
