"""Find the testbed that already exists under a name, and mend what is wrong with it.

Nothing here removes a volume or what the host remembers: the journal, outputs, files and token stay, and the port if
nobody else took it. In turns, the parts are looked at, `mending` decides, and it is done, until nothing is left to do.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Final

import docker
import docker.errors

from emulator.containers import engine, state
from emulator.containers.api_port import holds_port, renewed_port
from emulator.containers.concurrency import run_concurrently
from emulator.containers.hosts.starting import create_containers, refill_keys
from emulator.containers.hosts.underlay_reader import has_other_delays, with_underlays
from emulator.containers.images import current_references, ensure_images
from emulator.containers.mending import Action, Remedy, RenderedPart, actions_for_all, touch_wide_area, tried_after
from emulator.containers.mounted_files import renewed_routes, restore_files, write_rendered
from emulator.containers.parts import FoundParts, find_parts, rendered_document, rendered_parts
from emulator.containers.progress import Observer, ProgressStep
from emulator.containers.readiness import await_testbed_broker, has_unfinished_jobs, held_dilation, last_words
from emulator.containers.slurm_nodes import ask_nodes, resume
from emulator.containers.state import ClusterRecord, TestbedSpec, TestbedState
from emulator.containers.wan.handle import WanHandle, wan_handle
from emulator.containers.wan.wide_area import (
    forget_neighbours,
    program_wide_area,
    programmed_wide_area,
    resting_dilation,
)
from emulator.model.documents import document_text
from emulator.model.errors import TestbedAlreadyUp, TestbedNotUp, WideAreaUnfaithful
from emulator.model.topology import Topology

_PROHIBITED: Final = "echo prohibited:; ip -4 route show type prohibit"
_PERMIT: Final = "for host; do ip route del prohibit $host; done"
_PROHIBIT: Final = "ip route del default; for host; do ip route replace prohibit $host; done"
_STAGE: Final = "mending"
_TURNS: Final = 6
"""Attach, start, restart, make anew, and look again."""


@dataclass(slots=True)
class _Attempts:
    """The attempts so far: the remedies of each part, and the engine's last refusal, by the part's name."""

    tried: dict[str, set[Remedy]]
    refusals: dict[str, str]


def find_existing(client: docker.DockerClient, spec: TestbedSpec, topology: Topology) -> TestbedState | None:
    """Return the state of the testbed under the name of `spec`, whatever is wrong with it, or None if there is none.

    Raises:
        TestbedAlreadyUp: if it has another topology or router than asked for, or its broker runs at another port.
    """
    # Whole: a profile that the topology names may change later, and the broker has no profiles.
    state.restore_topology(spec.name, topology, document_text(topology))
    testbed = state.remembered(spec.name)
    if testbed is None:
        _refuse_foreign_parts(client, spec.name)
        return None
    if testbed.topology != topology:
        raise TestbedAlreadyUp(
            f"The testbed {spec.name!r} already runs with another topology ({testbed.topology.name}): take it down "
            f"first (`testbed down --name {spec.name}`), or give this one another name by --name."
        )
    _check_options(client, spec, testbed)
    return testbed


def mend(client: docker.DockerClient, spec: TestbedSpec, testbed: TestbedState, observe: Observer) -> bool:
    """Mend everything that is wrong with a testbed, and return whether anything was.

    Raises:
        TestbedNotUp: if a part cannot be mended; nothing was removed then.
        TestbedAlreadyUp: if no port is free for a broker that lost its own.
        EngineUnavailable: if Docker or Compose fails.
    """
    outdated = restore_files(client, testbed, spec.known_heads, observe)
    if outdated:
        refill_keys(client, testbed)
    remade: set[Remedy] = set()
    for renew in (renewed_routes, renewed_port):
        renewed = renew(client, testbed, spec, observe)
        if renewed is not None:
            testbed, outdated = renewed, outdated | {testbed.names.broker}
            remade = {Remedy.START, Remedy.RESTART}  # in its place it would have the mounts and the port of before
    if asdict(current_references(client)) != testbed.record.images:
        changed = "the sources changed since it was brought up: `testbed up --fresh` renews it, without its jobs"
        observe(ProgressStep("images", changed))
    parts = rendered_parts(rendered_document(testbed))
    attempts = _Attempts(defaultdict(set), {})
    attempts.tried[testbed.names.broker] |= remade
    done: list[Action] = []
    for turn in range(_TURNS):
        found = find_parts(client, testbed, patient=turn > 0 or not outdated)
        faulty = found if turn else _with_outdated(found, outdated)
        actions = actions_for_all(parts, faulty.parts, attempts.tried)
        if not actions and not found.missing:
            break
        _carry_out(client, testbed, found, actions, attempts, observe)
        done += actions
    _require_whole(client, parts, found, attempts)
    await_testbed_broker(client, testbed)
    resumed = resume_drained_nodes(client, testbed.record.clusters, observe)
    return _program_links(client, testbed, done, observe) or resumed or bool(done)


def resume_drained_nodes(client: docker.DockerClient, clusters: Sequence[ClusterRecord], observe: Observer) -> bool:
    """Resume the nodes that Slurm itself drained, and return whether there were any; those of users stay drained."""
    return any(run_concurrently([partial(_resume_drained, client, each.container, observe) for each in clusters]))


def _resume_drained(client: docker.DockerClient, container: str, observe: Observer) -> bool:
    drained = [node for node in ask_nodes(client, container) or () if node.is_drained_by_slurm]
    if not drained:
        return False
    named = ", ".join(f"{node.name} ({node.reason})" for node in drained)
    observe(ProgressStep(_STAGE, f"{container} has nodes that Slurm drained, {named}: resuming them"))
    if complaint := resume(client, container, drained):
        observe(ProgressStep(_STAGE, f"{container} does not resume them: {complaint}"))
    return True


def _with_outdated(found: FoundParts, outdated: Collection[str]) -> FoundParts:
    """Count it as a fault of a container that runs if files that it mounts were made anew."""
    parts = {
        name: replace(part, faults=("has files that were made anew",)) if name in outdated else part
        for name, part in found.parts.items()
    }
    return replace(found, parts=parts)


def _carry_out(
    client: docker.DockerClient,
    testbed: TestbedState,
    found: FoundParts,
    actions: Sequence[Action],
    attempts: _Attempts,
    observe: Observer,
) -> None:
    """Do what was decided: first what Compose must make, then each part, all at once."""
    for action in actions:
        observe(ProgressStep(_STAGE, action.described))
    for missing in found.missing:
        observe(ProgressStep(_STAGE, f"{missing} is gone: making it anew"))
    recreated = [action.part for action in actions if action.remedy is Remedy.RECREATE]
    added = {part.name: _remove(client, part) for part in recreated}
    if recreated or found.missing:
        _require_images(client, testbed, observe)
        create_containers(client, testbed)
    for part in recreated:
        for network in added[part.name]:
            client.api.connect_container_to_network(part.name, network)
    by_part: dict[str, list[Action]] = defaultdict(list)
    for action in actions:
        attempts.tried[action.part.name] = tried_after(attempts.tried[action.part.name], action)
        by_part[action.part.name].append(action)
    run_concurrently([partial(_treat, client, of_part, attempts) for of_part in by_part.values()])


def _require_images(client: docker.DockerClient, testbed: TestbedState, observe: Observer) -> None:
    """Make sure that images exist for new containers: of the present sources, if the testbed's own were removed."""
    try:
        for reference in testbed.record.images.values():
            client.images.get(reference)
    except docker.errors.ImageNotFound:
        observe(ProgressStep("images", "those of this testbed were removed: new containers get the present ones"))
        record = testbed.record.model_copy(update={"images": asdict(ensure_images(client, observe))})
        state.write_record(record)
        write_rendered(client, replace(testbed, record=record))


