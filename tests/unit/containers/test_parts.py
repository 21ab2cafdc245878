"""The parts of a testbed as rendered and as the engine reports them, and the sentences of `status` about them."""

from pathlib import Path
from typing import Any

import yaml

from emulator.containers.addresses import AddressPlan
from emulator.containers.compose import render
from emulator.containers.inspection import faults_of
from emulator.containers.mending import FoundPart
from emulator.containers.names import PartNames
from emulator.containers.parts import FoundParts, attached_addresses, lacking_addresses, patience_of, rendered_parts
from emulator.containers.readiness import READY_WITHIN_HOST_S
from emulator.containers.rendering import ImageReferences, Rendering
from emulator.model.catalogue import topology_named
from emulator.model.documents import parse_document
from emulator.model.topology import Topology

ONE_CLUSTER = """
name: one
processor: native
default_link: {delay_s: 0.001}
clusters: [{name: delft, nodes: 2, access_link: {up_mbit: 1, down_mbit: 1}}]
"""
REAL = """
name: real
processor: native
default_link: {delay_s: 0.001}
clusters:
  - {name: das, nodes: 2, ssh: {address: a@b.example, key: /k, unknown_host_key: accept-new}}
"""


def document(topology: Topology) -> dict[str, Any]:
    rendering = Rendering(
        topology=topology,
        names=PartNames("lab"),
        addresses=AddressPlan(111),
        images=ImageReferences(node="n", wan="w", broker="b"),
        state_folder=Path("/state/lab"),
        api_port=8470,
        router_backend="auto",
        host_memory_bytes=24 * 1024**3,
        owner=1000,
    )
    loaded: dict[str, Any] = yaml.safe_load(render(rendering))
    return loaded


def test_every_rendered_container_is_a_part_with_its_address_on_each_network() -> None:
    parts = {part.name: part for part in rendered_parts(document(topology_named("mini")))}
    assert list(parts) == [*(f"lab-{name}" for name in topology_named("mini").cluster_names), "lab-wan", "lab-broker"]
    assert parts["lab-delft"].addresses == {"lab-control": "10.111.0.11", "lab-site-delft": "10.111.129.10"}
    assert parts["lab-delft"].service == "delft"
    assert len(parts["lab-wan"].addresses) == 4
    assert {part.role for part in parts.values()} == {"cluster", "router", "broker"}


def test_a_topology_of_one_cluster_has_a_router_and_one_of_real_clusters_only_a_broker() -> None:
    one = rendered_parts(document(parse_document(ONE_CLUSTER, Topology, source="one")))
    assert [part.name for part in one] == ["lab-delft", "lab-wan", "lab-broker"]
    real = rendered_parts(document(parse_document(REAL, Topology, source="real")))
    assert [part.name for part in real] == ["lab-broker"]


def test_home_folders_outlive_their_containers() -> None:
    rendered = document(topology_named("mini"))
    assert rendered["volumes"]["home-delft"]["name"] == "lab-home-delft"
    assert "home-delft:/home/researcher" in rendered["services"]["delft"]["volumes"]


def attributes(status: str, **networks: dict[str, Any]) -> dict[str, Any]:
    return {"State": {"Status": status}, "NetworkSettings": {"Networks": networks}}


def network(identity: str, address: str, asked: str | None = None) -> dict[str, Any]:
    stated = {"IPv4Address": asked} if asked else None
    return {"NetworkID": identity, "IPAddress": address, "IPAMConfig": stated}


def test_a_running_container_has_the_addresses_in_use_and_a_stopped_one_those_it_will_get() -> None:
    there = network("1", "10.1.0.7", asked="10.1.0.10")
    assert attached_addresses(attributes("running", control=there), {"control": "1"}) == {"control": "10.1.0.7"}
    assert attached_addresses(attributes("paused", control=there), {"control": "1"}) == {"control": "10.1.0.7"}
    assert attached_addresses(attributes("exited", control=there), {"control": "1"}) == {"control": "10.1.0.10"}
    assert attached_addresses(attributes("exited", control=network("1", "")), {"control": "1"}) == {}


def test_an_attachment_to_a_network_that_was_deleted_or_made_anew_does_not_count() -> None:
    there = network("1", "10.1.0.10")
    assert attached_addresses(attributes("running", control=there), {}) == {}
    assert attached_addresses(attributes("running", control=there), {"control": "2"}) == {}


def test_the_broker_of_a_cluster_that_starts_again_has_as_long_to_reach_it_as_that_may_take() -> None:
    parts = rendered_parts(document(parse_document(ONE_CLUSTER, Topology, source="one")))
    long_started = dict.fromkeys((part.name for part in parts), 5000.0)
    assert patience_of(parts, long_started) == {"lab-delft": 15.0, "lab-wan": 15.0, "lab-broker": 15.0}
    again = {**long_started, "lab-delft": 10.0}
    assert patience_of(parts, again) == {"lab-delft": 90.0, "lab-wan": 15.0, "lab-broker": 90.0}


def test_a_clock_that_was_set_back_makes_nobody_wait_longer_than_a_start_takes() -> None:
    parts = rendered_parts(document(parse_document(ONE_CLUSTER, Topology, source="one")))
    patience_host_s = patience_of(parts, {part.name: -7200.0 for part in parts})
    assert set(patience_host_s.values()) == {READY_WITHIN_HOST_S}


def test_status_has_a_sentence_for_each_fault() -> None:
    parts = rendered_parts(document(parse_document(ONE_CLUSTER, Topology, source="one")))
    delft, router, broker = parts
    found = FoundParts(
        {
            delft.name: FoundPart("running", delft.addresses, ("has no slurmctld", "has no slurmd for n2")),
            router.name: FoundPart("paused", router.addresses),
            broker.name: FoundPart("running", {}),
        },
        missing=("the network lab-control",),
    )
    assert faults_of(parts, found) == [
        "The network lab-control is gone.",
        "The container lab-delft has no slurmctld.",
        "The container lab-delft has no slurmd for n2.",
        "The container lab-wan is paused.",
        "The container lab-broker is not on lab-control.",
    ]


def test_an_address_that_no_interface_has_is_a_fault_whatever_the_engine_says() -> None:
    delft = next(part for part in rendered_parts(document(topology_named("mini"))) if part.name == "lab-delft")
    control = "2: eth0    inet 10.111.0.11/17 brd 10.111.127.255 scope global eth0\n"
    site = "3: eth1    inet 10.111.129.10/24 scope global eth1\n"
    assert lacking_addresses(delft, control + site) == ()
    assert lacking_addresses(delft, control) == ("has no interface with 10.111.129.10 on lab-site-delft",)
