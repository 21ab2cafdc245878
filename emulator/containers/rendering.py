"""What the Compose file of a testbed and the settings of its broker follow from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from emulator.containers.addresses import AddressPlan
from emulator.containers.names import CENTRAL_LABEL, CLUSTER_LABEL, LABEL, OWNER_LABEL, ROLE_LABEL, PartNames
from emulator.model.errors import InvalidInput
from emulator.model.real_head import AgentSocket, Hop
from emulator.model.topology import Cluster, Topology


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
    owner and that ID, as containers do. With `stated_networks`, the networks say themselves that they have no IPv6, and
    those of sites how large their packets are, whatever the engine is set to.
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
    stated_networks: bool = True

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """The clusters that get a container; addresses go by their order."""
        emulated = self.topology.emulated
        return emulated.clusters if emulated else ()

    def labels(self, role: str, cluster: str | None = None) -> dict[str, str]:
        """Return the labels of a part of the testbed."""
        of_cluster = {CLUSTER_LABEL: cluster} if cluster else {}
        return {LABEL: self.names.testbed, ROLE_LABEL: role, **of_cluster}

    def origin_labels(self) -> dict[str, str]:
        """Return the labels of a container or volume that say who brought the testbed up, and on which host."""
        central = {CENTRAL_LABEL: self.central_engine} if self.central_engine else {}
        return {OWNER_LABEL: str(self.owner), **central}

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
