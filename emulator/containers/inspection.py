"""The status of a testbed now, as its containers report it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

import docker

from emulator.containers.mending import RenderedPart, attachments_for
from emulator.containers.parts import FoundParts, find_parts, rendered_document, rendered_parts
from emulator.containers.readiness import degraded, silent, unreached
from emulator.containers.slurm_nodes import SlurmNode, ask_nodes, resume_command
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
NO_JOBS = "Cluster {cluster!r} has {out} of its {nodes} nodes {how}, the first {first} (Slurm's reason: {reason!r})"
DEGRADED = (
    "The broker cannot write its journal ({reason}), so it changes nothing until it can: make room on the disk of the "
    "volume {volume}; it then goes on by itself."
)
REMEDY = "`testbed up` mends this; jobs, outputs and files stay."


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """A cluster as its Slurm reports it.

    `idle` counts processors, and `unavailable` the nodes that are drained or down. Both are None if Slurm does not
    answer, and for a real cluster, which is not asked. A real cluster has its address as `container`; its state says
    whether the broker reaches it.
    """

    name: str
    nodes: int
    processors: int
    idle: int | None
    unavailable: int | None
    container: str
    container_state: str


@dataclass(frozen=True, slots=True)
class TestbedStatus:
    """A testbed now: its clusters, its router's kernel, the dilation of its links, and its faults.

    `dilation` is None if the wide area does not match any one dilation; `faults` are sentences, and so are `notes`,
    about what a user has done.
    """

    clusters: tuple[ClusterStatus, ...]
    router_backend: str | None
    dilation: float | None
    api_url: str
    faults: tuple[str, ...]
    notes: tuple[str, ...] = ()


def inspect(client: docker.DockerClient, testbed: TestbedState, *, patient: bool = False) -> TestbedStatus:
    """Return the status of every part of a testbed; if `patient`, a part gets the time to become healthy first."""
    emulated = testbed.record.clusters
    with ThreadPoolExecutor(1 + len(emulated)) as pool:
        finding = pool.submit(find_parts, client, testbed, patient=patient)
        if patient:
            wait([finding])
        asking = {cluster.name: pool.submit(ask_nodes, client, cluster.container) for cluster in emulated}
    found = finding.result()
    nodes = {name: asked.result() for name, asked in asking.items()}
    lost = (unreached(testbed.api_url) or []) if testbed.topology.real_clusters else []
    clusters = tuple(_cluster(testbed, cluster, found, nodes, lost) for cluster in testbed.topology.clusters)
    faults = faults_of(rendered_parts(rendered_document(testbed)), found)
    backend, dilation, fault = _wide_area(client, testbed) if not faults else (None, None, None)
    faults += [fault] if fault else []
    faults += [said for name, listed in nodes.items() for said in unavailable_nodes(name, listed or ())]
    faults += broker_faults(testbed.api_url, testbed.names.journal_volume, others=bool(faults))
    notes = [
        said
        for cluster in emulated
        for said in drained_by_user(cluster.name, cluster.container, nodes[cluster.name] or ())
    ]
    return TestbedStatus(clusters, backend, dilation, testbed.api_url, tuple(faults), tuple(notes))


def broker_faults(api_url: str, volume: str, *, others: bool = False) -> list[str]:
    """Return what the broker says is wrong, a sentence for each fault, with the remedy for these and any `others`.

    A full disk of the `volume` is nothing that the remedy mends.
    """
    faults = [SILENT.format(cluster=cluster) for cluster in silent(api_url)]
    faults += [REMEDY] if faults or others else []
    reason = degraded(api_url)
    return [*faults, DEGRADED.format(reason=reason, volume=volume)] if reason else faults


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


def unavailable_nodes(cluster: str, nodes: Sequence[SlurmNode]) -> list[str]:
    """Return a sentence if nodes get no job because of a fault, else none."""
    out = [node for node in nodes if node.gets_no_job and not node.is_drained_by_user]
    return [f"{_counted(cluster, nodes, out, 'drained or down')}."] if out else []


def drained_by_user(cluster: str, container: str, nodes: Sequence[SlurmNode]) -> list[str]:
    """Return a sentence with the remedy if a user has drained nodes, else none."""
    drained = [node for node in nodes if node.is_drained_by_user]
    remedy = f"`docker exec {container} {' '.join(resume_command(drained))}` resumes them"
    return [f"{_counted(cluster, nodes, drained, 'drained by a user')}: {remedy}."] if drained else []


def _counted(cluster: str, nodes: Sequence[SlurmNode], out: Sequence[SlurmNode], how: str) -> str:
    first = out[0]
    return NO_JOBS.format(
        cluster=cluster, out=len(out), nodes=len(nodes), how=how, first=first.name, reason=first.reason
    )


def _cluster(
    testbed: TestbedState,
    cluster: Cluster,
    found: FoundParts,
    nodes: Mapping[str, Sequence[SlurmNode] | None],
    lost: Collection[str],
) -> ClusterStatus:
    if cluster.ssh is not None:
        container, state = cluster.ssh.address, UNREACHED if cluster.name in lost else REAL
    else:
        container = testbed.names.cluster(cluster.name)
        state = found.parts[container].status if container in found.parts else "gone"
    listed = nodes.get(cluster.name) if state == RUNNING else None
    return ClusterStatus(
        name=cluster.name,
        nodes=cluster.nodes,
        processors=cluster.processors,
        idle=None if listed is None else sum(node.idle for node in listed),
        unavailable=None if listed is None else sum(node.gets_no_job for node in listed),
        container=container,
        container_state=state,
    )


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
