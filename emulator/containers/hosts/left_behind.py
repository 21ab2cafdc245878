"""What is left of a testbed on hosts that were not reached when it was taken down: remembered, and swept later."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

import docker
import docker.errors
from pydantic import ValidationError

from emulator.containers import engine, state
from emulator.containers.hosts.engines import HostEngines, open_engines
from emulator.containers.progress import Observer, ProgressStep
from emulator.hosts.inventory import Host, HostInventory
from emulator.model.documents import DocumentModel
from emulator.model.errors import InvalidInput, TestbedAlreadyUp, TestbedError
from emulator.model.whole_files import write_whole

FOLDER: Final = "left_behind"
"""Holds an underscore, as no testbed's name does, whose own folder is beside this one."""


class LeftBehind(DocumentModel):
    """The hosts that still hold parts of a testbed, and its networks (by id) that the central host could not remove.

    `central_engine` is the ID of the central host's engine, which the testbed's containers state, too; it is empty for
    a testbed of an earlier version, whose containers state none.
    """

    testbed: str
    central: Host
    hosts: tuple[Host, ...]
    networks: tuple[str, ...] = ()
    central_engine: str = ""


def remember_left(engines: HostEngines, name: str, hosts: HostInventory, observe: Observer) -> None:
    """Remember what could not be removed of a testbed, because its host was not reached; name the host."""
    lost = tuple(host for host in hosts.hosts if host.name in engines.lost)
    if not lost:
        return
    networks = tuple(str(network.id) for network in engine.networks_of(engines, name))
    left = LeftBehind(
        testbed=name,
        central=hosts.host(engines.central),
        hosts=lost,
        networks=networks,
        central_engine=engine.engine_id(engines.info()),
    )
    file = note_file(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, left.model_dump_json(indent=2) + "\n")
    where = ", ".join(host.name for host in lost)
    observe(ProgressStep("left", f"what {name} has on {where}: not reached; `testbed down` or `up` removes it later"))


def sweep(observe: Observer) -> list[str]:
    """Remove what testbeds left on hosts that are reached again; return the testbeds of which nothing is left now.

    A damaged file holds up its own testbed only: it is named, and the others are swept.
    """
    swept: list[str] = []
    for file in sorted((state.state_root() / FOLDER).glob("*.json")):
        try:
            left = _read(file)
        except InvalidInput as error:
            observe(ProgressStep("left", str(error)))
            continue
        if _swept(left, observe):
            swept.append(left.testbed)
    return swept


def is_left(name: str) -> bool:
    """Return whether a testbed that was taken down still has parts on a host that was not reached."""
    return note_file(name).is_file()


def require_nothing_left(name: str) -> None:
    """Refuse to bring up a testbed of that name while parts of an earlier one are on hosts that were not reached.

    Raises:
        TestbedAlreadyUp: if there are any.
        InvalidInput: if the file that names them is damaged.
    """
    if is_left(name):
        where = ", ".join(host.name for host in _read(note_file(name)).hosts)
        raise TestbedAlreadyUp(
            f"An earlier testbed {name!r} still has parts on {where}, which was not reached or did not remove "
            "them: see to that host, or choose another name by --name. If the host never returns, remove "
            f"{note_file(name)}, and run `testbed down --name {name}`."
        )


def _swept(left: LeftBehind, observe: Observer) -> bool:
    hosts = [left.central, *(host for host in left.hosts if host.name != left.central.name)]
    engines = open_engines(HostInventory(hosts=tuple(hosts)), left.central.name)
    try:
        for host in left.hosts:
            if host.name in engines.engines:
                _remove_left(left, host.name, engines.engines[host.name].client, observe)
        if engines.lost:
            return False
        for network in left.networks:
            with contextlib.suppress(docker.errors.NotFound):
                engines.central_client.api.remove_network(network)
    except (docker.errors.DockerException, TestbedError, OSError) as error:
        observe(ProgressStep("left", f"what {left.testbed} has there is not removed yet: {error}"))
        return False
    note_file(left.testbed).unlink(missing_ok=True)
    return True


def _remove_left(left: LeftBehind, host: str, client: docker.DockerClient, observe: Observer) -> None:
    """Remove what a testbed left on a host, unless another testbed has its name there now.

    While one has containers there, another of that name is not brought up: so all of them are of one testbed.
    """
    foreign = engine.owners_of(client, left.testbed) - {str(os.getuid())}
    if foreign or engine.centrals_of(client, left.testbed) - {left.central_engine}:
        observe(ProgressStep("left", f"another testbed is called {left.testbed} on {host}: it stays"))
        return
    observe(ProgressStep("removing", f"what {left.testbed} left on {host}"))
    for container in engine.containers_of(client, left.testbed):
        container.remove(force=True, v=True)
    for volume in engine.volumes_of(client, left.testbed):
        volume.remove()


def _read(file: Path) -> LeftBehind:
    try:
        return LeftBehind.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise InvalidInput(
            f"{file}: is damaged; see to it that no host holds parts of the testbed {file.stem!r} any more, and remove "
            "the file."
        ) from error


def note_file(name: str) -> Path:
    """Return the file that says what a testbed left behind, whether there is one or not."""
    return state.state_root() / FOLDER / f"{name}.json"
