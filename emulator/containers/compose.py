"""A topology rendered into a Compose file: pure, and the same text for ``docker compose`` v2 and docker-compose 1.29.

The file has neither a ``version`` nor a ``name`` (each is refused by one of the two); the project is given by ``-p``.
Networks and volumes carry their names explicitly, so that nothing depends on how Compose prefixes them. Real clusters
have no container: only the broker knows them and has the keys for them and for the jump hosts before them. If all
clusters are real there is no router.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import yaml

from emulator.containers.broker_service import broker_service
from emulator.containers.common_service import (
    LEADING_CPU_SHARES,
    SHARE_OF_MEMORY,
    health_check,
    in_every_service,
    memory_limit,
)
from emulator.containers.names import USER
from emulator.containers.rendering import Rendering
from emulator.containers.wan.program import kernel_settings
from emulator.model.local_users import profile_named
from emulator.model.shared_nodes import TimeSharing
from emulator.model.topology import Cluster, NodeUse

SHARED_MEMORY_BYTES: Final = 2 * 1024**3
"""Limit of /dev/shm in a cluster: Open MPI keeps the messages of all its ranks there."""

MAX_PROCESSES: Final = 16384
MAX_ROUTER_PROCESSES: Final = 2048
ROUTER_MEMORY_BYTES: Final = 1024**3
"""Several times what the router takes: a User-Mode Linux guest has 128 MiB."""

PROCESSOR_MEMORY_BYTES: Final = 64 * 1024**2
"""The memory that a cluster may use for each processor, if necessary at the expense of others; a rank needs less."""

CLUSTER_MEMORY_BYTES: Final = 512 * 1024**2

SITE_MTU: Final = 1500
"""Bytes of the largest packet on the network of a site: the shaper of an access link drops larger ones."""


def render(rendering: Rendering) -> str:
    """Return the Compose file as text."""
    document = {
        "services": services(rendering),
        "networks": networks(rendering),
        "volumes": volumes(rendering),
    }
    return yaml.safe_dump(document, sort_keys=False, width=110)


def services(rendering: Rendering) -> dict[str, Any]:
    """Return every service: the emulated clusters in the topology's order, their router and the broker."""
    clusters = {
        cluster.name: cluster_service(rendering, index, cluster) for index, cluster in enumerate(rendering.clusters)
    }
    router = {"wan": router_service(rendering)} if clusters else {}
    return {**clusters, **router, "broker": broker_service(rendering)}


def cluster_service(rendering: Rendering, index: int, cluster: Cluster) -> dict[str, Any]:
    """Return a cluster's service: controller, virtual nodes and SSH in one container.

    Its entry point routes traffic for other sites through the router, leaves no route out of the testbed unless there
    are real clusters, and then drops NET_ADMIN for everything it starts. Only commands that the engine executes in the
    container still have it, to shape the access link.
    """
    keys, topology = rendering.state_folder / "keys", rendering.topology
    names, images = rendering.names, rendering.images
    return {
        **in_every_service(rendering, "cluster", images.node, names.cluster(cluster.name), cluster.name),
        "hostname": cluster.name,
        "environment": {
            "TESTBED_CLUSTER": cluster.name,
            "TESTBED_NODES": str(cluster.nodes),
            "TESTBED_PROCESSORS_PER_NODE": str(cluster.processors_per_node),
            **({"TESTBED_EXCLUSIVE_NODES": "yes"} if topology.nodes is NodeUse.EXCLUSIVE else {}),
            **({} if topology.time_sharing is None else shared_nodes(topology.time_sharing, cluster)),
            "TESTBED_ALL_SITES": rendering.addresses.all_sites,
            "TESTBED_ROUTER": rendering.addresses.router(index),
            **({"TESTBED_HAS_REAL_CLUSTERS": "yes"} if topology.real_clusters else {}),
        },
        "cap_add": ["NET_ADMIN"],
        "sysctls": kernel_settings(topology),
        "shm_size": SHARED_MEMORY_BYTES,
        # What lives only as long as the container, such as the scripts of jobs, which are executed there.
        "tmpfs": ["/run:exec,size=64m"],
        "pids_limit": MAX_PROCESSES,
        **memory_limit(cluster_memory_bytes(rendering, cluster)),
        "volumes": [
            f"{keys / 'hosts' / cluster.name}:/etc/testbed/keys/host:ro",
            *(f"{keys / file}:/etc/testbed/keys/{file}:ro" for file in ("authorized_keys", "grid", "known_hosts")),
            f"{_home(cluster)}:/home/{USER}",
        ],
        "networks": {
            "control": {"ipv4_address": rendering.addresses.head(index)},
            _site(cluster): {"ipv4_address": rendering.addresses.site_address(index)},
        },
        "healthcheck": health_check(["CMD", "sh", "/usr/local/lib/testbed/healthy.sh"]),
    }