def _treat(client: docker.DockerClient, actions: Sequence[Action], attempts: _Attempts) -> None:
    """Carry out the actions of one part in order; if the engine refuses one, remember why and leave out the rest."""
    for action in actions:
        try:
            _act(client, action)
        except docker.errors.APIError as error:
            attempts.refusals[action.part.name] = str(error.explanation or error).strip().rstrip(".")
            return


def _act(client: docker.DockerClient, action: Action) -> None:
    container = client.containers.get(action.part.name)
    acts: dict[Remedy, Callable[[], None]] = {
        Remedy.UNPAUSE: container.unpause,
        Remedy.ATTACH: partial(_attach, client, action),
        Remedy.START: container.start,
        Remedy.RESTART: partial(container.restart, timeout=3),
    }
    if action.remedy in acts:
        acts[action.remedy]()


def _attach(client: docker.DockerClient, action: Action) -> None:
    """Attach a part to a network with its address, also if it has another one or the network was made anew.

    The engine gives no address beside a route that prohibits the host, as those of a cluster that runs do: they are
    taken away meanwhile.
    """
    prohibited = _prohibited_hosts(client, action)
    _change_routes(client, action, _PERMIT, prohibited)
    try:
        with contextlib.suppress(docker.errors.APIError):  # if it was not attached at all
            client.api.disconnect_container_from_network(action.part.name, action.network, force=True)
        client.api.connect_container_to_network(
            action.part.name, action.network, ipv4_address=action.address, aliases=[action.part.service]
        )
    finally:
        _change_routes(client, action, _PROHIBIT, prohibited)


def _prohibited_hosts(client: docker.DockerClient, action: Action) -> list[str]:
    """Return the hosts that the routes of a part prohibit; none if its container is stopped."""
    with contextlib.suppress(docker.errors.APIError):
        _, printed = engine.read_output(client.containers.get(action.part.name), ["sh", "-c", _PROHIBITED])
        return [line.split()[1] for line in printed.splitlines() if line.startswith("prohibit ")]
    return []


