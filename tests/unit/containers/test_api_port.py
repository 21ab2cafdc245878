"""A testbed whose port somebody took while it was stopped: it moves to another one, and loses nothing."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker.errors
import pytest
import yaml

from emulator.containers import api_port, repair
from emulator.containers.free_addresses import free_port
from emulator.containers.mending import FoundPart
from emulator.containers.mounted_files import secret_files, write_rendered
from emulator.containers.names import USER
from emulator.containers.parts import FoundParts, rendered_document, rendered_parts
from emulator.containers.progress import ignore
from emulator.containers.rendering import ImageReferences
from emulator.containers.repair import find_existing, mend
from emulator.containers.state import (
    ClusterRecord,
    TestbedRecord,
    TestbedSpec,
    TestbedState,
    remember,
    testbed_state,
    write_secret,
)
from emulator.model.catalogue import topology_named
from emulator.model.errors import TestbedAlreadyUp
from emulator.model.project import TOPOLOGIES

FILE = TOPOLOGIES / "mini.yaml"
MINI = topology_named("mini")
BROKER = "lab-broker"


@dataclass
class Part:
    engine: Engine
    name: str
    status: str = "running"
    port: int | None = None

    @property
    def attrs(self) -> dict[str, Any]:
        bindings = {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": str(self.port)}]} if self.port else None
        return {"HostConfig": {"PortBindings": bindings}, "NetworkSettings": {"Networks": {}}}

    def start(self) -> None:
        self.status = "running"

    def unpause(self) -> None:
        raise AssertionError("nothing is paused")

    def restart(self, timeout: int) -> None:
        raise AssertionError("a container that is started again has its old port")

    def remove(self, **options: object) -> None:
        self.engine.removed.append((self.name, options))
        del self.engine.held[self.name]


@dataclass
class Engine:
    """The containers of a host; there is nothing here by which a volume could be removed."""

    held: dict[str, Part] = field(default_factory=dict)
    removed: list[tuple[str, dict[str, object]]] = field(default_factory=list)

    def add(self, name: str, **stated: Any) -> None:
        self.held[name] = Part(self, name, **stated)

    def info(self) -> dict[str, Any]:
        return {}

    @property
    def images(self) -> Any:
        return SimpleNamespace(get=lambda reference: None)

    @property
    def containers(self) -> Any:
        return SimpleNamespace(get=self._get, list=lambda **options: list(self.held.values()))

    def _get(self, name: str) -> Part:
        if name not in self.held:
            raise docker.errors.NotFound(name)
        return self.held[name]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine that has every part of `lab`, all but the broker running."""
    engine = Engine()
    for name in (*(f"lab-{cluster}" for cluster in MINI.cluster_names), "lab-wan"):
        engine.add(name)
    engine.add(BROKER, status="exited")

    def found(client: Engine, testbed: TestbedState, *, patient: bool) -> FoundParts:
        parts = rendered_parts(rendered_document(testbed))
        return FoundParts({part.name: FoundPart(engine.held[part.name].status, part.addresses) for part in parts})

    def create(client: Engine, testbed: TestbedState) -> None:
        engine.add(BROKER, status="created")

    monkeypatch.setattr(repair, "find_parts", found)
    monkeypatch.setattr(repair, "create_containers", create)
    monkeypatch.setattr(repair, "current_references", lambda client: ImageReferences(node="n", wan="w", broker="b"))
    monkeypatch.setattr(repair, "await_testbed_broker", lambda client, testbed: None)
    monkeypatch.setattr(repair, "resume_drained_nodes", lambda client, clusters, observe: False)
    monkeypatch.setattr(repair, "_program_links", lambda client, testbed, done, observe: False)
    return engine


@pytest.fixture
def taken() -> Iterator[int]:
    """A port at which another program listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.fixture
def untaken() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.fixture
def standing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Engine) -> Any:
    """A maker of a remembered testbed with a port."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def make(port: int) -> TestbedState:
        clusters = tuple(
            ClusterRecord(name=name, container=f"lab-{name}", head=f"10.111.0.{10 + i}", site=f"10.111.{128 + i}.10")
            for i, name in enumerate(MINI.cluster_names)
        )
        record = TestbedRecord(
            name="lab", second_octet=111, api_port=port, router_backend="auto", user=USER,
            control_network="10.111.0.0/24", all_sites="10.111.128.0/17", clusters=clusters,
            images={"node": "n", "wan": "w", "broker": "b"},
        )  # fmt: skip
        testbed = remember(record, FILE.read_text())
        write_rendered(engine, testbed)
        for file in secret_files(testbed):
            if file != "token":
                write_secret(testbed.folder / file, file.encode())
        return testbed

    return make


def published(testbed: TestbedState) -> list[str]:
    ports: list[str] = yaml.safe_load(testbed.compose_file.read_text())["services"]["broker"]["ports"]
    return ports


