"""A topology rendered into a Compose file: pure, and the same text for ``docker compose`` v2 and docker-compose 1.29.

The file has neither a ``version`` nor a ``name`` (each is refused by one of the two); the project is given by ``-p``.
Networks and volumes carry their names explicitly, so that nothing depends on how Compose prefixes them. Real clusters
have no container: only the broker knows them and has the keys for them and for the jump hosts before them. If all
clusters are real there is no router.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from emulator.containers.addresses import AddressPlan
from emulator.containers.names import CENTRAL_LABEL, CLUSTER_LABEL, LABEL, OWNER_LABEL, ROLE_LABEL, USER, PartNames
from emulator.containers.wan.program import kernel_settings
from emulator.model.errors import InvalidInput
from emulator.model.local_users import profile_named
from emulator.model.real_head import AgentSocket, Hop
from emulator.model.settings import BrokerSettings, Head, real_head
from emulator.model.shared_nodes import TimeSharing
from emulator.model.topology import Cluster, NodeUse, Topology

BROKER_PORT: Final = 8460
"""Where the broker listens inside its container."""

MOUNTED_AT: Final = Path("/etc/testbed")
"""Where the broker's container has its files, which only root can read."""

BROKER_FOLDER: Final = Path("/run/broker")
"""Where the broker's user has copies of them, in memory."""

AGENT_AT: Final = "/root/ssh-agent"
"""Where the broker's container has the socket of the user's ssh-agent, in a folder that only root can enter."""

BROKER_JOURNAL: Final = Path("/var/lib/testbed/journal.sqlite")

PAGE_FOLDER: Final = Path("/opt/testbed/emulator/page/assets")
"""Where the broker's image has the files of the live page."""

SHARED_MEMORY_BYTES: Final = 2 * 1024**3
"""Limit of /dev/shm in a cluster: Open MPI keeps the messages of all its ranks there."""

MAX_PROCESSES: Final = 16384
MAX_BROKER_PROCESSES: Final = 8192
MAX_ROUTER_PROCESSES: Final = 2048
ROUTER_MEMORY_BYTES: Final = 1024**3
"""Several times what the router takes: a User-Mode Linux guest has 128 MiB."""

SHARE_OF_MEMORY: Final = 0.75
"""The share of the host's memory that all clusters together get, and the broker a third of it."""

PROCESSOR_MEMORY_BYTES: Final = 64 * 1024**2
"""The memory that a cluster may use for each processor, if necessary at the expense of others; a rank needs less."""

CLUSTER_MEMORY_BYTES: Final = 512 * 1024**2
LEADING_CPU_SHARES: Final = 10240
"""For what every cluster waits for: ten times a container's usual share of contended processors.

With control groups of version 2, runc makes four to six times of it.
"""

STOP_GRACE_PERIOD: Final = "3s"
BROKER_STOP_GRACE_PERIOD: Final = "10s"
"""A broker that is stopped releases what it holds."""


READS_HOST_FILES: Final = "label=disable"
"""The security option of a container that reads files of this host, such as a user's keys.

SELinux would keep it from them unless they were labelled anew, for everybody. Without SELinux this does nothing.
"""


@dataclass(frozen=True, slots=True)
class ImageReferences:
    """The images that a testbed's containers are made from."""

    node: str
    wan: str
    broker: str


@dataclass(frozen=True, slots=True)
class Rendering:
    """Everything that the Compose file of a testbed depends on.

    `state_folder` is the host folder that holds its topology, keys and token; `router_backend` is asked of the
    router (``auto``, ``kernel`` or ``uml``); `api_port` is the port on the host's loopback; `host_memory_bytes` is the
    memory of the host, and `owner` the number of the user who brings it up. `routes` are the ways to the heads of real
    clusters, for those whose topology does not say all, and `agent` is the ssh-agent that some of them need.
    `central_engine` is the ID of the central host's engine; empty if that says none. Of `owned_volumes` each states the
    owner and that ID, as containers do.
    """

    topology: Topology
    names: PartNames
    addresses: AddressPlan
    images: ImageReferences
    state_folder: Path
    api_port: int
    router_backend: str
    host_memory_bytes: int
    owner: int
    routes: Mapping[str, tuple[Hop, ...]] = field(default_factory=dict)
    agent: AgentSocket | None = None
    central_engine: str = ""
    owned_volumes: bool = True

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """The clusters that get a container; addresses go by their order."""
        emulated = self.topology.emulated
        return emulated.clusters if emulated else ()

    def route_to(self, cluster: Cluster) -> tuple[Hop, ...]:
        """Return the logins on the way to a real cluster's head; the keys are files of this host.

        Raises:
            InvalidInput: if nobody recorded them.
        """
        stated = cluster.ssh.hop if cluster.ssh else None
        route = self.routes.get(cluster.name) or ((stated,) if stated else ())
        if not route:
            raise InvalidInput(
                f"Cluster {cluster.name!r}: the way to its head is not recorded (`testbed up` finds it)."
            )
        return route


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
    return {
        **_common(rendering, "cluster", rendering.images.node, rendering.names.cluster(cluster.name), cluster.name),
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
        **_memory_limit(cluster_memory_bytes(rendering, cluster)),
        "volumes": [
            f"{keys / 'hosts' / cluster.name}:/etc/testbed/keys/host:ro",
            *(f"{keys / file}:/etc/testbed/keys/{file}:ro" for file in ("authorized_keys", "grid", "known_hosts")),
            f"{_home(cluster)}:/home/{USER}",
        ],
        "networks": {
            "control": {"ipv4_address": rendering.addresses.head(index)},
            _site(cluster): {"ipv4_address": rendering.addresses.site_address(index)},
        },
        "healthcheck": _health(["CMD", "sh", "/usr/local/lib/testbed/healthy.sh"]),
    }


