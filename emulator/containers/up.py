"""Bring a testbed up, or mend the one that exists.

The steps are images, addresses, keys, the Compose file, containers, readiness, routes, the wide area and a short check
of it. If a step of a new testbed fails, everything that was started is removed. An existing testbed is never removed,
unless it is to begin afresh.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from ipaddress import IPv4Network
from typing import Final

from emulator.containers import engine, keys, state
from emulator.containers.addresses import MAX_CLUSTERS
from emulator.containers.concurrency import run_concurrently
from emulator.containers.down import remove_parts, remove_testbed
from emulator.containers.free_addresses import free_addresses, free_port
from emulator.containers.hosts.connecting import engine_for, engine_named, naming_lost_hosts
from emulator.containers.hosts.engines import Client, HostEngines, opened_again
from emulator.containers.hosts.left_behind import require_nothing_left, sweep
from emulator.containers.hosts.preparing import Prepared, prepare
from emulator.containers.hosts.starting import start_containers
from emulator.containers.hosts.underlay_reader import with_underlays
from emulator.containers.mounted_files import write_rendered
from emulator.containers.names import USER, PartNames
from emulator.containers.obstacles import refuse_obstacles
from emulator.containers.progress import Observer, ProgressStep, ignore
from emulator.containers.readiness import (
    CLUSTER_READY,
    ROUTER_READY,
    await_file,
    await_file_again,
    await_testbed_broker,
)
from emulator.containers.repair import find_existing, mend
from emulator.containers.state import ClusterRecord, TestbedRecord, TestbedSpec, TestbedState
from emulator.containers.wan.handle import wan_handle
from emulator.containers.wan.measurements import WideAreaReport
from emulator.containers.wan.verification import Verification
from emulator.containers.wan.verify import begin_check, check_patiently
from emulator.containers.wan.wide_area import resting_dilation
from emulator.hosts.subnets import addresses_in
from emulator.model.documents import document_text, read_document
from emulator.model.errors import InvalidInput
from emulator.model.topology import Topology

ROUTER_BACKENDS: Final = ("auto", "kernel", "uml")


@dataclass(frozen=True, slots=True)
class UpResult:
    """A testbed after `bring_up`, and how long that took on the host.

    `wide_area` is the short check of the links. It is None if the testbed existed already (`existed`), because a
    measurement would disturb a run that holds it, and None if all clusters are real. `was_mended` says whether anything
    of an existing testbed had to be mended.
    """

    state: TestbedState
    wide_area: WideAreaReport | None
    host_duration_s: float
    existed: bool = False
    was_mended: bool = False


def bring_up(spec: TestbedSpec, observe: Observer = ignore) -> UpResult:
    """Bring a testbed up, or mend the one that exists; if a new one fails, nothing is left half-started.

    Raises:
        InvalidInput: if the topology, the name or the backend is invalid.
        TestbedAlreadyUp: if another topology runs under that name, or the port is in use.
        EngineUnavailable: if Docker or Compose is missing, stopped or fails.
        ClusterUnreachable: if a cluster does not come up.
        TestbedNotUp: if a part of an existing testbed cannot be mended.
        TestbedBusy: if another process is bringing it up or down.
    """
    began_host_s = time.monotonic()
    topology = read_document(spec.topology_file, Topology)
    _check_carried(topology)
    names = _checked_names(spec, topology)
    sweep(observe)
    require_nothing_left(spec.name)
    client = engine_for(spec)
    with naming_lost_hosts(client), state.exclusive(spec.name, wait=False):
        if spec.fresh:
            _remove_existing(engine_named(spec.name), spec.name, observe)
        existing = find_existing(client, spec, topology)
        if existing is not None:
            was_mended = mend(client, spec, existing, observe)
            # What was restored or replaced meanwhile is read again.
            testbed = state.testbed_state(spec.name)
            return UpResult(testbed, None, time.monotonic() - began_host_s, existed=True, was_mended=was_mended)
        report = _create(client, spec, topology, names, observe)
    # What was measured between hosts meanwhile is in the state.
    return UpResult(state.testbed_state(spec.name), report, time.monotonic() - began_host_s)


def _check_carried(topology: Topology) -> None:
    """Refuse a topology with more emulated clusters than the router has bands for."""
    emulated = len(topology.clusters) - len(topology.real_clusters)
    if emulated > MAX_CLUSTERS:
        raise InvalidInput(
            f"The topology {topology.name!r} has {emulated} emulated clusters, and a testbed's router serves at most "
            f"{MAX_CLUSTERS}: it is for simulations (make some of them real, or leave some out)."
        )


def _remove_existing(client: Client, name: str, observe: Observer) -> None:
    """Remove the testbed of that name with everything that it holds, if there is one, and say so first.

    Raises:
        TestbedNotUp: if it is another user's.
        EngineUnavailable: if one of its hosts is not reached, so that what is there would be forgotten.
    """
    if isinstance(client, HostEngines):
        client.require_all()
    if not state.state_folder(name).exists():
        engine.check_own(client, name)
    volumes = [str(volume.name) for volume in engine.volumes_of(client, name)]
    if volumes or engine.containers_of(client, name) or state.state_folder(name).exists():
        held = f" ({', '.join(volumes)})" if volumes else ""
        observe(ProgressStep("fresh", f"removing {name!r} with its jobs, outputs and files{held}, its token and port"))
        remove_parts(client, name, observe)
        state.forget(name)


def _checked_names(spec: TestbedSpec, topology: Topology) -> PartNames:
    names = PartNames(spec.name)
    for cluster in topology.clusters:
        names.cluster(cluster.name)
    if spec.router_backend not in ROUTER_BACKENDS:
        raise InvalidInput(f"The router's backend is auto, kernel or uml, not {spec.router_backend!r}.")
    return names


def _create(
    client: Client, spec: TestbedSpec, topology: Topology, names: PartNames, observe: Observer
) -> WideAreaReport | None:
    if not isinstance(client, HostEngines):
        refuse_obstacles(client)
    prepared = prepare(client, topology, observe)
    try:
        with state.exclusive(state.CHOOSING_ADDRESSES, wait=True):
            record = _new_record(prepared, spec, topology, names, observe)
            # Whole: a profile that the topology names may change later, and the broker has no profiles.
            testbed = state.remember(record, document_text(topology))
        if isinstance(prepared.client, HostEngines) and record.hosts is not None:
            client = prepared.client.placed(record.places, record.hosts.central)
        _start(client, testbed, spec.known_heads, observe)
        check = _make_ready(client, testbed, observe)
        report = None
        if check is not None:
            observe(ProgressStep("wide area", "measuring delays and rates"))
            report = check_patiently(check.handle, check.topology, check.dilation, observe, begun=check)
    except BaseException:
        _clean_up(client, spec.name, observe)
        raise
    return report


def _clean_up(client: Client, name: str, observe: Observer) -> None:
    """Remove what was started of a testbed that failed; if that fails, too, say so, but leave the first error alone."""
    observe(ProgressStep("failed", "taking down what was started"))
    try:
        # A host that has died meanwhile keeps nobody from removing what is on the others.
        reached = opened_again(client) if isinstance(client, HostEngines) else client
        remove_testbed(reached, name, state.readable_record(name), ignore)
    except Exception as error:
        # What is left keeps its state, by which `down` finds the hosts that it is on.
        left = f"not everything was taken down: {error} (`testbed down --name {name}` removes what is left)"
        observe(ProgressStep("failed", left))


def _new_record(
    prepared: Prepared, spec: TestbedSpec, topology: Topology, names: PartNames, observe: Observer
) -> TestbedRecord:
    hops = [hop.host for way in spec.routes.values() for hop in way]
    used = replace(prepared.used, held=(*prepared.used.held, *map(IPv4Network, addresses_in(hops))))
    plan = free_addresses(prepared.client, used, observe)
    clusters = tuple(
        ClusterRecord(
            name=cluster.name,
            container=names.cluster(cluster.name),
            head=plan.head(index),
            site=plan.site_address(index),
        )
        for index, cluster in enumerate(topology.emulated.clusters if topology.emulated else ())
    )
    return TestbedRecord(
        name=spec.name,
        second_octet=plan.second_octet,
        api_port=free_port(prepared.client, spec.port),
        router_backend=spec.router_backend,
        user=USER,
        control_network=plan.control_network,
        all_sites=plan.all_sites,
        clusters=clusters,
        images=asdict(prepared.images),
        hosts=prepared.hosts,
        routes=dict(spec.routes),
        agent=spec.agent,
        generation=state.GENERATION,
    )


def _start(
    client: Client,
    testbed: TestbedState,
    known_heads: Sequence[str],
    observe: Observer,
) -> None:
    observe(ProgressStep("keys", "making SSH keys"))
    keys.make_keys(testbed, known_heads)
    write_rendered(client, testbed)
    observe(ProgressStep("containers", f"starting {', '.join(testbed.containers)}"))
    start_containers(client, testbed)


def _make_ready(client: Client, testbed: TestbedState, observe: Observer) -> Verification | None:
    """Wait for every part at once, and begin the check of the wide area if there is one; raise the first failure."""
    observe(ProgressStep("readiness", "waiting for Slurm, SSH, the router and the broker"))

    def begin_when_routing() -> Verification | None:
        if (emulated := testbed.topology.emulated) is None:
            return None
        await_file(client, testbed.names.router, ROUTER_READY)
        measured = with_underlays(client, testbed, observe)
        handle = wan_handle(client, measured)
        return begin_check(handle, emulated, resting_dilation(handle, emulated))

    def ready(name: str, wait: Callable[[], None]) -> None:
        wait()
        observe(ProgressStep("ready", name))

    waits: list[Callable[[], Verification | None]] = [begin_when_routing]
    for cluster in testbed.record.clusters:
        wait = partial(await_file_again, client, cluster.container, CLUSTER_READY, observe)
        waits.append(partial(ready, cluster.container, wait))
    waits.append(partial(ready, testbed.names.broker, partial(await_testbed_broker, client, testbed)))
    return run_concurrently(waits)[0]
