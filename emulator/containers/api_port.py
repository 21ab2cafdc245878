"""The port of a testbed's API: another one if it was taken while the broker did not run, or if the user asks for it."""

from __future__ import annotations

from dataclasses import replace

import docker
import docker.errors

from emulator.containers import state
from emulator.containers.free_addresses import free_port, is_free
from emulator.containers.mounted_files import write_rendered
from emulator.containers.progress import Observer, ProgressStep
from emulator.containers.readiness import RUNNING
from emulator.containers.state import TestbedSpec, TestbedState


def holds_port(client: docker.DockerClient, testbed: TestbedState) -> bool:
    """Return whether the container of a testbed's broker has the port of the API now."""
    try:
        status = str(client.containers.get(testbed.names.broker).status)
    except docker.errors.NotFound:
        return False
    return status in (*RUNNING, "paused")


def renewed_port(
    client: docker.DockerClient, testbed: TestbedState, spec: TestbedSpec, observe: Observer
) -> TestbedState | None:
    """Record another port for a broker that does not run, if its own is taken or `spec` asks for another.

    Write what follows from it, and return the testbed with it; None if the port stays. The broker's container is
    published at its port, so it must be made anew.

    Raises:
        TestbedAlreadyUp: if the port asked for is in use, or none is free.
    """
    before = testbed.record.api_port
    if holds_port(client, testbed):
        return None
    if spec.port in (None, before) and is_free(before):
        return None
    with state.exclusive(state.CHOOSING_ADDRESSES, wait=True):
        port = free_port(client, None if spec.port == before else spec.port)
        renewed = replace(testbed, record=testbed.record.model_copy(update={"api_port": port}))
        state.write_record(renewed.record)
    why = f"port {port} is asked for" if spec.port == port else f"port {before} was taken meanwhile"
    observe(ProgressStep("state", f"{why}: the API moves from port {before} to {port}"))
    write_rendered(client, renewed)
    return renewed