def shared_nodes(sharing: TimeSharing, cluster: Cluster) -> dict[str, str]:
    """Return the environment of a cluster whose tasks share nodes in time; a node's memory counts if it is stated."""
    stated = {"TESTBED_TIME_SHARING": sharing_stated(sharing, cluster)}
    if cluster.node_memory_mb is not None:
        stated["TESTBED_NODE_MEMORY_MB"] = f"{cluster.node_memory_mb:g}"
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
        **_common(rendering, "router", rendering.images.wan, rendering.names.router),
        "environment": {"WAN_BACKEND": rendering.router_backend},
        "cap_add": ["NET_ADMIN", "NET_RAW"],
        # The router goes before containers that compute: a packet that it sends late is an error in every cluster.
        "cpu_shares": LEADING_CPU_SHARES,
        "sysctls": {"net.ipv4.ip_forward": "1"},
        # A User-Mode Linux guest keeps its memory in an executable mapping there.
        "tmpfs": ["/dev/shm:exec,size=256m"],
        "pids_limit": MAX_ROUTER_PROCESSES,
        **_memory_limit(ROUTER_MEMORY_BYTES),
        "networks": sites,
    }


def cluster_memory_bytes(rendering: Rendering, cluster: Cluster) -> int:
    """Return the memory that a cluster's container may use: its share, or what its processors need if that is more."""
    most = int(SHARE_OF_MEMORY * rendering.host_memory_bytes)
    needed = CLUSTER_MEMORY_BYTES + cluster.processors * PROCESSOR_MEMORY_BYTES
    return min(most, max(most // len(rendering.clusters), needed))


RESTART_BROKER = "on-failure:5"
"""A broker that cannot start is restarted five times at most."""


def broker_service(rendering: Rendering) -> dict[str, Any]:
    """Return the broker's service: on the control network, with its API published on the host's loopback only.

    Its entry point copies what is mounted to `BROKER_FOLDER`, and runs the broker as a user of its own, which keeps
    CAP_SETUID, CAP_SETGID and CAP_KILL of root's capabilities.
    """
    state = rendering.state_folder
    mounted = {
        "topology.yaml": state / "topology.yaml",
        "broker.json": state / "broker.json",
        "token": state / "token",
        "keys/broker": state / "keys" / "broker",
        "keys/known_hosts": state / "keys" / "known_hosts",
        **_keys_of_heads(rendering),
    }
    # Without a file of that name Docker makes a folder: the broker then starts without an agent.
    agent = [f"{rendering.agent.path}:{AGENT_AT}:ro"] if rendering.agent else []
    url = f"http://127.0.0.1:{BROKER_PORT}/v1/health"
    # Compose may have given the container a proxy, which does not lead to the container itself.
    probe = f"import urllib.request as u; u.build_opener(u.ProxyHandler({{}})).open('{url}', timeout=5)"
    return {
        **_common(rendering, "broker", rendering.images.broker, rendering.names.broker),
        "stop_grace_period": BROKER_STOP_GRACE_PERIOD,
        # A killed broker recovers from its journal; the other parts hold state that no journal restores.
        "restart": RESTART_BROKER,
        "hostname": "broker",
        "ports": [f"127.0.0.1:{rendering.api_port}:{BROKER_PORT}"],
        "volumes": [
            *(f"{source}:{MOUNTED_AT / target}:ro" for target, source in mounted.items()),
            *agent,
            f"journal:{BROKER_JOURNAL.parent}",
        ],
        "tmpfs": [f"{BROKER_FOLDER}:mode=700"],
        "pids_limit": MAX_BROKER_PROCESSES,
        **_memory_limit(int(SHARE_OF_MEMORY * rendering.host_memory_bytes / 3)),
        # Its decisions and timestamps must not wait behind the ranks that it started.
        "cpu_shares": LEADING_CPU_SHARES,
        "networks": {"control": {"ipv4_address": rendering.addresses.broker}},
        "healthcheck": _health(["CMD", "python3", "-c", probe]),
    }


def broker_settings(rendering: Rendering) -> BrokerSettings:
    """Return the settings that the broker reads when it starts; paths are those inside its container."""
    folder = BROKER_FOLDER
    indices = {cluster.name: index for index, cluster in enumerate(rendering.clusters)}
    heads = tuple(
        real_head(cluster, cluster.ssh, _route_from(folder, rendering, cluster))
        if cluster.ssh
        else Head(
            cluster=cluster.name,
            address=rendering.addresses.head(indices[cluster.name]),
            user=USER,
            file_address=rendering.addresses.site_address(indices[cluster.name]),
            spreads=rendering.topology.time_sharing is not None,
            counts_memory=rendering.topology.time_sharing is not None and cluster.node_memory_mb is not None,
        )
        for cluster in rendering.topology.clusters
    )
    return BrokerSettings(
        testbed=rendering.names.testbed,
        topology_file=folder / "topology.yaml",
        token_file=folder / "token",
        key_file=folder / "keys" / "broker",
        known_hosts_file=folder / "keys" / "known_hosts",
        journal_file=BROKER_JOURNAL,
        heads=heads,
        message_range=rendering.addresses.all_sites if indices else "",
        control_range=rendering.addresses.control_network if indices else "",
        listen_port=BROKER_PORT,
        page_folder=PAGE_FOLDER,
    )


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
    origin = _origin(rendering) if rendering.owned_volumes else {}
    journal = {"name": rendering.names.journal_volume, "labels": {**labels(rendering, "journal"), **origin}}
    homes = {
        _home(cluster): {
            "name": rendering.names.home_volume(cluster.name),
            "labels": {**labels(rendering, "home", cluster.name), **origin},
        }
        for cluster in rendering.clusters
    }
    return {"journal": journal, **homes}


def labels(rendering: Rendering, role: str, cluster: str | None = None) -> dict[str, str]:
    """Return the labels of a part of the testbed."""
    of_cluster = {CLUSTER_LABEL: cluster} if cluster else {}
    return {LABEL: rendering.names.testbed, ROLE_LABEL: role, **of_cluster}


def _origin(rendering: Rendering) -> dict[str, str]:
    """Return the labels of a container or volume that say who brought the testbed up, and on which host."""
    central = {CENTRAL_LABEL: rendering.central_engine} if rendering.central_engine else {}
    return {OWNER_LABEL: str(rendering.owner), **central}


def _common(rendering: Rendering, role: str, image: str, container: str, cluster: str | None = None) -> dict[str, Any]:
    return {
        "image": image,
        "container_name": container,
        "labels": {**labels(rendering, role, cluster), **_origin(rendering)},
        "init": True,
        "security_opt": [READS_HOST_FILES],
        "restart": "no",
        "stop_grace_period": STOP_GRACE_PERIOD,
        "logging": {"driver": "json-file", "options": {"max-size": "10m", "max-file": "2"}},
    }


def _memory_limit(size_bytes: int) -> dict[str, int]:
    """Return the keys that limit a container to that much memory, and to no swap space."""
    return {"mem_limit": size_bytes, "memswap_limit": size_bytes}


def _network(rendering: Rendering, name: str, role: str, subnet: str, cluster: str | None = None) -> Mapping[str, Any]:
    # The network is not `internal`: Docker's own rules would then drop the packets that the router forwards.
    return {
        "name": name,
        "driver": "bridge",
        "labels": labels(rendering, role, cluster),
        "ipam": {"driver": "default", "config": [{"subnet": subnet}]},
    }


def _keys_of_heads(rendering: Rendering) -> dict[str, Path]:
    """Return the key files for real heads and jump hosts, by the names that they have for the broker."""
    return {
        _key_of(cluster, route, hop): hop.key_file
        for cluster in rendering.topology.real_clusters
        for route in [rendering.route_to(cluster)]
        for hop in route
        if hop.key_file is not None
    }


def _route_from(folder: Path, rendering: Rendering, cluster: Cluster) -> tuple[Hop, ...]:
    """Return the way to a real head with the key files that the broker has in `folder`."""
    route = rendering.route_to(cluster)
    return tuple(
        hop.model_copy(update={"key_file": folder / _key_of(cluster, route, hop)}) if hop.key_file else hop
        for hop in route
    )


def _key_of(cluster: Cluster, route: tuple[Hop, ...], hop: Hop) -> str:
    """Return the name of the key for a hop: the head's is called after the cluster, a jump host's numbered."""
    number = route.index(hop) + 1
    return f"keys/heads/{cluster.name}" + ("" if number == len(route) else f".{number}")


def _home(cluster: Cluster) -> str:
    return f"home-{cluster.name}"


def _site(cluster: Cluster) -> str:
    return f"site-{cluster.name}"


def _health(test: list[str]) -> dict[str, Any]:
    # Rarely: a check costs the host's processors what a run needs. `up` does not wait for it.
    return {"test": test, "interval": "60s", "timeout": "30s", "retries": 3, "start_period": "60s"}
