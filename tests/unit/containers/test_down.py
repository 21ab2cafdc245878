"""Taking testbeds down: one that stays keeps no other, and that of another user stays."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker.errors
import pytest

from emulator.containers import down
from emulator.containers import engine as engine_parts
from emulator.containers.names import CENTRAL_LABEL, LABEL, OWNER_LABEL
from emulator.model.errors import EngineUnavailable, TestbedNotUp


def test_a_testbed_that_cannot_be_taken_down_keeps_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def take_down(name: str, observe: object) -> None:
        tried.append(name)
        if name != "last":
            raise EngineUnavailable(f"{name} could not be removed.")

    monkeypatch.setattr(down, "sweep", lambda observe: [])
    monkeypatch.setattr(down.engine, "connect", lambda: None)
    monkeypatch.setattr(down, "testbeds", lambda client: ["first", "second", "of-another-user", "last"])
    owners = {"of-another-user": "1001"}
    monkeypatch.setattr(down.engine, "other_owner", lambda client, name: owners.get(name))
    monkeypatch.setattr(down.engine, "is_from_elsewhere", lambda client, name: False)
    monkeypatch.setattr(down, "take_down", take_down)
    with pytest.raises(EngineUnavailable, match=r"first could not be removed\."):
        down.take_all_down()
    assert tried == ["first", "second", "last"]


class Network:
    """A network with containers, which the engine removes only without them; a double."""

    name = "lab-control"

    def __init__(self, *containers: str) -> None:
        self.attrs: dict[str, dict[str, object]] = {}
        self.containers = dict.fromkeys(containers)
        self.removed = False

    def reload(self) -> None:
        self.attrs = {"Containers": dict(self.containers)}

    def disconnect(self, container: str, *, force: bool) -> None:
        assert force
        if container == "gone":
            raise docker.errors.NotFound("No such container: gone")
        del self.containers[container]

    def remove(self) -> None:
        if self.containers:
            raise docker.errors.APIError("refused", explanation=f"network {self.name} has active endpoints")
        self.removed = True


class Engine:
    """An engine with one network; a double."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.networks = self

    def list(self, **_: object) -> list[Network]:
        return [] if self.network.removed else [self.network]


def test_a_part_that_stays_is_said_once_and_named_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    engine: Any = Engine(Network("gone"))
    monkeypatch.setattr(down, "_LISTED_BY_KIND", (("networks", engine_parts.networks_of),))
    monkeypatch.setattr(down, "_REMOVE_WITHIN_HOST_S", 0.1)
    monkeypatch.setattr(down, "_LOOK_EVERY_HOST_S", 0.01)
    with pytest.raises(EngineUnavailable, match=r"lab-control could not be removed: .* active endpoints \(restart"):
        down.remove_parts(engine, "lab", lambda step: said.append(step.detail))
    assert said == ["1 networks of lab"]


def test_containers_leave_a_network_before_they_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network("lab-leiden", "lab-delft")
    engine: Any = Engine(network)
    monkeypatch.setattr(down, "_LISTED_BY_KIND", (("networks", engine_parts.networks_of),))
    assert down.remove_parts(engine, "lab", lambda step: None)
    assert network.removed


def test_another_users_testbed_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = SimpleNamespace(attrs={"Config": {"Labels": {LABEL: "testbed", OWNER_LABEL: "1001"}}})
    unlabelled = SimpleNamespace(attrs={"Labels": {LABEL: "testbed"}})
    none = SimpleNamespace(list=lambda **_: [])
    client = SimpleNamespace(containers=SimpleNamespace(list=lambda **_: [unlabelled, theirs]), volumes=none)
    monkeypatch.setattr("os.getuid", lambda: 1000)
    with pytest.raises(TestbedNotUp, match=r"another user of this host \(number 1001\), who can take it down"):
        engine_parts.check_own(client, "testbed")
    for number in (0, 1001):
        monkeypatch.setattr("os.getuid", lambda number=number: number)
        engine_parts.check_own(client, "testbed")


def test_volumes_alone_are_their_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = SimpleNamespace(attrs={"Labels": {LABEL: "testbed", OWNER_LABEL: "1001"}})
    client: Any = SimpleNamespace(
        containers=SimpleNamespace(list=lambda **_: []), volumes=SimpleNamespace(list=lambda **_: [theirs])
    )
    monkeypatch.setattr("os.getuid", lambda: 1000)
    with pytest.raises(TestbedNotUp, match=r"another user of this host \(number 1001\)"):
        engine_parts.check_own(client, "testbed")
    monkeypatch.setattr("os.getuid", lambda: 1001)
    engine_parts.check_own(client, "testbed")


def test_while_a_host_keeps_what_is_left_the_file_to_remove_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(down, "sweep", lambda observe: [])
    monkeypatch.setattr(down, "engine_of", lambda record: None)
    note = down.note_file("lab")
    note.parent.mkdir(parents=True)
    note.touch()
    with pytest.raises(TestbedNotUp, match=r"if they never return, remove \S+/lab\.json, and take"):
        down.take_down("lab")


def part_of(central: str) -> Any:
    """Return an engine with the ID `here`, and a part of user 1000's testbed that was brought up at `central`."""
    stated = {LABEL: "testbed", OWNER_LABEL: "1000", CENTRAL_LABEL: central}
    container = SimpleNamespace(attrs={"Config": {"Labels": stated}})
    none = SimpleNamespace(list=lambda **_: [])
    containers = SimpleNamespace(list=lambda **_: [container])
    return SimpleNamespace(containers=containers, networks=none, volumes=none, info=lambda: {"ID": "here"})


@pytest.mark.parametrize(("central", "taken"), [("there", []), ("here", ["testbed"])])
def test_equal_user_numbers_of_two_hosts_are_two_users(
    central: str, taken: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("os.getuid", lambda: 1000)
    monkeypatch.setattr(down.engine, "connect", lambda: part_of(central))
    monkeypatch.setattr(down, "take_down", lambda name, observe: tried.append(name))
    assert down.take_all_down() == taken
    assert tried == taken


def test_what_was_brought_up_on_another_host_is_taken_down_there_or_by_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getuid", lambda: 1000)
    engine_parts.check_own(part_of("here"), "testbed")
    with pytest.raises(TestbedNotUp, match=r"brought up on another host .* as root removes what is here"):
        engine_parts.check_own(part_of("there"), "testbed")
    monkeypatch.setattr("os.getuid", lambda: 0)
    engine_parts.check_own(part_of("there"), "testbed")