def test_a_port_that_was_taken_while_the_broker_was_stopped_is_replaced(engine, standing, taken):
    engine.add("another-broker", status="exited", port=8460)
    testbed = standing(taken)
    said: list[str] = []
    assert mend(engine, TestbedSpec("lab", FILE), testbed, lambda step: said.append(step.detail))
    port = testbed_state("lab").record.api_port
    assert port not in (taken, 8460)
    assert [each.split(":")[:2] for each in published(testbed)] == [["127.0.0.1", str(port)]]
    assert engine.removed == [(BROKER, {"force": True})], "the volumes stay"
    assert engine.held[BROKER].status == "running"
    assert any(f"the API moves from port {taken} to {port}" in detail for detail in said)


def test_a_stopped_broker_moves_to_a_port_that_is_asked_for(engine, standing, untaken):
    testbed = standing(8470)
    spec = TestbedSpec("lab", FILE, port=untaken)
    existing = find_existing(engine, spec, MINI)
    assert existing is not None
    assert mend(engine, spec, existing, ignore)
    assert testbed_state("lab").record.api_port == untaken
    assert [each.split(":")[1] for each in published(testbed)] == [str(untaken)]


def test_a_port_that_is_asked_for_must_be_free(engine, standing, taken):
    testbed = standing(8470)
    with pytest.raises(TestbedAlreadyUp, match=rf"Port {taken} of 127\.0\.0\.1 is in use"):
        mend(engine, TestbedSpec("lab", FILE, port=taken), testbed, ignore)
    assert testbed_state("lab").record.api_port == 8470


def test_a_broker_that_runs_keeps_its_port(engine, standing, taken, untaken):
    """It is the one that listens there."""
    testbed = standing(taken)
    engine.held[BROKER].status = "running"
    with pytest.raises(TestbedAlreadyUp, match=rf"already runs with port {taken}"):
        find_existing(engine, TestbedSpec("lab", FILE, port=untaken), MINI)
    assert not mend(engine, TestbedSpec("lab", FILE), testbed, ignore)
    assert engine.removed == []


def test_a_stopped_broker_whose_port_is_free_is_started_in_its_place(engine, standing, untaken):
    assert mend(engine, TestbedSpec("lab", FILE), standing(untaken), ignore)
    assert testbed_state("lab").record.api_port == untaken
    assert engine.removed == []


def test_the_ports_of_stopped_testbeds_are_not_given_away(tmp_path, monkeypatch, untaken):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    host = Engine()
    host.add("another-broker", status="exited", port=untaken)
    assert free_port(host, None, first=untaken) > untaken
    with pytest.raises(TestbedAlreadyUp, match=rf"Port {untaken}"):
        free_port(host, untaken)


def test_the_recorded_port_is_not_replaced_silently_if_it_is_asked_for_and_taken(engine, standing, taken):
    testbed = standing(taken)
    with pytest.raises(TestbedAlreadyUp, match=rf"Port {taken} of 127\.0\.0\.1 is in use \(choose another"):
        mend(engine, TestbedSpec("lab", FILE, port=taken), testbed, ignore)
    assert testbed_state("lab").record.api_port == taken


class Interrupted(Exception):
    """Stands for whatever ends `up` from outside."""


def test_a_move_that_was_interrupted_before_the_compose_file_is_finished(engine, standing, untaken, monkeypatch):
    testbed = standing(8470)
    engine.held[BROKER].port = 8470

    def interrupt(client: Engine, moved: TestbedState) -> None:
        raise Interrupted

    with monkeypatch.context() as patched:
        patched.setattr(api_port, "write_rendered", interrupt)
        with pytest.raises(Interrupted):
            mend(engine, TestbedSpec("lab", FILE, port=untaken), testbed, ignore)
    recorded = testbed_state("lab")
    assert recorded.record.api_port == untaken
    assert [each.split(":")[1] for each in published(recorded)] == ["8470"]
    assert mend(engine, TestbedSpec("lab", FILE), recorded, ignore)
    assert [each.split(":")[1] for each in published(recorded)] == [str(untaken)]
    assert engine.removed == [(BROKER, {"force": True})]


@pytest.mark.parametrize("status", ["exited", "running"])
def test_a_container_of_before_a_move_is_made_anew_also_if_all_files_are_written(engine, standing, untaken, status):
    testbed = standing(untaken)
    engine.held[BROKER].port, engine.held[BROKER].status = 8470, status
    assert mend(engine, TestbedSpec("lab", FILE), testbed, ignore)
    assert testbed_state("lab").record.api_port == untaken
    assert engine.removed == [(BROKER, {"force": True})]
    assert engine.held[BROKER].status == "running"


def test_a_broker_that_has_the_recorded_port_is_left_alone_while_the_compose_file_is_put_right(
    engine, standing, untaken
):
    testbed = standing(8470)
    moved = replace(testbed, record=testbed.record.model_copy(update={"api_port": untaken}))
    engine.held[BROKER].port, engine.held[BROKER].status = untaken, "running"
    assert not mend(engine, TestbedSpec("lab", FILE), moved, ignore)
    assert [each.split(":")[1] for each in published(testbed)] == [str(untaken)]
    assert engine.removed == []
