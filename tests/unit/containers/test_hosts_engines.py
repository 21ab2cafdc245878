"""The engines of several hosts used as one, and what is read of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker.errors
import pytest
import requests

from emulator.containers import state
from emulator.containers.engine import NO_ANSWER
from emulator.containers.hosts import connecting, left_behind, network_probe
from emulator.containers.hosts.connecting import engine_for, naming_lost_hosts
from emulator.containers.hosts.engines import HostEngine, HostEngines, open_engines, unreached_parts
from emulator.containers.hosts.facts_reader import read_facts, swarm_facts, timestamp_s
from emulator.containers.hosts.tunnels import TunnelLost
from emulator.containers.names import CENTRAL_LABEL, OWNER_LABEL
from emulator.containers.state import TestbedSpec
from emulator.hosts.facts import HostFacts, Known, NetworkFacts, SwarmFacts, Unreachable
from emulator.hosts.inventory import Host, HostInventory
from emulator.model.errors import EngineUnavailable, InvalidInput, TestbedAlreadyUp
from emulator.model.project import TOPOLOGIES

HOSTS = {
    name: Host(name=name, engine=f"unix:///run/{name}.sock", address=f"10.77.0.{index}")
    for index, name in enumerate(("one", "two", "three"), start=1)
}


@dataclass
class Engine:
    """An engine with containers of these names; it counts how often it was asked."""

    held: tuple[str, ...]
    asked: list[str] = field(default_factory=list)

    @property
    def containers(self) -> Any:
        return SimpleNamespace(get=self._get, list=lambda **options: [f"{name} {options}" for name in self.held])

    @property
    def networks(self) -> Any:
        return SimpleNamespace(list=lambda **options: [f"net of {self.held[0]}"])

    def _get(self, name: str) -> str:
        self.asked.append(name)
        if name not in self.held:
            raise docker.errors.NotFound(name)
        return f"{name} of {self.held}"


def engines(**held: tuple[str, ...]) -> HostEngines:
    return HostEngines({name: HostEngine(HOSTS[name], Engine(each), "") for name, each in held.items()}, "one")


def test_a_container_comes_from_its_host_alone():
    both = engines(one=("a", "b"), two=("c",)).placed({"c": "two", "a": "one"}, "one")
    assert both.containers.get("c") == "c of ('c',)"
    assert both.engines["one"].client.asked == []
    assert both.containers.get("b") == "b of ('a', 'b')"
    with pytest.raises(docker.errors.NotFound):
        both.containers.get("d")


def test_listings_join_all_hosts_but_the_testbed_s_networks_are_the_manager_s():
    both = engines(one=("a",), two=("c",))
    assert both.containers.list(all=True) == ["a {'all': True}", "c {'all': True}"]
    assert both.networks.list(filters={"label": "x"}) == ["net of a"]
    assert both.networks.list() == ["net of a", "net of c"]


def test_an_engine_that_is_used_has_its_tunnel_opened_again_first():
    class Lost:
        def require(self) -> None:
            raise TunnelLost("Host 'two' is not reached.")

    there: Any = Lost()
    lost = HostEngine(HOSTS["two"], Engine(("c",)), "", there)
    both = HostEngines({"one": HostEngine(HOSTS["one"], Engine(("a",)), ""), "two": lost}, "one", places={"a": "one"})
    assert both.containers.get("a") == "a of ('a',)"
    for use in (lambda: both.placed({"c": "two"}, "one").containers.get("c"), both.containers.list):
        with pytest.raises(NO_ANSWER, match=r"Host 'two' is not reached\."):
            use()


def test_what_is_on_a_lost_host_is_not_found_and_its_host_is_named():
    both = HostEngines({"one": HostEngine(HOSTS["one"], Engine(("a",)), "")}, "one", {"two": "Two is away."})
    both = both.placed({"a": "one", "c": "two"}, "one")
    assert unreached_parts(both) == {"c": "Two is away."}
    assert both.unreached_parts() == {"c": "two"}
    with pytest.raises(docker.errors.NotFound):
        both.containers.get("c")
    with pytest.raises(EngineUnavailable, match=r"Two is away\."):
        both.require_all()
    assert unreached_parts(SimpleNamespace()) == {}


def test_engines_that_do_not_answer_are_lost_with_the_reason(tmp_path: Path):
    hosts = tuple(
        Host(name=name, engine=f"unix://{tmp_path}/{name}.sock", address=f"10.77.0.{index}")
        for index, name in enumerate(("one", "two"), start=1)
    )
    found = open_engines(HostInventory(hosts=hosts))
    assert found.engines == {}
    assert set(found.lost) == {"one", "two"}
    assert "host 'two'" in found.lost["two"]
    assert "start Docker on that host" in found.lost["two"]


def test_what_fails_because_a_host_has_died_names_that_host():
    died = engines(one=("a",))
    with (
        pytest.raises(
            EngineUnavailable, match=r"The engine of host 'one' at unix:///run/one\.sock is not reached"
        ) as lost,
        naming_lost_hosts(died),
    ):
        raise requests.ConnectionError("Connection aborted.")
    assert isinstance(lost.value.__cause__, requests.ConnectionError)


def test_what_fails_for_another_reason_keeps_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connecting, "opened_again", lambda engines: engines)
    with pytest.raises(InvalidInput, match="the reason"), naming_lost_hosts(engines(one=("a",))):
        raise InvalidInput("the reason")
    with pytest.raises(KeyboardInterrupt), naming_lost_hosts(engines(one=("a",))):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-11-23T03:16:45.123456789Z", 1795403805.123456789),
        ("2026-11-23T04:16:45.5+01:00", 1795403805.5),
        ("2026-11-23T03:16:45Z", 1795403805.0),
    ],
)
def test_timestamps_of_engines_are_read_to_the_nanosecond(text, seconds):
    assert timestamp_s(text) == pytest.approx(seconds, abs=1e-6)


def test_what_is_no_timestamp_is_refused():
    with pytest.raises(ValueError, match="no timestamp"):
        timestamp_s("yesterday")


def test_the_swarm_of_an_engine_is_read_whether_it_is_in_one_or_not():
    assert swarm_facts({}, {}) == SwarmFacts("inactive")
    said = {"LocalNodeState": "active", "NodeID": "n1", "ControlAvailable": True, "Managers": 3, "NodeAddr": "10.7.0.1"}
    found = SwarmFacts("active", "n1", True, 3, {"n1": "ready"}, address="10.7.0.1")
    assert swarm_facts({"Swarm": said}, {"n1": "ready"}) == found


def test_up_over_hosts_that_do_not_answer_is_refused_before_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    inventory = tmp_path / "hosts.yaml"
    inventory.write_text("hosts: [{name: one, engine: unix:///nowhere/x.sock, address: 10.77.0.1}]")
    spec = TestbedSpec("lab", TOPOLOGIES / "mini.yaml", hosts_file=inventory)
    with pytest.raises(EngineUnavailable, match=r"host 'one' at unix:///nowhere/x\.sock is not reached"):
        engine_for(spec)
    inventory.write_text("hosts: [{name: one, engine: nowhere, address: 10.77.0.1}]")
    with pytest.raises(InvalidInput, match=r"hosts.yaml: hosts.0.engine: .*an engine is ssh://"):
        engine_for(spec)


def test_a_testbed_that_is_renewed_without_an_inventory_keeps_its_hosts(monkeypatch: pytest.MonkeyPatch):
    inventory = HostInventory(hosts=(HOSTS["one"], HOSTS["two"]))
    record = SimpleNamespace(hosts=SimpleNamespace(inventory=inventory))
    opened: list[HostInventory] = []

    def open_all(hosts: HostInventory) -> HostEngines:
        opened.append(hosts)
        return engines(one=("a",), two=("b",))

    monkeypatch.setattr(connecting.state, "record_of", lambda name: record)
    monkeypatch.setattr(connecting, "open_engines", open_all)
    client: Any = engine_for(TestbedSpec("lab", TOPOLOGIES / "mini.yaml", fresh=True))
    assert set(client.engines) == {"one", "two"}
    assert opened == [inventory]


def part_of_lab(removed: list[str], labels: dict[str, str]) -> Any:
    """Return an engine with a container and a volume of `lab`; what is removed is noted."""

    def held(name: str) -> Any:
        return SimpleNamespace(name=name, attrs={"Labels": labels}, remove=lambda **options: removed.append(name))

    return SimpleNamespace(
        containers=SimpleNamespace(list=lambda **options: [held("lab-x")]),
        volumes=SimpleNamespace(list=lambda **options: [held("lab-home-x")]),
    )


@pytest.mark.parametrize(
    ("user", "noted", "labels", "stays"),
    [
        (1000, "one's", {CENTRAL_LABEL: "one's", OWNER_LABEL: "1000"}, False),
        (1000, "one's", {CENTRAL_LABEL: "two's", OWNER_LABEL: "1000"}, True),
        (1000, "one's", {CENTRAL_LABEL: "one's", OWNER_LABEL: "1001"}, True),
        (0, "one's", {CENTRAL_LABEL: "one's", OWNER_LABEL: "1001"}, True),
        (1000, "", {OWNER_LABEL: "1000"}, False),
        (1000, "", {OWNER_LABEL: "1001"}, True),
    ],
)
def test_what_is_left_is_removed_but_not_another_testbed_of_that_name(
    user: int, noted: str, labels: dict[str, str], stays: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("os.getuid", lambda: user)
    left = left_behind.LeftBehind(testbed="lab", central=HOSTS["one"], hosts=(HOSTS["two"],), central_engine=noted)
    file = left_behind.note_file("lab")
    file.parent.mkdir(parents=True)
    file.write_text(left.model_dump_json())
    removed: list[str] = []
    there = HostEngine(HOSTS["two"], part_of_lab(removed, labels), "")
    reached = HostEngines({"one": HostEngine(HOSTS["one"], SimpleNamespace(), ""), "two": there}, "one")
    monkeypatch.setattr(left_behind, "open_engines", lambda hosts, central: reached)
    assert left_behind.sweep(lambda step: None) == ["lab"]
    assert removed == ([] if stays else ["lab-x", "lab-home-x"])
    assert not left_behind.is_left("lab")


def test_what_is_left_on_a_lost_host_is_remembered_until_it_is_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    removed: list[str] = []
    networks = SimpleNamespace(list=lambda **options: [SimpleNamespace(id="net-1")])
    api = SimpleNamespace(remove_network=lambda network: removed.append(network))
    central = HostEngine(HOSTS["one"], SimpleNamespace(networks=networks, api=api, info=lambda: {"ID": "one's"}), "")
    inventory = HostInventory(hosts=tuple(HOSTS.values()))
    lost = HostEngines({"one": central}, "one", {"two": "away"})
    said: list[str] = []
    left_behind.remember_left(lost, "lab", inventory, lambda step: said.append(step.detail))
    assert left_behind.is_left("lab")
    assert "what lab has on two: not reached" in said[0]

    monkeypatch.setattr(left_behind, "open_engines", lambda hosts, central: lost)
    assert left_behind.sweep(said.append) == []
    assert left_behind.is_left("lab")
    with pytest.raises(TestbedAlreadyUp, match=r"'lab' still has parts on two, .* remove \S+/lab\.json, and run"):
        left_behind.require_nothing_left("lab")
    left_behind.require_nothing_left("other")

    back = part_of_lab(removed, {CENTRAL_LABEL: "one's"})
    reached = HostEngines({"one": central, "two": HostEngine(HOSTS["two"], back, "")}, "one")
    monkeypatch.setattr(left_behind, "open_engines", lambda hosts, central: reached)
    assert left_behind.sweep(lambda step: None) == ["lab"]
    assert removed == ["lab-x", "lab-home-x", "net-1"]
    assert not left_behind.is_left("lab")
    assert left_behind.sweep(lambda step: None) == []


def test_a_host_that_does_not_remove_what_is_left_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(**options: object) -> list[object]:
        raise requests.ConnectionError("cut off")

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    networks = SimpleNamespace(list=lambda **options: [])
    central = HostEngine(HOSTS["one"], SimpleNamespace(networks=networks, info=dict), "")
    inventory = HostInventory(hosts=tuple(HOSTS.values()))
    lost = HostEngines({"one": central}, "one", {"two": "away"})
    left_behind.remember_left(lost, "lab", inventory, lambda step: None)
    back = SimpleNamespace(containers=SimpleNamespace(list=refuse))
    reached = HostEngines({"one": central, "two": HostEngine(HOSTS["two"], back, "")}, "one")
    monkeypatch.setattr(left_behind, "open_engines", lambda hosts, central: reached)
    said: list[str] = []
    assert left_behind.sweep(lambda step: said.append(step.detail)) == []
    assert said[-1] == "what lab has there is not removed yet: cut off"
    assert left_behind.is_left("lab")


def test_a_damaged_note_of_what_is_left_stands_in_the_way_of_its_own_testbed_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = state.state_root() / left_behind.FOLDER
    folder.mkdir(parents=True)
    (folder / "lab.json").write_text('{"testbed": "la')
    said: list[str] = []
    assert left_behind.sweep(lambda step: said.append(step.detail)) == []
    assert "lab.json: is damaged" in said[0]
    left_behind.require_nothing_left("other")
    with pytest.raises(InvalidInput, match=r"lab\.json: is damaged; .* no host holds parts of the testbed 'lab'"):
        left_behind.require_nothing_left("lab")
    assert left_behind.is_left("lab")


def test_nothing_is_remembered_where_every_host_was_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    left_behind.remember_left(engines(one=("a",)), "lab", HostInventory(hosts=(HOSTS["one"],)), lambda step: None)
    assert not left_behind.is_left("lab")
    assert not state.state_root().exists()


@dataclass
class Reader:
    """Facts as given; it notes what each host was asked to reach."""

    known: dict[str, Known]
    asked: dict[str, list[str]] = field(default_factory=dict)

    def facts_of(self, host: Host) -> Known:
        return self.known[host.name]

    def network_of(self, host: Host, targets: Sequence[str]) -> NetworkFacts:
        self.asked[host.name] = list(targets)
        return NetworkFacts({host.address: 1600}, closed=tuple(targets))


def test_a_host_is_asked_to_reach_the_swarm_s_other_hosts_and_only_where_it_has_the_image():
    def facts(state: str, *, manages: bool = False, has_image: bool = True) -> HostFacts:
        return HostFacts("20.10.5", "x86_64", 2, 1, SwarmFacts(state, "n", manages), has_node_image=has_image)

    inventory = HostInventory(hosts=tuple(HOSTS.values()))
    reader = Reader({"one": facts("active", manages=True), "two": facts("active"), "three": facts("inactive")})
    found = read_facts(reader, inventory)
    assert reader.asked == {"one": ["10.77.0.2:7946"], "two": ["10.77.0.1:7946", "10.77.0.1:2377"], "three": []}
    assert found["two"].network.closed == ("10.77.0.1:7946", "10.77.0.1:2377")
    bare = Reader({"one": facts("active", has_image=False), "two": Unreachable("away"), "three": facts("active")})
    found = read_facts(bare, inventory)
    assert bare.asked == {"three": ["10.77.0.1:7946"]}
    assert (found["one"].network, found["two"]) == (None, Unreachable("away"))


def test_what_a_host_prints_of_its_network_is_what_is_known_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    addresses = [
        {"ifname": "lo", "mtu": 65536, "addr_info": [{"local": "127.0.0.1", "prefixlen": 8}]},
        {"ifname": "eth0", "mtu": 1600, "addr_info": [{"local": "10.77.0.1", "prefixlen": 24}, {}]},
    ]
    listed = {"address": addresses, "route": [{"dst": "default"}, {"dst": "10.0.0.0/8"}]}
    monkeypatch.setattr(network_probe, "listed", lambda what: listed[what])
    monkeypatch.setattr("sys.argv", ["network_probe"])
    network_probe.main()
    assert json.loads(capsys.readouterr().out) == {
        "mtu_by_address": {"10.77.0.1": 1600},
        "routes": ["10.0.0.0/8"],
        "interfaces": ["10.77.0.1/24"],
        "closed": [],
    }
