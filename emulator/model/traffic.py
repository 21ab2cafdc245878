"""Background traffic on access links, as other jobs over several clusters would cause it. Pure.

It is stated by cluster, as a share of the rate of its access link in both directions. The cluster exchanges it in equal
parts with every other one, whose links carry those parts, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.topology import Topology

LARGEST_SHARE: Final = 0.95
"""Above this share of a link hardly anything of it is left to measure."""

TrafficShare = Annotated[float, Field(gt=0, le=LARGEST_SHARE)]


@dataclass(frozen=True, slots=True)
class Flow:
    """A steady stream of frames from one cluster to another; `rate_mbit` is emulated, and counts whole frames."""

    source: str
    target: str
    rate_mbit: float


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

    Two of them that load each other exchange the larger part, so the smaller share may be exceeded.

    Raises:
        UnknownName: if there is no such cluster.
        InvalidInput: if a cluster is real, there is no other one, or a link would carry more than `LARGEST_SHARE`.
    """
    emulated = [cluster for cluster in topology.clusters if cluster.ssh is None]
    for name in traffic:
        if name not in topology.cluster_names:
            raise UnknownName.among("cluster", name, list(topology.cluster_names))
        if topology.cluster(name).ssh is not None:
            raise InvalidInput(f"--traffic: {name!r} is real, and its link is left alone.")
    if traffic and len(emulated) < 2:
        raise InvalidInput("--traffic: there is no other emulated cluster to exchange traffic with.")
    flows = []
    for source in emulated:
        for target in emulated:
            sent_mbit = traffic.get(source.name, 0.0) * source.access_link.up_mbit
            received_mbit = traffic.get(target.name, 0.0) * target.access_link.down_mbit
            if source is not target and (rate_mbit := max(sent_mbit, received_mbit) / (len(emulated) - 1)):
                flows.append(Flow(source.name, target.name, rate_mbit))
    for cluster in emulated:
        link, (up_mbit, down_mbit) = cluster.access_link, carried_mbit(flows, cluster.name)
        share = max(up_mbit / link.up_mbit, down_mbit / link.down_mbit)
        if share > LARGEST_SHARE + 1e-9:
            raise InvalidInput(
                f"--traffic: the link of {cluster.name!r} would carry {share:.0%} of its rate (at most "
                f"{LARGEST_SHARE:.0%}; ask for less)."
            )
    return tuple(flows)


def carried_mbit(flows: Sequence[Flow], cluster: str) -> tuple[float, float]:
    """Return the rates at which a cluster sends and receives `flows`."""
    sent = sum(flow.rate_mbit for flow in flows if flow.source == cluster)
    return sent, sum(flow.rate_mbit for flow in flows if flow.target == cluster)
