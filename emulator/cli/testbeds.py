"""The running testbed that a verb works on: its topology's file, its broker, and its state as people read it.

Modules that import Docker's are imported inside functions, so that the help of a verb does not wait for them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from emulator.cli.foreign_text import say
from emulator.cli.tables import show_rows
from emulator.model.errors import TestbedNotUp
from emulator.model.project import PROJECT_ROOT, locate

if TYPE_CHECKING:
    from emulator.client import BrokerClient
    from emulator.containers.inspection import TestbedStatus
    from emulator.containers.state import TestbedState


def broker_of(name: str) -> BrokerClient:
    """Return a client of the broker of the testbed `name`; the caller closes it.

    Raises:
        TestbedNotUp: if no testbed of that name runs.
    """
    from emulator.client import BrokerClient
    from emulator.containers.state import testbed_state

    state = testbed_state(name)
    return BrokerClient(state.api_url, state.token)


def topology_file(topology: str) -> Path:
    """Return the file of the topology with this name or path."""
    return Path(locate("topology", topology, PROJECT_ROOT / "compose"))


def show_testbed(state: TestbedState, *, as_json: bool, patient: bool = False) -> None:
    """Print the clusters of a running testbed, its router and its API, and what a user has taken out of service.

    If `patient`, as after a part was mended, each part gets the time to become healthy first.

    Raises:
        TestbedNotUp: if a part of it does not run, after everything is printed.
    """
    from emulator.containers.hosts.connecting import engine_of
    from emulator.containers.inspection import inspect

    found = inspect(engine_of(state.record), state, patient=patient)
    places = state.record.places
    rows = [
        {
            "name": cluster.name,
            "nodes": cluster.nodes,
            "processors": cluster.processors,
            "idle": cluster.idle,
            "unavailable": cluster.unavailable,
            "container": cluster.container,
            "state": cluster.container_state,
            **({"host": places.get(cluster.container, "")} if places else {}),
        }
        for cluster in found.clusters
    ]
    show_rows(rows, as_json=as_json)
    if not as_json:
        _show_surroundings(state, found)
    for note in found.notes:
        say(note, to_error=True)
    if found.faults:
        raise TestbedNotUp(" ".join(found.faults))


def _show_surroundings(state: TestbedState, found: TestbedStatus) -> None:
    say(f"topology    {state.topology.name}")
    say(f"processors  {state.topology.processor.described}")
    say(f"messages    inside a cluster: {state.topology.interconnects.described}")
    if state.topology.emulated:
        say(f"router      {found.router_backend or 'unknown'} (asked: {state.record.router_backend})")
        say(f"dilation    {'unknown' if found.dilation is None else f'{found.dilation:g}'}")
    if state.record.hosts is not None:
        names = ", ".join(state.record.hosts.inventory.names)
        say(f"hosts       {names} (router and broker: {state.record.hosts.central})")
    if state.topology.real_clusters:
        real = ", ".join(cluster.name for cluster in state.topology.real_clusters)
        say(f"unshaped    the links of {real}, which are real")
    say(f"API         {found.api_url}  (token: {state.folder / 'token'})")