def _change_routes(client: docker.DockerClient, action: Action, script: str, hosts: Sequence[str]) -> None:
    """Run `script` for `hosts` in the container of a part, unless there are none or it is stopped."""
    if hosts:
        with contextlib.suppress(docker.errors.APIError):
            client.containers.get(action.part.name).exec_run(["sh", "-c", script, "sh", *hosts])


def _remove(client: docker.DockerClient, part: RenderedPart) -> list[str]:
    """Remove the container of a part, if there is one; return the networks that a user had attached it to."""
    try:
        container = client.containers.get(part.name)
        attached = container.attrs["NetworkSettings"]["Networks"]
        container.remove(force=True)
    except docker.errors.NotFound:
        return []
    return [network for network in attached if network not in part.addresses]


def _require_whole(
    client: docker.DockerClient, parts: Sequence[RenderedPart], found: FoundParts, attempts: _Attempts
) -> None:
    """Refuse a testbed of which a part is not well although everything was tried."""
    for part in parts:
        state_of_part = found.parts[part.name]
        why = [f"is {state_of_part.status}"] if state_of_part.status != "running" else list(state_of_part.faults)
        if why:
            said = attempts.refusals.get(part.name) or last_words(client, part.name)
            raise TestbedNotUp(
                f"{part.name} cannot be mended: it {why[0]} ({said}). Nothing was removed; `testbed up --fresh` begins "
                "afresh, without the jobs, outputs and files."
            )


def _program_links(
    client: docker.DockerClient, testbed: TestbedState, done: Sequence[Action], observe: Observer
) -> bool:
    """Program the wide area again if a mended part had a share in it, or if it is not as programmed; return whether.

    What the network between hosts takes is a part of each link's delay. If that is another one now, the links follow.
    """
    emulated, is_touched = testbed.topology.emulated, touch_wide_area(done)
    # A run's links are left alone, and so is what crosses the network meanwhile, unless a part was mended.
    if emulated is None or (not is_touched and held_dilation(testbed) is not None):
        return False
    handle = wan_handle(client, testbed)
    is_sound = not is_touched and _is_at_rest(handle, emulated)
    if is_sound:
        if not _must_follow(client, testbed, observe):
            return False
    else:
        observe(ProgressStep(_STAGE, "programming the wide area again"))
        forget_neighbours(handle)
    measured = with_underlays(client, testbed, observe)
    handle, held = wan_handle(client, measured), held_dilation(testbed)
    # A run may have begun since, which has programmed its links.
    if is_sound and (held is not None or _is_at_rest(handle, emulated)):
        return False
    if is_sound:
        observe(ProgressStep(_STAGE, "programming the links for the network between the hosts as it is now"))
    program_wide_area(handle, emulated, held or resting_dilation(handle, emulated))
    return not is_sound


def _must_follow(client: docker.DockerClient, testbed: TestbedState, observe: Observer) -> bool:
    """Return whether links must follow the network between hosts, and no job would lose what it sends meanwhile."""
    if not has_other_delays(client, testbed):
        return False
    if has_unfinished_jobs(testbed.api_url):
        why = "its delays are others than before, and jobs are unfinished: `testbed up` after them programs the links"
        observe(ProgressStep("hosts", why))
        return False
    return True


def _is_at_rest(handle: WanHandle, topology: Topology) -> bool:
    try:
        return programmed_wide_area(handle, topology).is_for(resting_dilation(handle, topology))
    except WideAreaUnfaithful:
        return False


def _refuse_foreign_parts(client: docker.DockerClient, name: str) -> None:
    """Refuse a name that containers or volumes have: a new testbed would take over what another one's volumes hold."""
    if engine.containers_of(client, name) or engine.volumes_of(client, name):
        raise TestbedAlreadyUp(
            f"Containers or volumes of a testbed called {name!r} exist that this user did not bring up, or whose state "
            f"was lost (choose another name; if they are yours, `testbed down --name {name}` removes them and all that "
            "they hold)."
        )


def _check_options(client: docker.DockerClient, spec: TestbedSpec, testbed: TestbedState) -> None:
    """Refuse if the testbed's router differs from what is asked for, or its port does and cannot be changed now."""
    differing = []
    if spec.port not in (None, testbed.record.api_port) and holds_port(client, testbed):
        differing.append(f"port {testbed.record.api_port}")
    if spec.router_backend not in ("auto", testbed.record.router_backend):
        differing.append(f"router backend {testbed.record.router_backend}")
    if differing:
        raise TestbedAlreadyUp(
            f"The testbed {spec.name!r} already runs with {' and '.join(differing)}: take it down first "
            f"(`testbed down --name {spec.name}`)."
        )
