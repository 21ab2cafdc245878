"""The Compose file of each host, the addresses that a Swarm may take, and the keys that go along."""

from __future__ import annotations

import io
import ipaddress
import json
import os
import platform
import tarfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from emulator.containers.addresses import AddressPlan
from emulator.containers.compose import render
from emulator.containers.hosts import starting
from emulator.containers.hosts.host_files import host_document
from emulator.containers.hosts.starting import overlay_addresses, packed_keys
from emulator.containers.mounted_files import rendered_files, restore_files, write_rendered
from emulator.containers.names import CENTRAL_LABEL, OWNER_LABEL, USER, PartNames
from emulator.containers.progress import ignore
from emulator.containers.rendering import ImageReferences, Rendering
from emulator.containers.state import (
    GENERATION,
    ClusterRecord,
    HostRecord,
    HostsRecord,
    TestbedRecord,
    TestbedState,
    remember,
    write_secret,
)
from emulator.hosts.inventory import Host
from emulator.model.catalogue import topology_named
from emulator.model.documents import document_text
from emulator.model.errors import EngineUnavailable

PLAN = AddressPlan(111)
NAMES = PartNames("lab")
MINI = topology_named("mini")
FIRST, SECOND, *REST = MINI.cluster_names
GIB = 1024**3
ENGINES = SimpleNamespace(info=lambda: {"KernelVersion": platform.release(), "ID": "one's"})
"""A double of the hosts' engines: what the central one says of its host."""


@pytest.fixture
def whole() -> dict[str, Any]:
    """The Compose file of the whole of `mini`."""
    images = ImageReferences(node="n:1", wan="w:1", broker="b:1")
    rendering = Rendering(MINI, NAMES, PLAN, images, Path("/state/lab"), 8470, "auto", 24 * GIB, owner=1000)
    loaded: dict[str, Any] = yaml.safe_load(render(rendering))
    return loaded


