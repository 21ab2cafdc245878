"""Names and labels of a testbed's containers, networks, volumes and images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from emulator.model.errors import InvalidInput
from emulator.model.evidence import NO_CLUSTERS
from emulator.model.topology import is_name

LABEL: Final = "multicluster-testbed"
"""Label of everything that belongs to a testbed; its value is the testbed's name."""

ROLE_LABEL: Final = "multicluster-testbed.role"
"""Label of what a container, network or volume is for: ``cluster``, ``router``, ``broker``, ``control``, ..."""

CLUSTER_LABEL: Final = "multicluster-testbed.cluster"
"""Label that names the cluster of a cluster's container or a site's network."""

OWNER_LABEL: Final = "multicluster-testbed.owner"
"""Label of containers and volumes that holds the number of the user of this host who brought the testbed up."""

CENTRAL_LABEL: Final = "multicluster-testbed.central"
"""Label of the same that holds the ID of the central host's engine, which tells the testbeds of two hosts apart."""

USER: Final = "researcher"
"""The account that jobs run under in every cluster."""

RESERVED: Final = NO_CLUSTERS | {"control", "prometheus", "grafana"}
"""Names that no cluster may have, because parts of the testbed, or of its evidence, have them."""


@dataclass(frozen=True, slots=True)
class PartNames:
    """The names of one testbed's parts, all derived from its name.

    Raises:
        InvalidInput: if the testbed's name is invalid.
    """

    testbed: str

    def __post_init__(self) -> None:
        if not is_name(self.testbed):
            raise InvalidInput(
                f"A testbed's name is 1 to 31 small letters, digits and hyphens, a letter first, not {self.testbed!r}."
            )

    @property
    def compose_project(self) -> str:
        """The Compose project; its prefix avoids clashes with the user's other projects."""
        return f"multicluster-{self.testbed}"

    def cluster(self, cluster: str) -> str:
        """Return the name of a cluster's container."""
        if cluster in RESERVED:
            raise InvalidInput(
                f"A cluster cannot be called {cluster!r}, because a part of the testbed has that name (rename it)."
            )
        return f"{self.testbed}-{cluster}"

    @property
    def router(self) -> str:
        """The container of the wide area's router."""
        return f"{self.testbed}-wan"

    @property
    def broker(self) -> str:
        """The container of the broker."""
        return f"{self.testbed}-broker"

    @property
    def monitor_project(self) -> str:
        """The Compose project of the monitor; no testbed's own project has an underscore."""
        return f"multicluster-{self.testbed}_monitor"

    @property
    def prometheus(self) -> str:
        """The container of the monitor's Prometheus."""
        return f"{self.testbed}-prometheus"

    @property
    def grafana(self) -> str:
        """The container of the monitor's Grafana."""
        return f"{self.testbed}-grafana"

    @property
    def monitor_network(self) -> str:
        """The network between Grafana and Prometheus."""
        return f"{self.testbed}-monitor"

    @property
    def metrics_volume(self) -> str:
        """The volume of what Prometheus has collected."""
        return f"{self.testbed}-metrics"

    @property
    def control_network(self) -> str:
        """The network of SSH, Slurm and the API."""
        return f"{self.testbed}-control"

    def site_network(self, cluster: str) -> str:
        """Return the name of the network of a cluster's site."""
        return f"{self.testbed}-site-{cluster}"

    @property
    def journal_volume(self) -> str:
        """The volume of the broker's journal."""
        return f"{self.testbed}-journal"

    def keys_volume(self, cluster: str) -> str:
        """Return the volume with the keys of a cluster on another host, which cannot see their folder on this one."""
        return f"{self.testbed}-keys-{cluster}"

    def home_volume(self, cluster: str) -> str:
        """Return the volume of a cluster's home folders: what jobs read and write there, and its site's files."""
        return f"{self.testbed}-home-{cluster}"
