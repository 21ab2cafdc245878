"""What the broker reads when it starts: its settings, and the keys for real heads and the jump hosts before them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from emulator.containers.names import USER
from emulator.containers.rendering import Rendering
from emulator.model.real_head import Hop
from emulator.model.settings import BrokerSettings, Head, real_head
from emulator.model.topology import Cluster

BROKER_PORT: Final = 8460
"""Where the broker listens inside its container."""

BROKER_FOLDER: Final = Path("/run/broker")
"""Where the broker's user has, in memory, copies of the files that its container mounts."""

BROKER_JOURNAL: Final = Path("/var/lib/testbed/journal.sqlite")

PAGE_FOLDER: Final = Path("/opt/testbed/emulator/page/assets")
"""Where the broker's image has the files of the live page."""


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


def keys_of_heads(rendering: Rendering) -> dict[str, Path]:
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
