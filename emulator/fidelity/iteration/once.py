"""What a job passes on once: the first rank distributes data to all others, and collects them at the end."""

from __future__ import annotations

from collections.abc import Mapping

from apps.registry import application_named
from emulator.fidelity.iteration.predicted import ModelJob
from emulator.fidelity.iteration.ranks import MessageCosts
from emulator.model.topology import Topology
from emulator.model.units import rate_bytes_per_s


def passed_on_once_s(topology: Topology, job: ModelJob) -> float:
    """Return the emulated seconds in which `job` distributes and collects its data; 0 if it does neither.

    All other ranks have equal parts. Inside its cluster the first rank sends and receives one part after another;
    meanwhile the parts of other clusters share its cluster's access link.

    Raises:
        UnknownName: if there is no such application or cluster.
        InvalidInput: if the links of a cluster are unknown.
    """
    descriptor = application_named(job.application)
    others = job.processors - 1
    if descriptor.once_bytes is None or others == 0:
        return 0.0
    share = job.arguments.get(descriptor.once_share or "", 1.0)
    both_ways_bytes = descriptor.once_bytes(job.grid) * (share if isinstance(share, int | float) else 1.0)
    part_bytes = both_ways_bytes / 2 / others
    home, held = job.clusters[0], _held(job)
    topology = topology.among(job.processors)
    costs = MessageCosts.of(topology.interconnects.of(len(job.clusters), job.which))
    near_s = costs.latency_s + (held.pop(home) - 1) * (costs.message_s + part_bytes * costs.byte_s)
    far_bytes = {name: size * part_bytes for name, size in held.items()}
    there_s, back_s = (_crossed_s(topology, home, far_bytes, outwards=outwards) for outwards in (True, False))
    return max(near_s, there_s) + max(near_s, back_s)


def _held(job: ModelJob) -> dict[str, int]:
    """Return the ranks of the job in each of its clusters."""
    held: dict[str, int] = {}
    for name, size in job.parts:
        held[name] = held.get(name, 0) + size
    return held


def _crossed_s(topology: Topology, home: str, far_bytes: Mapping[str, float], *, outwards: bool) -> float:
    """Return when the last of the bytes between `home` and each other cluster has arrived."""
    if not far_bytes:
        return 0.0
    link = topology.cluster(home).access_link
    shared_mbit = link.up_mbit if outwards else link.down_mbit
    pairs = {name: (home, name) if outwards else (name, home) for name in far_bytes}
    alone_s = max(
        topology.path(*pairs[name]).delay_s + size_bytes / rate_bytes_per_s(topology.path_rate_mbit(*pairs[name]))
        for name, size_bytes in far_bytes.items()
    )
    return max(alone_s, sum(far_bytes.values()) / rate_bytes_per_s(shared_mbit))
