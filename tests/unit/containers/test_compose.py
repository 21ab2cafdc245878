"""The rendered Compose file: what both makes of Compose take, and what the testbed relies on."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from apps.arbiter import Sharing
from emulator.containers.addresses import AddressPlan
from emulator.containers.broker_service import AGENT_AT
from emulator.containers.broker_settings import broker_settings
from emulator.containers.compose import cluster_memory_bytes, render
from emulator.containers.names import LABEL, PartNames
from emulator.containers.rendering import ImageReferences, Rendering
from emulator.model.catalogue import topology_named
from emulator.model.documents import parse_document
from emulator.model.errors import InvalidInput
from emulator.model.project import PROJECT_ROOT
from emulator.model.real_head import AgentSocket, Hop
from emulator.model.topology import NodeUse, Topology

IMAGES = ImageReferences(node="multicluster-testbed/node:1", wan="multicluster-testbed/wan:2", broker="b:3")


def rendering_of(topology: str, name: str = "lab") -> Rendering:
    return Rendering(
        topology=topology_named(topology),
        names=PartNames(name),
        addresses=AddressPlan(111),
        images=IMAGES,
        state_folder=Path("/state/lab"),
        api_port=8470,
        router_backend="auto",
        host_memory_bytes=24 * 1024**3,
        owner=1000,
    )


@pytest.fixture(params=["mini", "four-by-32", "das2"])
def rendering(request: pytest.FixtureRequest) -> Rendering:
    return rendering_of(request.param)


@pytest.fixture
def document(rendering: Rendering) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(render(rendering))
    return loaded


def test_holds_only_what_both_makes_of_compose_take(document: dict[str, Any]) -> None:
    assert set(document) == {"services", "networks", "volumes"}


def test_selinux_does_not_keep_a_container_from_the_files_of_the_host_that_it_reads(document: dict[str, Any]) -> None:
    for service in document["services"].values():
        assert service["security_opt"] == ["label=disable"]


def test_every_part_carries_the_testbeds_label(document: dict[str, Any]) -> None:
    parts = [part for kind in ("services", "networks", "volumes") for part in document[kind].values()]
    assert all(part["labels"][LABEL] == "lab" for part in parts)


def test_one_container_per_cluster_a_router_and_a_broker(rendering: Rendering, document: dict[str, Any]) -> None:
    names = [service["container_name"] for service in document["services"].values()]
    assert names == [*(f"lab-{name}" for name in rendering.topology.cluster_names), "lab-wan", "lab-broker"]


def test_the_router_is_on_every_site_and_not_on_the_control_network(document: dict[str, Any]) -> None:
    sites = {name for name in document["networks"] if name != "control"}
    assert set(document["services"]["wan"]["networks"]) == sites


def test_a_cluster_is_on_the_control_network_and_on_its_own_site_only(
    rendering: Rendering, document: dict[str, Any]
) -> None:
    for name in rendering.topology.cluster_names:
        assert set(document["services"][name]["networks"]) == {"control", f"site-{name}"}


def test_no_network_is_internal_because_the_engine_would_drop_what_the_router_forwards(
    document: dict[str, Any],
) -> None:
    assert not any(network.get("internal") for network in document["networks"].values())


def test_no_network_has_ipv6_whatever_the_engine_gives_by_itself(document: dict[str, Any]) -> None:
    assert all(network["enable_ipv6"] is False for network in document["networks"].values())


def test_the_networks_of_sites_carry_frames_of_ethernets_size_whatever_the_engine_is_set_to(
    document: dict[str, Any],
) -> None:
    sites = [network for key, network in document["networks"].items() if key.startswith("site-")]
    assert all(site["driver_opts"] == {"com.docker.network.driver.mtu": "1500"} for site in sites)


def test_beside_real_clusters_the_control_network_is_as_the_engine_makes_it() -> None:
    networks = yaml.safe_load(render(half_real()))["networks"]
    assert not {"enable_ipv6", "driver_opts"} & networks["control"].keys()
    assert "driver_opts" in networks["site-a"]


def test_the_networks_of_a_testbed_that_stands_are_not_stated_anew() -> None:
    networks = yaml.safe_load(render(replace(rendering_of("mini"), stated_networks=False)))["networks"]
    assert not any({"enable_ipv6", "driver_opts"} & network.keys() for network in networks.values())


def test_the_api_is_published_on_loopback_only(document: dict[str, Any]) -> None:
    published = [port for service in document["services"].values() for port in service.get("ports", [])]
    assert published == ["127.0.0.1:8470:8460"]


def test_no_container_is_privileged_and_clusters_get_no_more_than_their_network(document: dict[str, Any]) -> None:
    services = document["services"]
    assert not any(service.get("privileged") for service in services.values())
    assert "cap_add" not in services["broker"]
    clusters = [service for name, service in services.items() if name not in ("wan", "broker")]
    assert all(cluster["cap_add"] == ["NET_ADMIN"] for cluster in clusters)


def test_only_a_broker_that_dies_is_started_again_because_only_it_has_a_journal(document: dict[str, Any]) -> None:
    restarted = {name: service["restart"] for name, service in document["services"].items()}
    assert restarted.pop("broker") == "on-failure:5"
    assert set(restarted.values()) == {"no"}


def test_secrets_are_mounted_read_only(document: dict[str, Any]) -> None:
    mounts = [mount for service in document["services"].values() for mount in service.get("volumes", [])]
    assert all(mount.endswith(":ro") for mount in mounts if mount.startswith("/"))


def test_no_cluster_gets_the_brokers_key_or_the_token(document: dict[str, Any]) -> None:
    for name, service in document["services"].items():
        if name != "broker":
            assert not any("keys/broker" in mount or "token" in mount for mount in service.get("volumes", []))


def test_no_container_takes_the_host(document: dict[str, Any]) -> None:
    for service in document["services"].values():
        assert service["mem_limit"] == service["memswap_limit"] <= 18 * 1024**3
        assert 0 < service["pids_limit"] <= 16384


def test_clusters_share_the_memory_but_each_has_what_its_processors_need() -> None:
    mini, das2 = rendering_of("mini"), rendering_of("das2")
    assert {cluster_memory_bytes(mini, cluster) for cluster in mini.clusters} == {18 * 1024**3 // 4}
    large, *others = (cluster_memory_bytes(das2, cluster) for cluster in das2.clusters)
    assert large == (512 + 144 * 64) * 1024**2
    assert set(others) == {(512 + 64 * 64) * 1024**2}
    small = replace(das2, host_memory_bytes=8 * 1024**3)
    assert {cluster_memory_bytes(small, cluster) for cluster in small.clusters} >= {6 * 1024**3}
    assert max(cluster_memory_bytes(small, cluster) for cluster in small.clusters) == 6 * 1024**3


def test_only_beside_real_clusters_a_way_leads_out_of_the_testbed() -> None:
    def told(rendering: Rendering) -> set[bool]:
        services = yaml.safe_load(render(rendering))["services"]
        clusters = [services[cluster.name] for cluster in rendering.clusters]
        return {"TESTBED_HAS_REAL_CLUSTERS" in cluster["environment"] for cluster in clusters}

    assert told(half_real()) == {True}
    assert told(rendering_of("mini")) == {False}


def test_the_broker_reads_copies_of_its_files_that_are_kept_in_memory(rendering: Rendering) -> None:
    broker = yaml.safe_load(render(rendering))["services"]["broker"]
    assert broker["tmpfs"] == ["/run/broker:mode=700"]
    settings = broker_settings(rendering)
    files = (settings.topology_file, settings.token_file, settings.key_file, settings.known_hosts_file)
    mounted = {mount.split(":")[1] for mount in broker["volumes"]}
    assert all(f"/etc/testbed/{file.relative_to('/run/broker')}" in mounted for file in files)


def test_the_broker_is_told_every_head_in_order(rendering: Rendering) -> None:
    heads = broker_settings(rendering).heads
    assert [head.cluster for head in heads] == rendering.topology.cluster_names
    assert [head.address for head in heads] == [f"10.111.0.{10 + index}" for index in range(len(heads))]


def test_nothing_of_two_testbeds_is_called_the_same() -> None:
    def named(name: str) -> set[str]:
        document = yaml.safe_load(render(rendering_of("mini", name)))
        containers = {service["container_name"] for service in document["services"].values()}
        return containers | {part["name"] for kind in ("networks", "volumes") for part in document[kind].values()}

    assert not named("one") & named("other")


@pytest.mark.parametrize("name", ["Lab", "", "-lab", "a b", "x" * 40, "../lab"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="name"):
        PartNames(name)


def test_a_cluster_may_not_be_called_like_a_part_of_the_testbed() -> None:
    with pytest.raises(InvalidInput, match="wan"):
        PartNames("lab").cluster("wan")


def test_das2_has_four_hundred_processors_and_four_by_32_has_four_clusters_of_32() -> None:
    das2, equal = topology_named("das2"), topology_named("four-by-32")
    assert [cluster.processors for cluster in das2.clusters] == [144, 64, 64, 64, 64]
    assert [cluster.processors for cluster in equal.clusters] == [32, 32, 32, 32]


REAL = "ssh: {address: alice@fs0.das.example:2222, key: /keys/das, unknown_host_key: accept-new, partition: defq}"


def half_real(*, all_real: bool = False) -> Rendering:
    """A topology of clusters a, das (real) and c; or of real ones only."""
    emulated = "access_link: {up_mbit: 1, down_mbit: 1}"
    links = [REAL if all_real else emulated, REAL, REAL if all_real else emulated]
    clusters = [f"{{name: {name}, nodes: 2, {link}}}" for name, link in zip(("a", "das", "c"), links, strict=True)]
    text = f"name: half\nprocessor: native\ndefault_link: {{delay_s: 0.001}}\nclusters: [{', '.join(clusters)}]"
    return replace(rendering_of("mini"), topology=parse_document(text, Topology, source="half"))


def test_a_real_cluster_has_no_container_no_network_and_no_delay_line() -> None:
    rendering = half_real()
    document = yaml.safe_load(render(rendering))
    assert set(document["services"]) == {"a", "c", "wan", "broker"}
    assert set(document["networks"]) == {"control", "site-a", "site-c"}
    assert document["services"]["c"]["networks"]["control"] == {"ipv4_address": "10.111.0.11"}
    assert "/keys/das:/etc/testbed/keys/heads/das:ro" in document["services"]["broker"]["volumes"]


def test_the_broker_is_told_how_to_reach_and_ask_a_real_head_in_the_topologys_order() -> None:
    first, real, last = broker_settings(half_real()).heads
    assert [first.address, real.address, last.address] == ["10.111.0.10", "fs0.das.example", "10.111.0.11"]
    assert (real.user, real.port, real.partition, real.real) == ("alice", 2222, "defq", True)
    assert real.key_file == Path("/run/broker/keys/heads/das")
    assert (first.key_file, first.real) == (None, False)


BY_WAY_OF_TWO = (
    Hop(host="gate.example", user="alice", key_file=Path("/home/alice/.ssh/gate")),
    Hop(host="inner", port=2200, user="bob", agent_key="AAAA"),
    Hop(host="fs0", user="alice", key_file=Path("/home/alice/.ssh/das")),
)


def test_the_broker_gets_the_keys_of_jump_hosts_beside_that_of_the_head_and_their_order() -> None:
    rendering = replace(half_real(), routes={"das": BY_WAY_OF_TWO})
    mounted = yaml.safe_load(render(rendering))["services"]["broker"]["volumes"]
    assert "/home/alice/.ssh/gate:/etc/testbed/keys/heads/das.1:ro" in mounted
    assert "/home/alice/.ssh/das:/etc/testbed/keys/heads/das:ro" in mounted
    head = broker_settings(rendering).heads[1]
    assert (head.address, head.port, head.key_file) == ("fs0", 22, Path("/run/broker/keys/heads/das"))
    gate, inner = head.jumps
    assert (gate.shown, gate.key_file) == ("alice@gate.example", Path("/run/broker/keys/heads/das.1"))
    assert (inner.shown, inner.key_file, inner.agent_key) == ("bob@inner:2200", None, "AAAA")


def test_the_agents_socket_is_mounted_where_the_brokers_entry_point_looks_for_it() -> None:
    agent = AgentSocket(path=Path("/tmp/ssh-x/agent.7"), inode=3)
    mounted = yaml.safe_load(render(replace(half_real(), agent=agent)))["services"]["broker"]["volumes"]
    assert f"/tmp/ssh-x/agent.7:{AGENT_AT}:ro" in mounted
    assert not any(
        AGENT_AT in volume for volume in yaml.safe_load(render(half_real()))["services"]["broker"]["volumes"]
    )
    assert f"with_agent.py {AGENT_AT}\n" in (PROJECT_ROOT / "images" / "broker" / "run.sh").read_text()


def test_a_head_whose_way_nobody_recorded_is_an_error_and_not_a_guess() -> None:
    rendering = half_real()
    topology = parse_document(
        "{name: r, processor: native, clusters: [{name: das, nodes: 2, ssh: {address: das5}}]}", Topology, source="r"
    )
    with pytest.raises(InvalidInput, match="the way to its head is not recorded"):
        render(replace(rendering, topology=topology))


def test_where_all_clusters_are_real_only_the_broker_is_a_container() -> None:
    rendering = half_real(all_real=True)
    document = yaml.safe_load(render(rendering))
    assert (set(document["services"]), set(document["networks"])) == ({"broker"}, {"control"})
    settings = broker_settings(rendering)
    assert (settings.message_range, settings.control_range) == ("", "")


def test_clusters_and_broker_are_told_that_tasks_share_nodes_in_time() -> None:
    told = {}
    for name in ("mini", "cisne-shared"):
        rendering = rendering_of(name)
        services = yaml.safe_load(render(rendering))["services"]
        first = rendering.topology.cluster_names[0]
        told[name] = services[first]["environment"].get("TESTBED_TIME_SHARING")
        head = broker_settings(rendering).heads[0]
        assert head.spreads == head.counts_memory == (told[name] is not None)
    assert told["mini"] is None
    sharing = Sharing.parse(told["cisne-shared"])
    assert (sharing.rule.name, sharing.contract.parallel_share) == ("ccs", 0.5)
    uncounted = rendering_of("cisne-shared")
    (cluster,) = uncounted.topology.clusters
    unstated = cluster.model_copy(update={"node_memory_mb": None})
    uncounted = replace(uncounted, topology=uncounted.topology.model_copy(update={"clusters": (unstated,)}))
    assert [(head.spreads, head.counts_memory) for head in broker_settings(uncounted).heads] == [(True, False)]
    assert sharing.users == {
        **dict.fromkeys(("n2", "n11", "n14"), pytest.approx((0.15, 0.85))), "n6": pytest.approx((0.2, 0.8))
    }  # fmt: skip


def test_clusters_are_told_what_people_at_nodes_leave_to_jobs_of_the_memory() -> None:
    rendering = rendering_of("cisne-shared")
    environment = yaml.safe_load(render(rendering))["services"]["cisne"]["environment"]
    assert environment["TESTBED_NODE_MEMORY_MB"] == "512"
    beside_users_mb = json.loads(environment["TESTBED_MEMORY_BESIDE_USERS_MB"])
    assert beside_users_mb == {**dict.fromkeys(("n2", "n11", "n14"), 256.0), "n6": pytest.approx(204.8)}
    (cluster,) = rendering.topology.clusters
    uncounted = cluster.model_copy(update={"node_memory_mb": None})
    rendering = replace(rendering, topology=rendering.topology.model_copy(update={"clusters": (uncounted,)}))
    environment = yaml.safe_load(render(rendering))["services"]["cisne"]["environment"]
    assert not {"TESTBED_NODE_MEMORY_MB", "TESTBED_MEMORY_BESIDE_USERS_MB"} & environment.keys()


def test_the_clusters_are_told_that_nodes_are_exclusive() -> None:
    shared = rendering_of("mini")
    exclusive = replace(shared, topology=shared.topology.model_copy(update={"nodes": NodeUse.EXCLUSIVE}))
    for rendering, told in ((shared, None), (exclusive, "yes")):
        services = yaml.safe_load(render(rendering))["services"]
        assert services["delft"]["environment"].get("TESTBED_EXCLUSIVE_NODES") == told
