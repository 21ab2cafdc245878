"""Find the testbed that already runs under a name, and repair or remove one that is broken."""

from __future__ import annotations

from dataclasses import asdict

import docker
import docker.errors

from emulator.containers import engine, state
from emulator.containers.down import remove_parts
from emulator.containers.images import current_references
from emulator.containers.progress import Observer, ProgressStep
from emulator.containers.readiness import await_testbed_broker, is_running
from emulator.containers.state import TestbedSpec, TestbedState
from emulator.model.errors import TestbedAlreadyUp, TestbedNotUp
from emulator.model.topology import Topology


def find_running(
    client: docker.DockerClient, spec: TestbedSpec, topology: Topology, observe: Observer
) -> TestbedState | None:
    """Return the state of the testbed if it runs as `spec` asks, or None if there is none.

    A broker that was stopped is started again. A testbed that is broken otherwise is removed.

    Raises:
        TestbedAlreadyUp: if the testbed runs with another topology, port or router than asked for.
    """
    testbed = state.remembered(spec.name)
    if testbed is None:
        _refuse_foreign_containers(client, spec.name)
        return None
    if testbed.topology != topology:
        raise TestbedAlreadyUp(
            f"The testbed {spec.name!r} already runs with another topology ({testbed.topology.name}): take it down "
            f"first (`testbed down --name {spec.name}`), or give this one another name by --name."
        )
    stopped = [name for name in testbed.containers if not is_running(client, name)]
    if stopped == [testbed.names.broker] and _restart_broker(client, testbed, observe):
        stopped = []
    if not stopped:
        _check_options(spec, testbed)
        if asdict(current_references(client)) != testbed.record.images:
            changed = "the sources changed since it was brought up: `testbed down` and `up` renew it"
            observe(ProgressStep("images", changed))
        return testbed
    observe(ProgressStep("renewing", f"{', '.join(stopped)} not running: starting afresh"))
    remove_parts(client, spec.name, observe)
    state.forget(spec.name)
    return None


def _refuse_foreign_containers(client: docker.DockerClient, name: str) -> None:
    if engine.containers_of(client, name):
        raise TestbedAlreadyUp(
            f"Containers of a testbed called {name!r} exist that this user did not bring up "
            f"(take them down with `testbed down --name {name}`, or choose another name)."
        )


def _restart_broker(client: docker.DockerClient, testbed: TestbedState, observe: Observer) -> bool:
    """Start a stopped broker, which continues from its journal; return whether it became ready."""
    broker = testbed.names.broker
    observe(ProgressStep("renewing", f"{broker} not running: starting it again with its journal"))
    try:
        client.containers.get(broker).start()
        await_testbed_broker(client, testbed)
    except (docker.errors.APIError, TestbedNotUp):
        return False
    return True


def _check_options(spec: TestbedSpec, testbed: TestbedState) -> None:
    """Refuse if the running testbed's port or router differ from what is asked for."""
    differing = []
    if spec.port not in (None, testbed.record.api_port):
        differing.append(f"port {testbed.record.api_port}")
    if spec.router_backend not in ("auto", testbed.record.router_backend):
        differing.append(f"router backend {testbed.record.router_backend}")
    if differing:
        raise TestbedAlreadyUp(
            f"The testbed {spec.name!r} already runs with {' and '.join(differing)}: take it down first "
            f"(`testbed down --name {spec.name}`)."
        )
