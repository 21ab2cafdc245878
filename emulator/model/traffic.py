"""Background traffic on access links, as other jobs over several clusters and local users would cause it. Pure.

What other jobs would send is stated by cluster, as a share of the rate of its access link in both directions. The
cluster exchanges it in equal parts with every other one, whose links carry those parts, too. What local users send
follows from their profiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.link_queues import FRAME_BYTES
from emulator.model.local_users import profile_named
from emulator.model.topology import Topology
from emulator.model.units import rate_mbit

LARGEST_SHARE: Final = 0.95
"""Above this share of a link hardly anything of it is left to measure."""

USERS_FRAME_BYTES: Final = 500
"""The size of local users' frames: somebody at X-windows sends one in a second.

Of full frames one would come in some seconds, dilated: less evenly, and too seldom to tell a loss from chance.
"""

TrafficShare = Annotated[float, Field(gt=0, le=LARGEST_SHARE)]


@dataclass(frozen=True, slots=True)
class Flow:
    """A steady stream of frames from one cluster to another; `rate_mbit` is emulated, and counts whole frames.

    Without a `target` it goes to the router of the wide area, which stands for the Internet.
    """

    source: str
    target: str | None
    rate_mbit: float
    frame_bytes: int = FRAME_BYTES


def parse_traffic(text: str) -> dict[str, float]:
    """Read shares such as ``utrecht:30%,delft:0.1``, by cluster.

    Raises:
        InvalidInput: if a part is no cluster with a share, or a cluster is there twice.
    """
    shares: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        cluster, _, stated = part.partition(":")
        try:
            share = float(stated.removesuffix("%")) / (100.0 if stated.endswith("%") else 1.0)
        except ValueError:
            raise InvalidInput(f"--traffic: {part!r} must be a cluster and a share, such as utrecht:30%.") from None
        if cluster in shares:
            raise InvalidInput(f"--traffic: {cluster!r} is named twice.")
        shares[cluster] = share
    return shares


def flows_of(topology: Topology, traffic: Mapping[str, float]) -> tuple[Flow, ...]:
    """Return the flows by which the clusters of `traffic` load their access links by the shares stated there.

    Two of them that load each other exchange the larger part, so the smaller share may be exceeded. What the local
    users of `topology` send comes on top (`users_flows`).

    Raises:
        UnknownName: if there is no such cluster.
        InvalidInput: if a cluster is real, there is no other one, or a link would carry more than `LARGEST_SHARE`.
    """
    flows = (*_exchanged(topology, traffic), *users_flows(topology))
    for cluster in topology.clusters:
        if cluster.is_real:
            continue
        link, (up_mbit, down_mbit) = cluster.access_link, carried_mbit(flows, cluster.name)
        share = max(up_mbit / link.up_mbit, down_mbit / link.down_mbit)
        if share > LARGEST_SHARE + 1e-9:
            asked = ("--traffic", "ask for less")
            stated, remedy = asked if traffic else ("local_users", "state fewer, or a faster link")
            raise InvalidInput(
                f"{stated}: the link of {cluster.name!r} would carry {share:.0%} of its rate (at most "
                f"{LARGEST_SHARE:.0%}; {remedy})."
            )
    return flows


def users_flows(topology: Topology) -> tuple[Flow, ...]:
    """Return what the local users of `topology` send over the access link of their cluster.

    It goes to the other clusters in equal parts, or to the router where the cluster is alone.
    """
    flows: list[Flow] = []
    for cluster in topology.clusters:
        profiles = [profile_named(name) for name in cluster.local_users.values()]
        sent_mbit = rate_mbit(sum(profile.traffic_bytes_per_s for profile in profiles), 1.0)
        others = [name for name in topology.cluster_names if name != cluster.name]
        targets: list[str | None] = [*others] if others else [None]
        if sent_mbit > 0:
            part_mbit = sent_mbit / len(targets)
            flows += [Flow(cluster.name, target, part_mbit, USERS_FRAME_BYTES) for target in targets]
    return tuple(flows)


def carried_mbit(flows: Sequence[Flow], cluster: str) -> tuple[float, float]:
    """Return the rates at which a cluster sends and receives `flows`."""
    sent = sum(flow.rate_mbit for flow in flows if flow.source == cluster)
    return sent, sum(flow.rate_mbit for flow in flows if flow.target == cluster)


def _exchanged(topology: Topology, traffic: Mapping[str, float]) -> list[Flow]:
    """Return what the clusters of `traffic` exchange with all others."""
    emulated = [cluster for cluster in topology.clusters if not cluster.is_real]
    for name in traffic:
        if name not in topology.cluster_names:
            raise UnknownName.among("cluster", name, list(topology.cluster_names))
        if topology.cluster(name).is_real:
            raise InvalidInput(f"--traffic: {name!r} is real, and its link is left alone.")
    if traffic and len(emulated) < 2:
        raise InvalidInput("--traffic: there is no other emulated cluster to exchange traffic with.")
    flows: list[Flow] = []
    for source in emulated:
        for target in emulated:
            sent_mbit = traffic.get(source.name, 0.0) * source.access_link.up_mbit
            received_mbit = traffic.get(target.name, 0.0) * target.access_link.down_mbit
            if source is not target and (part_mbit := max(sent_mbit, received_mbit) / (len(emulated) - 1)):
                flows.append(Flow(source.name, target.name, part_mbit))
    return flows
