"""The parts of a testbed as its Compose file describes them, and as they are now."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import docker
import docker.errors
import yaml
from docker.models.containers import Container

from emulator.containers import engine
from emulator.containers.concurrency import run_concurrently
from emulator.containers.hosts.engines import HostEngines
from emulator.containers.mending import BROKER, CLUSTER, GONE, FoundPart, RenderedPart, attachments_for
from emulator.containers.names import ROLE_LABEL
from emulator.containers.readiness import READY_WITHIN_HOST_S, RUNNING, unreached
from emulator.containers.state import TestbedState
from emulator.model.errors import InvalidInput

CLUSTER_HEALTH: Final = "/usr/local/lib/testbed/healthy.sh"
ROUTER_HEALTH: Final = "/opt/wan/healthy.sh"
PATIENCE_HOST_S: Final = 15.0
"""How long a part that has long been started may be unhealthy: a daemon that ended is started again meanwhile."""
_PAUSE_HOST_S: Final = 0.3
_ATTACHED: Final = ("running", "paused")
_SECTIONS: Final = frozenset({"services", "networks", "volumes"})


@dataclass(frozen=True, slots=True)
class FoundParts:
    """The present parts of a testbed: its containers by name, and rendered networks and volumes that are missing."""

    parts: Mapping[str, FoundPart]
    missing: tuple[str, ...] = ()


def rendered_document(testbed: TestbedState) -> dict[str, Any]:
    """Return the Compose file of a testbed as it was written.

    Raises:
        InvalidInput: if it is missing, empty or cut off.
    """
    document = whole_document(testbed.compose_file)
    if document is None:
        raise InvalidInput(f"{testbed.compose_file} is missing, empty or cut off (`testbed up` writes it again).")
    return document


def whole_document(file: Path) -> dict[str, Any] | None:
    """Return what a rendered Compose file holds; None if it is missing, empty or cut off, as after a loss of power."""
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None
    return document if isinstance(document, dict) and document.keys() >= _SECTIONS else None


def rendered_parts(document: Mapping[str, Any]) -> list[RenderedPart]:
    """Return the containers that a Compose file describes."""
    names = {key: network["name"] for key, network in document["networks"].items()}
    return [
        RenderedPart(
            name=service["container_name"],
            service=key,
            role=service["labels"][ROLE_LABEL],
            addresses={names[network]: stated["ipv4_address"] for network, stated in service["networks"].items()},
        )
        for key, service in document["services"].items()
    ]


def find_parts(client: docker.DockerClient, testbed: TestbedState, *, patient: bool) -> FoundParts:
    """Return the parts of a testbed as they are now, with the faults of those that run.

    If `patient`, give each part that is not healthy the time to become so.
    """
    document = rendered_document(testbed)
    lost = client.unreached_parts() if isinstance(client, HostEngines) else {}
    networks = {str(network.name): str(network.id) for network in engine.networks_of(client, testbed.record.name)}
    volumes = {str(volume.name) for volume in engine.volumes_of(client, testbed.record.name)}
    containers = {str(each.name): each for each in engine.containers_of(client, testbed.record.name)}
    unseen = {testbed.names.home_volume(each.name) for each in testbed.record.clusters if each.container in lost}
    rendered = rendered_parts(document)
    found = {
        part.name: FoundPart(f"on host {lost[part.name]}, which is not reached", {})
        if part.name in lost
        else _without_health(containers.get(part.name), networks)
        for part in rendered
    }
    sound = [
        part for part in rendered if found[part.name].status in RUNNING and not attachments_for(part, found[part.name])
    ]
    awaited = {part.service for part in sound if part.role == CLUSTER}
    ages_host_s = {part.name: _host_age_s(containers[part.name]) for part in sound}
    patience_host_s = patience_of(sound, ages_host_s) if patient else dict.fromkeys(ages_host_s, 0.0)
    asked = [
        partial(_with_health, testbed, part, containers[part.name], networks, awaited, patience_host_s[part.name])
        for part in sound
    ]
    found |= zip((part.name for part in sound), run_concurrently(asked), strict=True)
    return FoundParts(
        parts=found,
        missing=(
            *(f"the network {name}" for name in _missing(document["networks"], networks)),
            *(f"the volume {name} with all that it held" for name in _missing(document["volumes"], volumes | unseen)),
        ),
    )


def patience_of(parts: Sequence[RenderedPart], ages_host_s: Mapping[str, float]) -> dict[str, float]:
    """Return for how many host seconds each of `parts` may still be unhealthy, by their names.

    It is the rest of the time that a start may take, and some seconds in any case. The broker reaches a cluster only
    once that has started, so it has as long as the part that has longest. A negative age, of a part that was started
    before the host's clock was set back, counts as none.
    """
    patience_host_s = {
        part.name: max(PATIENCE_HOST_S, READY_WITHIN_HOST_S - max(0.0, ages_host_s[part.name])) for part in parts
    }
    longest_host_s = max(patience_host_s.values(), default=0.0)
    return patience_host_s | {part.name: longest_host_s for part in parts if part.role == BROKER}


def _missing(rendered: Mapping[str, Mapping[str, Any]], existing: Collection[str]) -> list[str]:
    return [part["name"] for part in rendered.values() if part["name"] not in existing]


def _without_health(container: Container | None, networks: Mapping[str, str]) -> FoundPart:
    if container is None:
        return FoundPart(GONE, {})
    return FoundPart(str(container.status), attached_addresses(container.attrs, networks))


def _with_health(
    testbed: TestbedState,
    part: RenderedPart,
    container: Container,
    networks: Mapping[str, str],
    awaited: Collection[str],
    patience_host_s: float,
) -> FoundPart:
    """Return a part that runs with the faults that its health check finds; the broker must reach `awaited` clusters."""
    if part.role == BROKER:
        faults = _broker_faults(testbed, awaited, patience_host_s)
    else:
        script = CLUSTER_HEALTH if part.role == CLUSTER else ROUTER_HEALTH
        faults = _script_faults(container, script, patience_host_s)
        if not faults and part.role == CLUSTER:
            _, listed = engine.read_output(container, ["ip", "-4", "-o", "address", "show"])
            faults = lacking_addresses(part, listed) if listed else ()
    if faults:
        try:
            container.reload()
        except docker.errors.NotFound:
            return FoundPart(GONE, {})
    found = _without_health(container, networks)
    return replace(found, faults=faults) if found.status in RUNNING else found


def attached_addresses(attributes: Mapping[str, Any], networks: Mapping[str, str]) -> dict[str, str]:
    """Return a container's address on each network in `networks` (names and ids), as the engine's `attributes` say.

    A container that does not run has the addresses that it will get.
    """
    runs = attributes["State"]["Status"] in _ATTACHED
    addresses = {}
    for name, settings in attributes["NetworkSettings"]["Networks"].items():
        address = settings.get("IPAddress") if runs else (settings.get("IPAMConfig") or {}).get("IPv4Address")
        if address and networks.get(name) == settings.get("NetworkID"):
            addresses[name] = str(address)
    return addresses


def lacking_addresses(part: RenderedPart, listed: str) -> tuple[str, ...]:
    """Return a fault for each address that no interface of a part has, as `ip -4 -o address show` lists them.

    The engine may say that a container is attached to a network and have given it no address there.
    """
    held = {word.partition("/")[0] for line in listed.splitlines() for word in line.split()[3:4]}
    return tuple(
        f"has no interface with {address} on {network}"
        for network, address in part.addresses.items()
        if address not in held
    )


def _script_faults(container: Container, script: str, patience_host_s: float) -> tuple[str, ...]:
    """Run a part's health check until it finds nothing, or patience ends; return what it says then."""
    turns = int(patience_host_s / _PAUSE_HOST_S)
    loop = (
        f'n={turns}; until said=$(sh {script} 2>&1); do [ $n -gt 0 ] || {{ echo "$said"; exit 1; }}; '
        f"n=$((n-1)); sleep {_PAUSE_HOST_S}; done"
    )
    try:
        code, output = container.exec_run(["sh", "-c", loop])
    except docker.errors.APIError as error:
        return (f"cannot be asked ({error.explanation or error})",)
    if code == 0:
        return ()
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    return tuple(lines) or ("is not healthy",)


def _broker_faults(testbed: TestbedState, awaited: Collection[str], patience_host_s: float) -> tuple[str, ...]:
    deadline_host_s = time.monotonic() + patience_host_s
    while True:
        lost = unreached(testbed.api_url)
        unfound = set(awaited) & set(lost or ())
        if lost is not None and not unfound:
            return ()
        if time.monotonic() >= deadline_host_s:
            return ("does not answer",) if lost is None else (f"does not reach {', '.join(sorted(unfound))}",)
        time.sleep(_PAUSE_HOST_S)


def _host_age_s(container: Container) -> float:
    """Return the seconds since a container was started, by the wall clock; below 0 if that was set back since."""
    # Python reads at most six digits of a second's fraction.
    started = str(container.attrs["State"]["StartedAt"])[:19]
    began = datetime.strptime(started, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
    return (datetime.now(UTC) - began).total_seconds()
