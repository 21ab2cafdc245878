"""Traffic of others on a job's access links: what crossed them, less what the job's own ranks sent and received. Pure.

A link's queue serves packets in the order of their arrival, so unknown traffic delays a job's messages, but no phase
is late by it. The ranks say what their connections carried, headers and acknowledgements included. Nothing else of the
testbed uses the wide area while a job runs alone: commands and results have a network of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from emulator.model.topology import Topology
from emulator.model.units import rate_bytes_per_s

Carried = tuple[int, int]
"""Bytes of frames that a cluster sent and received over its access link."""

SMALL_TALK_BYTES: Final = 50_000
"""Bytes on a link that are neither a rank's nor a stranger's: MPI opens connections, and addresses are resolved."""


TRAFFIC_ERROR: Final = 0.05
"""The share of a run's own background traffic by which what crossed a link may exceed it, and nobody else sent it."""


@dataclass(frozen=True, slots=True)
class StrangersTraffic:
    """The traffic of others over an access link, as a share of what it could carry while the job executed."""

    share: float
    link: str


def strangers_traffic(
    topology: Topology, execution_s: float, carried: Mapping[str, Carried], own: Mapping[str, Carried], jobs: int = 1
) -> StrangersTraffic | None:
    """Return the largest share of an access link that others took, of the clusters named in `own`; None if not known.

    `carried` are the bytes that crossed the links in `execution_s`, `own` those of the job, or of a number of `jobs`.
    """
    if execution_s <= 0 or not own or not own.keys() <= carried.keys():
        return None
    found: list[StrangersTraffic] = []
    for cluster in own:
        link = topology.cluster(cluster).access_link
        for direction, rate_mbit, crossed, ours in zip(
            ("up", "down"), (link.up_mbit, link.down_mbit), carried[cluster], own[cluster], strict=True
        ):
            surplus = max(0, crossed - ours - SMALL_TALK_BYTES * jobs)
            share = surplus / (rate_bytes_per_s(rate_mbit) * execution_s)
            found.append(StrangersTraffic(min(1.0, share), f"{cluster} {direction}"))
    return max(found, key=lambda each: each.share)


def own_bytes(result: Mapping[str, object], clusters: Sequence[str]) -> dict[str, Carried]:
    """Return what a job's ranks sent and received in each of its `clusters`, in the order of its parts.

    Nothing if that is not known.
    """
    counted = result.get("wide_area_bytes")
    if not isinstance(counted, list) or len(counted) != len(clusters):
        return {}
    return {cluster: (int(sent), int(received)) for cluster, (sent, received) in zip(clusters, counted, strict=True)}
