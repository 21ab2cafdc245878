"""The addresses of a testbed: one private /16, with a control network and a network per site.

10.X.0.0/24         control: SSH, Slurm, the broker's API   (broker .2, Prometheus .3, head of cluster i .(10+i))
10.X.(128+i).0/24   site of cluster i                       (router .2, cluster .10)
10.X.128.0/17       every site: what MPI and file transfers are pinned to
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from emulator.model.errors import InvalidInput

MAX_CLUSTERS: Final = 15
"""The most sites that one router serves: a prio qdisc has 16 bands, one per source and one for the rest."""

FIRST_OCTET = 10
LOWEST_SECOND_OCTET = 100
HIGHEST_SECOND_OCTET = 250
_FIRST_SITE = 128
_FIRST_HEAD = 10


@dataclass(frozen=True, slots=True)
class AddressPlan:
    """The addresses of one testbed, all derived from the second octet of its subnet."""

    second_octet: int

    def __post_init__(self) -> None:
        if not LOWEST_SECOND_OCTET <= self.second_octet <= HIGHEST_SECOND_OCTET:
            raise InvalidInput(
                f"A testbed's subnet is 10.{LOWEST_SECOND_OCTET}.0.0/16 to 10.{HIGHEST_SECOND_OCTET}.0.0/16, "
                f"not 10.{self.second_octet}.0.0/16."
            )

    @property
    def whole(self) -> str:
        """Everything that belongs to the testbed."""
        return f"{self._prefix}.0.0/16"

    @property
    def control_network(self) -> str:
        """The network of SSH, Slurm and the API."""
        return f"{self._prefix}.0.0/24"

    @property
    def all_sites(self) -> str:
        """The range that holds every site: the shaped wide area."""
        return f"{self._prefix}.{_FIRST_SITE}.0/17"

    @property
    def broker(self) -> str:
        """The broker on the control network."""
        return f"{self._prefix}.0.2"

    @property
    def prometheus(self) -> str:
        """Prometheus on the control network, if the testbed has a monitor."""
        return f"{self._prefix}.0.3"

    def head(self, cluster_index: int) -> str:
        """Return the address of a cluster's head on the control network."""
        return f"{self._prefix}.0.{_FIRST_HEAD + _checked(cluster_index)}"

    def site_network(self, cluster_index: int) -> str:
        """Return the network of a cluster's site."""
        return f"{self._site(cluster_index)}.0/24"

    def site_address(self, cluster_index: int) -> str:
        """Return the address of a cluster on its site's network."""
        return f"{self._site(cluster_index)}.10"

    def router(self, cluster_index: int) -> str:
        """Return the address of the router on a site's network."""
        return f"{self._site(cluster_index)}.2"

    @property
    def _prefix(self) -> str:
        return f"{FIRST_OCTET}.{self.second_octet}"

    def _site(self, cluster_index: int) -> str:
        return f"{self._prefix}.{_FIRST_SITE + _checked(cluster_index)}"


def _checked(cluster_index: int) -> int:
    if not 0 <= cluster_index < MAX_CLUSTERS:
        raise InvalidInput(f"A testbed has clusters 0 to {MAX_CLUSTERS - 1}, not {cluster_index}.")
    return cluster_index
