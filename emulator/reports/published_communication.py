"""What the measurement study on DAS-2 published of the communication of a configuration, for those that were measured.

Read from ``workloads/reference/das2_poisson_border_exchange_4x4.csv``: total communication times of Poisson on 4 x 4
processes, synchronized and not, over all iterations (Tables 9 and 10). They are set beside a measurement only where it
ran the same application, grid and processors on the topology `das2`, over as many clusters and the same interconnect.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from emulator.model.house import HOUSE
from emulator.model.records import CommunicationRow
from emulator.model.topology import Topology

PUBLISHED_FILE: Final = HOUSE / "workloads" / "reference" / "das2_poisson_border_exchange_4x4.csv"

_TOPOLOGY: Final = "das2"
_PROCESSORS: Final = 16
_SETUPS: Final[Mapping[tuple[int, str], str]] = {
    (1, "myrinet"): "pbs-1",
    (1, "ethernet"): "globus-1",
    (2, "ethernet"): "globus-2",
    (4, "ethernet"): "globus-4",
}
"""The study's setups by clusters and interconnect: only jobs of PBS, in one cluster, could use Myrinet."""


def published_iteration_s(row: CommunicationRow, topology: Topology) -> float | None:
    """Published communication time per iteration of the configuration of `row`; None if that was not published."""
    setup = _SETUPS.get((row.clusters, row.interconnect))
    is_published = (
        topology.name == _TOPOLOGY
        and row.application == "poisson"
        and row.processors == _PROCESSORS
        and row.exchange == "steps"
    )
    if setup is None or row.grid is None or not is_published:
        return None
    return _published().get((row.grid, setup, row.synchronized))


@cache
def _published() -> Mapping[tuple[int, str, bool], float]:
    """Seconds per iteration by grid, setup, and whether synchronized."""
    found: dict[tuple[int, str, bool], float] = {}
    with PUBLISHED_FILE.open(newline="", encoding="utf-8") as text:
        for line in csv.DictReader(text):
            for synchronized, column in ((True, "synchronized_s"), (False, "non_synchronized_s")):
                key = int(line["grid"]), line["setup"], synchronized
                found[key] = float(line[column]) / int(line["iterations"])
    return MappingProxyType(found)