def shared_nodes(sharing: TimeSharing, cluster: Cluster) -> dict[str, str]:
    """Return the environment of a cluster whose tasks share nodes in time; a node's memory counts if it is stated.

    Where people work, jobs get less of it.
    """
    stated = {"TESTBED_TIME_SHARING": sharing_stated(sharing, cluster)}
    if cluster.node_memory_mb is not None:
        stated["TESTBED_NODE_MEMORY_MB"] = f"{cluster.node_memory_mb:g}"
        beside_users_mb = sharing.memory_beside_users_mb(cluster.node_memory_mb, cluster.local_users)
        stated["TESTBED_MEMORY_BESIDE_USERS_MB"] = json.dumps(beside_users_mb)
    return stated


def sharing_stated(sharing: TimeSharing, cluster: Cluster) -> str:
    """Return how tasks share the nodes of a cluster, as the arbiter there reads it."""
    profiles = {node: profile_named(name) for node, name in cluster.local_users.items()}
    users = {node: (profile.burst_s, profile.think_s) for node, profile in profiles.items()}
    return json.dumps({"rule": sharing.rule, "parallel_share": sharing.parallel_share, "users": users})


def router_service(rendering: Rendering) -> dict[str, Any]:
    """Return the router's service, which is on every site's network and on no other."""
    sites = {
        _site(cluster): {"ipv4_address": rendering.addresses.router(index)}
        for index, cluster in enumerate(rendering.clusters)
    }
    return {
        **in_every_service(rendering, "router", rendering.images.wan, rendering.names.router),
        "environment": {"WAN_BACKEND": rendering.router_backend},
        "cap_add": ["NET_ADMIN", "NET_RAW"],
        # The router goes before containers that compute: a packet that it sends late is an error in every cluster.
        "cpu_shares": LEADING_CPU_SHARES,
        "sysctls": {"net.ipv4.ip_forward": "1"},
        # A User-Mode Linux guest keeps its memory in an executable mapping there.
        "tmpfs": ["/dev/shm:exec,size=256m"],
        "pids_limit": MAX_ROUTER_PROCESSES,
        **memory_limit(ROUTER_MEMORY_BYTES),
        "networks": sites,
    }


def cluster_memory_bytes(rendering: Rendering, cluster: Cluster) -> int:
    """Return the memory that a cluster's container may use: its share, or what its processors need if that is more."""
    most = int(SHARE_OF_MEMORY * rendering.host_memory_bytes)
    needed = CLUSTER_MEMORY_BYTES + cluster.processors * PROCESSOR_MEMORY_BYTES
    return min(most, max(most // len(rendering.clusters), needed))


def networks(rendering: Rendering) -> dict[str, Any]:
    """Return the control network and one network per site."""
    plan = rendering.addresses
    control = _network(rendering, rendering.names.control_network, "control", plan.control_network)
    sites = {
        _site(cluster): _network(
            rendering, rendering.names.site_network(cluster.name), "site", plan.site_network(index), cluster.name
        )
        for index, cluster in enumerate(rendering.clusters)
    }
    return {"control": control, **sites}


def volumes(rendering: Rendering) -> dict[str, Any]:
    """Return the volumes, which outlive containers: the broker's journal, and the home folders of each cluster."""
    origin = rendering.origin_labels() if rendering.owned_volumes else {}
    journal = {"name": rendering.names.journal_volume, "labels": {**rendering.labels("journal"), **origin}}
    homes = {
        _home(cluster): {
            "name": rendering.names.home_volume(cluster.name),
            "labels": {**rendering.labels("home", cluster.name), **origin},
        }
        for cluster in rendering.clusters
    }
    return {"journal": journal, **homes}


def _network(rendering: Rendering, name: str, role: str, subnet: str, cluster: str | None = None) -> Mapping[str, Any]:
    # The network is not `internal`: Docker's own rules would then drop the packets that the router forwards.
    network: dict[str, Any] = {
        "name": name,
        "driver": "bridge",
        "labels": rendering.labels(role, cluster),
        "ipam": {"driver": "default", "config": [{"subnet": subnet}]},
    }
    return {**network, **_stated(rendering, cluster)} if rendering.stated_networks else network


def _stated(rendering: Rendering, cluster: str | None) -> dict[str, Any]:
    """Return what a network states so that it does not follow the engine's `default-network-opts`.

    Real clusters are reached over the control network as the engine reaches anything: by IPv6, too, if it has that, and
    with packets of its size.
    """
    closed: dict[str, Any] = {} if rendering.topology.real_clusters else {"enable_ipv6": False}
    sized: dict[str, Any] = {"driver_opts": {"com.docker.network.driver.mtu": str(SITE_MTU)}} if cluster else {}
    return {**closed, **sized}


def _home(cluster: Cluster) -> str:
    return f"home-{cluster.name}"


def _site(cluster: Cluster) -> str:
    return f"site-{cluster.name}"
