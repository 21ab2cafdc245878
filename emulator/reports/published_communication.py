"""The communication times that the measurement study on DAS-2 published, for configurations that were measured.

Total communication times of Poisson on 4 x 4 processes, synchronized and not (Tables 9 and 10). They are shown beside a
measurement only if it ran the same application, grid and processors on the topology `das2`, over as many clusters
in equal parts and the same interconnect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from emulator.model.cell_rows import CommunicationRow
from emulator.model.topology import Topology
from emulator.studies.published_runtimes import Setup, find_communication

_TOPOLOGY: Final = "das2"
_SETUPS: Final[Mapping[tuple[int, str], Setup]] = {
    (1, "myrinet"): Setup.PBS_1,
    (1, "ethernet"): Setup.GLOBUS_1,
    (2, "ethernet"): Setup.GLOBUS_2,
    (4, "ethernet"): Setup.GLOBUS_4,
}
"""The study's setups by clusters and interconnect: only jobs of PBS, in one cluster, could use Myrinet."""


def published_iteration_s(row: CommunicationRow, topology: Topology) -> float | None:
    """Return the published communication time per iteration for the configuration of `row`; None if there is none."""
    setup = _SETUPS.get((row.clusters, row.interconnect))
    has_equal_parts = len(set(row.components)) == 1
    if setup is None or not has_equal_parts or topology.name != _TOPOLOGY or row.exchange != "steps":
        return None
    found = find_communication(row.application, row.grid, row.processors, setup, synchronized=row.synchronized)
    return None if found is None else found.iteration_s