@pytest.fixture
def testbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestbedState:
    """The state of `mini` over two hosts, the second with less memory."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    one = Host(name="one", engine="unix:///run/one.sock", address="10.77.0.1")
    two = Host(name="two", engine="ssh://bob@two", address="10.77.0.2")
    record = TestbedRecord(
        name="lab",
        second_octet=111,
        api_port=8470,
        router_backend="auto",
        user=USER,
        control_network=PLAN.control_network,
        all_sites=PLAN.all_sites,
        clusters=tuple(
            ClusterRecord(name=name, container=NAMES.cluster(name), head=PLAN.head(i), site=PLAN.site_address(i))
            for i, name in enumerate(MINI.cluster_names)
        ),
        images={"node": "n", "wan": "w", "broker": "b"},
        hosts=HostsRecord(
            central="one",
            hosts=(
                HostRecord(host=one, memory_bytes=64 * GIB, clusters=(FIRST,)),
                HostRecord(host=two, memory_bytes=8 * GIB, clusters=(SECOND, *REST)),
            ),
        ),
    )
    return remember(record, document_text(MINI))


def test_each_host_has_its_clusters_and_the_central_one_router_and_broker(whole: dict[str, Any]) -> None:
    central = host_document(whole, NAMES, (FIRST,), is_central=True)
    other = host_document(whole, NAMES, (SECOND, *REST), is_central=False)
    assert set(central["services"]) == {FIRST, "wan", "broker"}
    assert set(other["services"]) == {SECOND, *REST}
    assert not set(central["services"]) & set(other["services"])


def test_networks_are_only_named_and_only_those_in_use(whole: dict[str, Any]) -> None:
    other = host_document(whole, NAMES, (SECOND,), is_central=False)
    assert other["networks"] == {
        "control": {"external": True, "name": "lab-control"},
        f"site-{SECOND}": {"external": True, "name": f"lab-site-{SECOND}"},
    }
    central = host_document(whole, NAMES, (), is_central=True)
    assert set(central["networks"]) == set(whole["networks"])


def test_a_host_mounts_nothing_of_the_folder_that_it_does_not_see(whole: dict[str, Any]) -> None:
    other = host_document(whole, NAMES, (SECOND, *REST), is_central=False)
    assert "/state/lab" not in yaml.safe_dump(other)
    service = other["services"][SECOND]
    assert f"keys-{SECOND}:/etc/testbed/keys:ro" in service["volumes"]
    assert f"home-{SECOND}:/home/{USER}" in service["volumes"]
    assert set(other["volumes"]) == {f"{kind}-{name}" for kind in ("home", "keys") for name in (SECOND, *REST)}
    assert other["volumes"][f"keys-{SECOND}"] == {"external": True, "name": f"lab-keys-{SECOND}"}


def test_what_one_host_starts_is_not_changed_otherwise(whole: dict[str, Any]) -> None:
    central = host_document(whole, NAMES, (FIRST,), is_central=True)
    assert central["services"]["broker"] == whole["services"]["broker"]
    router = central["services"]["wan"]
    assert router["environment"] == {"WAN_BACKEND": "auto", "WAN_HARDWARE": "interface"}
    assert {**router, "environment": {}} == {**whole["services"]["wan"], "environment": {}}
    cluster = central["services"][FIRST]
    assert {**cluster, "volumes": ()} == {**whole["services"][FIRST], "volumes": ()}


@pytest.mark.parametrize("index", [0, 3, 14])
def test_the_swarm_takes_no_address_that_the_testbed_gives(index: int) -> None:
    for subnet, ours in [
        (PLAN.site_network(index), (PLAN.router(index), PLAN.site_address(index))),
        (PLAN.control_network, (PLAN.broker, PLAN.head(index))),
    ]:
        taken, gateway = overlay_addresses(subnet)
        assert ipaddress.ip_network(taken).subnet_of(ipaddress.ip_network(subnet))
        assert not any(ipaddress.ip_address(address) in ipaddress.ip_network(taken) for address in ours)
        assert gateway not in ours


def test_every_container_says_who_brought_it_up_and_on_which_host(testbed: TestbedState) -> None:
    write_rendered(ENGINES, testbed)
    for name in ("one", "two"):
        for service in yaml.safe_load(testbed.compose_file_of(name).read_text())["services"].values():
            assert service["labels"][CENTRAL_LABEL] == "one's"
            assert service["labels"][OWNER_LABEL] == str(os.getuid())


def test_volumes_state_the_same_in_testbeds_of_this_generation(testbed: TestbedState) -> None:
    stated = {OWNER_LABEL: str(os.getuid()), CENTRAL_LABEL: "one's"}
    for generation in (1, GENERATION):
        record = testbed.record.model_copy(update={"generation": generation})
        write_rendered(ENGINES, replace(testbed, record=record))
        documents = [yaml.safe_load(testbed.compose_file_of(name).read_text()) for name in ("one", "two")]
        made = [volume for found in documents for volume in found["volumes"].values() if "labels" in volume]
        assert len(made) == 1 + len(MINI.cluster_names)
        # Compose may want to make a volume anew whose labels have changed.
        assert all((stated.items() <= volume["labels"].items()) is (generation == GENERATION) for volume in made)


@pytest.mark.parametrize(("generation", "stated"), [(GENERATION, True), (2, False), (1, False)])
def test_only_testbeds_of_this_generation_state_what_their_networks_have(
    testbed: TestbedState, generation: int, stated: bool
) -> None:
    record = testbed.record.model_copy(update={"generation": generation})
    write_rendered(ENGINES, replace(testbed, record=record))
    networks = yaml.safe_load(testbed.compose_file.read_text())["networks"].values()
    assert all(("enable_ipv6" in network) is stated for network in networks)


def on_one_host(testbed: TestbedState, generation: int) -> TestbedState:
    """The same testbed on one host, with its Compose file."""
    record = testbed.record.model_copy(update={"generation": generation, "hosts": None})
    alone = replace(testbed, record=record)
    write_rendered(ENGINES, alone)
    return alone


def engine_with(network: str, *, ipv6: bool) -> Any:
    """A double of an engine that made `network`, of the testbed or of its monitor."""
    made = SimpleNamespace(name=network, attrs={"EnableIPv6": ipv6})
    return SimpleNamespace(networks=SimpleNamespace(list=lambda filters: [made]))


def test_a_network_that_got_ipv6_all_the_same_is_refused(
    testbed: TestbedState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting.engine, "compose_up", lambda project, file: None)
    alone = on_one_host(testbed, GENERATION)
    with pytest.raises(EngineUnavailable, match=r"^The network lab-control has IPv6, .*`default-network-opts`"):
        starting.start_containers(engine_with("lab-control", ipv6=True), alone)
    starting.start_containers(engine_with("lab-control", ipv6=False), alone)
    starting.start_containers(engine_with("lab-monitor", ipv6=True), alone)
    starting.start_containers(engine_with("lab-control", ipv6=True), on_one_host(testbed, 2))


def test_a_file_for_each_host_with_limits_after_its_memory(testbed: TestbedState) -> None:
    write_rendered(ENGINES, testbed)
    documents = {name: yaml.safe_load(testbed.compose_file_of(name).read_text()) for name in ("one", "two")}
    # The router takes the same everywhere.
    limits = {name: [each["mem_limit"] for key, each in found["services"].items() if key != "wan"]
              for name, found in documents.items()}  # fmt: skip
    assert min(limits["one"]) > max(limits["two"])
    assert max(limits["two"]) <= 8 * GIB
    assert testbed.record.places == {
        NAMES.cluster(FIRST): "one",
        **{NAMES.cluster(name): "two" for name in (SECOND, *REST)},
        NAMES.router: "one",
        NAMES.broker: "one",
    }


def test_a_host_s_file_that_is_lost_is_written_again(testbed: TestbedState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.containers.mounted_files.secret_files", lambda state: {})
    write_rendered(ENGINES, testbed)
    file = testbed.compose_file_of("two")
    assert file in rendered_files(testbed)
    before = file.read_text()
    file.unlink()
    restore_files(ENGINES, testbed, (), ignore)
    assert file.read_text() == before


def test_the_keys_of_a_cluster_are_its_own_and_root_s(testbed: TestbedState) -> None:
    folder = testbed.folder / "keys"
    for name in ("broker", "grid", "authorized_keys", "known_hosts", f"hosts/{FIRST}", f"hosts/{SECOND}"):
        write_secret(folder / name, name.encode())
    with tarfile.open(fileobj=io.BytesIO(packed_keys(testbed, SECOND))) as archive:
        found = {entry.name: (entry.mode, entry.uid, archive.extractfile(entry).read()) for entry in archive}
    assert found == {
        "host": (0o600, 0, f"hosts/{SECOND}".encode()),
        "grid": (0o600, 0, b"grid"),
        "authorized_keys": (0o644, 0, b"authorized_keys"),
        "known_hosts": (0o644, 0, b"known_hosts"),
    }


@pytest.mark.parametrize(("generation", "told"), [(GENERATION, True), (1, False)])
def test_the_broker_is_told_the_hosts_unless_its_image_may_not_know_such_a_setting(
    testbed: TestbedState, generation: int, told: bool
) -> None:
    record = testbed.record.model_copy(update={"generation": generation})
    write_rendered(ENGINES, replace(testbed, record=record))
    settings = json.loads(testbed.settings_file.read_text())
    hosts = {head["cluster"]: head.get("host") for head in settings["heads"]}
    assert hosts == ({FIRST: "one", **dict.fromkeys((SECOND, *REST), "two")} if told else dict.fromkeys(hosts))
