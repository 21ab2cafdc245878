"""The port of a testbed's API: another one if it was taken while the broker did not run, or if the user asks for it."""

from __future__ import annotations

from dataclasses import replace

import docker
import docker.errors
from docker.models.containers import Container

from emulator.containers import state
from emulator.containers.free_addresses import free_port, is_free, published_ports
from emulator.containers.mounted_files import publishes_recorded_port, write_rendered
from emulator.containers.progress import Observer, ProgressStep
from emulator.containers.readiness import RUNNING
from emulator.containers.state import TestbedSpec, TestbedState


def holds_port(client: docker.DockerClient, testbed: TestbedState) -> bool:
    """Return whether the container of a testbed's broker has the port of the API now."""
    container = _broker(client, testbed)
    if container is None or str(container.status) not in (*RUNNING, "paused"):
        return False
    return not _is_elsewhere(container, testbed)


def renewed_port(
    client: docker.DockerClient, testbed: TestbedState, spec: TestbedSpec, observe: Observer
) -> TestbedState | None:
    """Record another port for a broker without its own, if that is taken or `spec` asks for another.

    Write what follows from it, and return the testbed with it; None if the port stays. The broker's container is
    published at its port, so it must be made anew. A move that was interrupted is finished.

    Raises:
        TestbedAlreadyUp: if the port asked for is in use, or none is free.
    """
    before = testbed.record.api_port
    if holds_port(client, testbed) or (spec.port in (None, before) and is_free(before)):
        return _finished_move(client, testbed, observe)
    with state.exclusive(state.CHOOSING_ADDRESSES, wait=True):
        port = free_port(client, spec.port)
        renewed = replace(testbed, record=testbed.record.model_copy(update={"api_port": port}))
        state.write_record(renewed.record)
    why = f"port {port} is asked for" if spec.port == port else f"port {before} was taken meanwhile"
    observe(ProgressStep("state", f"{why}: the API moves from port {before} to {port}"))
    write_rendered(client, renewed)
    return renewed


def _finished_move(client: docker.DockerClient, testbed: TestbedState, observe: Observer) -> TestbedState | None:
    """Do what an interrupted move left undone; return the testbed if its broker's container must be made anew."""
    is_rendered = publishes_recorded_port(testbed)
    if not is_rendered:
        port = testbed.record.api_port
        observe(ProgressStep("state", f"the move of the API to port {port} was interrupted: finishing it"))
        write_rendered(client, testbed)
    container = _broker(client, testbed)
    if container is None:
        return None
    # What the container says counts: a broker that has its port already is left alone.
    is_published = not _is_elsewhere(container, testbed) if any(published_ports(container)) else is_rendered
    return None if is_published else testbed


def _broker(client: docker.DockerClient, testbed: TestbedState) -> Container | None:
    try:
        return client.containers.get(testbed.names.broker)
    except docker.errors.NotFound:
        return None


def _is_elsewhere(container: Container, testbed: TestbedState) -> bool:
    """Return whether a broker's container was made for another port than the recorded one."""
    ports = set(published_ports(container))
    return bool(ports) and testbed.record.api_port not in ports
