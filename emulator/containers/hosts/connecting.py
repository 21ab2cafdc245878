"""The engine, or the engines, of a testbed: this host's, or those of the hosts that it spreads over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from emulator.containers import engine, state
from emulator.containers.hosts.engines import Client, HostEngines, open_engines, opened_again
from emulator.containers.state import TestbedRecord, TestbedSpec
from emulator.hosts.checks import central_host
from emulator.hosts.facts import Known
from emulator.hosts.inventory import HostInventory
from emulator.model.documents import read_document
from emulator.model.errors import EngineUnavailable, TestbedAlreadyUp


def engine_of(record: TestbedRecord | None) -> Client:
    """Return the engine of a testbed with this record, or this host's if there is none.

    Raises:
        EngineUnavailable: if this host's engine does not answer. Other hosts' engines may not: `HostEngines.lost`.
    """
    if record is None or record.hosts is None:
        return engine.connect()
    # Not those that carry nothing: what stands there under this name is another user's.
    inventory = HostInventory(hosts=tuple(each.host for each in record.hosts.carrying))
    engines = open_engines(inventory, record.hosts.central)
    return engines.placed(record.places, record.hosts.central)


def engine_named(name: str) -> Client:
    """Return the engine of the testbed called `name`, or this host's if there is none.

    Raises:
        EngineUnavailable: if this host's engine does not answer.
    """
    return engine_of(state.record_of(name))


def engine_for(spec: TestbedSpec) -> Client:
    """Return the engine at which `spec` is brought up, or mended; every engine of several hosts must answer.

    Without an inventory a testbed stays on the hosts that it has, also if it is to begin afresh.

    Raises:
        EngineUnavailable: if an engine does not answer.
        InvalidInput: if the inventory is invalid.
        TestbedAlreadyUp: if the testbed exists on other hosts than asked for.
    """
    record = state.record_of(spec.name)
    if spec.hosts_file is None:
        kept = record.hosts if record is not None and spec.fresh else None
        client = open_engines(kept.inventory) if kept else engine_of(record)
    else:
        inventory = read_document(spec.hosts_file, HostInventory)
        if record is not None and not spec.fresh:
            _require_same_hosts(spec.name, record, inventory, spec.hosts_file)
            client = engine_of(record)
        else:
            client = open_engines(inventory)
    if isinstance(client, HostEngines):
        client.require_all()
    return client


@contextmanager
def naming_lost_hosts(client: Client) -> Iterator[None]:
    """If something fails inside the context, look which hosts still answer, and name one that does not.

    Raises:
        EngineUnavailable: instead of what failed, if the engine of a host does not answer any more.
    """
    try:
        yield
    except Exception as error:
        if isinstance(client, HostEngines):
            for reason in opened_again(client).lost.values():
                raise EngineUnavailable(reason) from error
        raise


def central_of(inventory: HostInventory, known: dict[str, Known]) -> str:
    """Return the host for router and broker: one that manages the Swarm, or the first if none does."""
    found = central_host(inventory, known)
    return found.name if found else inventory.hosts[0].name


def _require_same_hosts(name: str, record: TestbedRecord, inventory: HostInventory, file: Path) -> None:
    existing = record.hosts.inventory.hosts if record.hosts else ()
    if set(existing) != set(inventory.hosts):
        where = ", ".join(host.name for host in existing) or "this host alone"
        raise TestbedAlreadyUp(
            f"The testbed {name!r} already runs on {where}, not on the hosts of {file} as they are stated: take it "
            f"down first (`testbed down --name {name}`), or leave --hosts out."
        )
