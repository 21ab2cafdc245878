"""Control runs: the wide area without one of its parts, so that the cost of that part is a difference. Pure.

A control is the topology with something taken out of its wide area, and whether access links are shared. A control run
is checked against that topology, as any other run against its own.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Final

from emulator.model.clock import Dilation
from emulator.model.topology import Topology

UNLIMITED_HOST_MBIT: Final = 100.0
"""Unlimited rates: the host rate of the fastest access link, which a guest's kernel can forward."""

LEAST_SPEEDUP: Final = 4.0
"""Unlimited rates are at least this many times those asked for, whatever the host can carry."""


class Control(StrEnum):
    """The part of the wide area that is left in a run."""

    AS_ASKED = "as-asked"
    """All of it."""
    WITHOUT_WIDE_AREA = "without-wide-area"
    """Nothing: no delay, jitter or loss, and unlimited rates."""
    LATENCY_ALONE = "latency-alone"
    """Its delays, jitter and loss, with unlimited rates."""
    RATE_ALONE = "rate-alone"
    """The rate of its access links, given to each connection; no delay, jitter or loss."""
    UNSHARED = "unshared"
    """Delays, jitter and loss, and the rate of its access links, given to each connection."""

    @property
    def shared(self) -> bool:
        """Whether all connections that cross an access link share its rate."""
        return self not in (Control.RATE_ALONE, Control.UNSHARED)

    @property
    def delayed(self) -> bool:
        """Whether the delays between clusters are left."""
        return self not in (Control.WITHOUT_WIDE_AREA, Control.RATE_ALONE)

    def of(self, topology: Topology, dilation: Dilation) -> Topology:
        """Return `topology` with what this control leaves of its wide area, in a run at `dilation`."""
        if self in (Control.WITHOUT_WIDE_AREA, Control.LATENCY_ALONE):
            topology = _sped_up(topology, speedup(topology, dilation))
        return topology if self.delayed else _undelayed(topology)


def speedup(topology: Topology, dilation: Dilation) -> float:
    """Return the factor by which access links are faster if rates are unlimited, in a run at `dilation`.

    Unlimited is as fast as the router forwards; the larger the dilation, the closer that is to infinite. Links of real
    clusters are never made faster.
    """
    links = [cluster.access_link for cluster in topology.clusters if not cluster.is_real]
    fastest_mbit = max((max(link.up_mbit, link.down_mbit) for link in links), default=math.inf)
    return max(LEAST_SPEEDUP, UNLIMITED_HOST_MBIT / dilation.host_rate_mbit(fastest_mbit))


def _sped_up(topology: Topology, factor: float) -> Topology:
    clusters = []
    for cluster in topology.clusters:
        if cluster.is_real:
            clusters.append(cluster)
            continue
        link = cluster.access_link
        faster = link.model_copy(update={"up_mbit": factor * link.up_mbit, "down_mbit": factor * link.down_mbit})
        clusters.append(cluster.model_copy(update={"stated_access_link": faster}))
    return topology.model_copy(update={"clusters": tuple(clusters)})


def _undelayed(topology: Topology) -> Topology:
    nothing = {"delay_s": 0.0, "jitter_s": 0.0, "loss": 0.0}
    changes: dict[str, object] = {"links": tuple(link.model_copy(update=nothing) for link in topology.links)}
    if topology.default_link is not None:
        changes["default_link"] = topology.default_link.model_copy(update=nothing)
    return topology.model_copy(update=changes)
