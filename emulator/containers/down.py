"""Take a testbed down: remove everything that carries its label, whatever state the host remembers."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import docker
import docker.errors
from docker.models.containers import Container

from emulator.containers import engine, state
from emulator.containers.hosts.connecting import engine_of
from emulator.containers.hosts.engines import Client, HostEngines
from emulator.containers.hosts.left_behind import is_left, note_file, remember_left, sweep
from emulator.containers.names import PartNames
from emulator.containers.progress import Observer, ProgressStep, ignore
from emulator.containers.state import TestbedRecord
from emulator.model.errors import EngineUnavailable, TestbedError, TestbedNotUp

_REMOVERS: Final = 16
_REMOVE_WITHIN_HOST_S: Final = 60.0
_KEPT_WITHIN_HOST_S: Final = 8.0
"""How long to try where a host is not reached: the Swarm keeps a network for what is attached to it there."""

_LOOK_EVERY_HOST_S: Final = 0.5
_LISTED_BY_KIND: Final[tuple[tuple[str, Callable[..., Sequence[engine.Part]]], ...]] = (
    ("containers", engine.containers_of),
    ("networks", engine.networks_of),
    ("volumes", engine.volumes_of),
)


def take_down(name: str, observe: Observer = ignore) -> None:
    """Remove a testbed's containers, networks, volumes and state, even if it is incomplete.

    What is on a host that is not reached is remembered, and removed when it is.

    Raises:
        TestbedNotUp: if there is nothing of it, or it is another user's.
        EngineUnavailable: if Docker does not answer.
    """
    PartNames(name)
    swept = sweep(observe)
    record = state.readable_record(name)
    client = engine_of(record)
    with state.exclusive(name, wait=False):
        exists = state.state_folder(name).exists()
        if not exists and is_left(name):
            raise TestbedNotUp(
                f"What {name!r} left on hosts that are not reached stays until they are (try again then; if they never "
                f"return, remove {note_file(name)}, and take the testbed down again)."
            )
        if not exists:
            engine.check_own(client, name)
        if not remove_testbed(client, name, record, observe) and not exists and name not in swept:
            raise TestbedNotUp(f"No testbed called {name!r} is running, so there is nothing to take down.")


def take_all_down(observe: Observer = ignore) -> list[str]:
    """Take every testbed of this user down, as root that of every user of this host; return their names.

    What this host carries of a testbed that was brought up on another host stays.

    Raises:
        TestbedError: if one cannot be taken down, after all others have been.
    """
    swept = sweep(observe)
    client = engine.connect()
    names = [name for name in testbeds(client) if _is_own(client, name)]
    failures: list[TestbedError] = []
    for name in names:
        try:
            take_down(name, observe)
        except TestbedError as error:
            observe(ProgressStep("failed", f"{name}: {error}"))
            failures.append(error)
    for failure in failures[:1]:
        raise failure
    return sorted({*names, *swept})


def _is_own(client: docker.DockerClient, name: str) -> bool:
    if engine.other_owner(client, name) is not None:
        return False
    return state.state_folder(name).exists() or not engine.is_from_elsewhere(client, name)


def testbeds(client: docker.DockerClient) -> list[str]:
    """Return the names of all testbeds of which this host has any part."""
    parts = [*engine.containers_of(client, None), *engine.networks_of(client, None), *engine.volumes_of(client, None)]
    return sorted(engine.testbeds_seen(parts) | set(state.remembered_names()))


def remove_testbed(client: Client, name: str, record: TestbedRecord | None, observe: Observer) -> bool:
    """Remove a testbed's parts and its state; return whether there were any parts.

    What is on a host that is not reached is remembered.

    Raises:
        EngineUnavailable: if a part is still there after a minute.
    """
    found = remove_parts(client, name, observe)
    if isinstance(client, HostEngines) and record is not None and record.hosts is not None:
        remember_left(client, name, record.hosts.inventory, observe)
    state.forget(name)
    return found


def remove_parts(client: Client, name: str, observe: Observer) -> bool:
    """Remove everything that carries the testbed's label; return whether there was anything.

    Look again until nothing is found, because the engine may still be creating what an interrupted start asked for, and
    refuses to remove a network or volume while it does. A network whose parts are on a host that is not reached stays.

    Raises:
        EngineUnavailable: if a part is still there after a minute.
    """
    has_lost = isinstance(client, HostEngines) and bool(client.lost)
    observe = _once_each(observe)
    found, give_up = False, time.monotonic() + (_KEPT_WITHIN_HOST_S if has_lost else _REMOVE_WITHIN_HOST_S)
    while True:
        _disconnect_all(client, name)
        parts = [part for kind, listed in _LISTED_BY_KIND for part in _remove_kind(client, name, kind, listed, observe)]
        if not parts:
            return found
        found = True
        if any(not part.removed for part in parts):
            if time.monotonic() > give_up:
                if has_lost:
                    return found
                stuck = next(part for part in parts if not part.removed)
                raise EngineUnavailable(
                    f"{stuck.name} could not be removed: {(stuck.reason or '').rstrip('.')} (restart the Docker "
                    "engine, and take the testbed down again)."
                )
            time.sleep(_LOOK_EVERY_HOST_S)


def _disconnect_all(client: Client, name: str) -> None:
    """Take the containers off the testbed's networks, one after another.

    Engines before version 28 lose count of a network's containers if several leave it at once, and may then never
    remove the network (moby/moby issue 42119).
    """
    for network in engine.networks_of(client, name):
        with contextlib.suppress(docker.errors.APIError):
            network.reload()
        for container in network.attrs.get("Containers") or {}:
            with contextlib.suppress(docker.errors.APIError):
                network.disconnect(container, force=True)


def _once_each(observe: Observer) -> Observer:
    """Return an observer that passes no step on twice: what stays is looked at twice a second."""
    said: set[ProgressStep] = set()

    def say(step: ProgressStep) -> None:
        if step not in said:
            said.add(step)
            observe(step)

    return say


@dataclass(frozen=True, slots=True)
class _Removal:
    """The attempt to remove one part; `reason` says why the engine refused."""

    name: str
    reason: str | None = None

    @property
    def removed(self) -> bool:
        return self.reason is None


def _remove_kind(
    client: Client, name: str, kind: str, listed: Callable[..., Sequence[engine.Part]], observe: Observer
) -> list[_Removal]:
    parts = listed(client, name)
    if not parts:
        return []
    observe(ProgressStep("removing", f"{len(parts)} {kind} of {name}"))
    with ThreadPoolExecutor(_REMOVERS) as pool:
        return list(pool.map(_remove_part, parts))


def _remove_part(part: engine.Part) -> _Removal:
    try:
        if isinstance(part, Container):
            part.remove(force=True, v=True)
        else:
            part.remove()
    except docker.errors.NotFound:
        pass
    except docker.errors.APIError as error:
        if "in progress" not in str(error):
            return _Removal(str(part.name), str(error.explanation or error))
    return _Removal(str(part.name))
