"""What is programmed now, read back from tc and compared with a topology: so that tampering does not stay unnoticed.

The dilation is not stored anywhere: it follows from the rate of the first access link, and everything else must agree
with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from emulator.containers.addresses import AddressPlan
from emulator.containers.wan.program import DelayLine, EdgeProgram, Shaper, wide_area_program
from emulator.model.clock import Dilation
from emulator.model.topology import Topology
from emulator.model.units import rate_bytes_per_s, rate_mbit

RELATIVE_ERROR: Final = 0.01
"""tc prints rounded values: what differs by less is the same."""

HOST_ERROR_S: Final = 5e-6

Queue = Mapping[str, Any]


def dilation_of(
    topology: Topology,
    edges: Sequence[Iterable[Queue]],
    router: Iterable[Queue],
    addresses: AddressPlan,
    *,
    shared: bool = True,
) -> tuple[Dilation | None, list[str]]:
    """The dilation that the queues of the clusters (in order) and of the router were programmed for.

    Returns it with every difference from that program, one phrase each; without a dilation if the first access link has
    no rate, or one that is not `shared` as it should be. Differences mean that somebody else changed the wide area, or
    that it was never programmed as a whole.
    """
    listed = [list(queues) for queues in edges]
    dilation = _dilation_of_first(topology, listed[0], shared) if listed else None
    if dilation is None:
        return None, [f"the access link of {topology.cluster_names[0]} has no rate"]
    program = wide_area_program(topology, dilation, addresses, shared=shared)
    differences = [
        difference
        for edge, queues in zip(program.edges, listed, strict=True)
        for difference in _edge_differences(edge, queues)
    ]
    programmed = list(router)
    differences += [
        difference for line in program.router.lines for difference in _line_differences(topology, line, programmed)
    ]
    return dilation, differences


def _dilation_of_first(topology: Topology, queues: Sequence[Queue], shared: bool) -> Dilation | None:
    rate = _uplink_rate_bytes_per_s(queues, shared)
    if not rate:
        return None
    factor = topology.clusters[0].access_link.up_mbit / rate_mbit(rate, 1.0)
    # Rates are programmed in whole bits per second, so that a factor comes back with a little noise.
    return Dilation(round(factor, 4) or factor)


def _edge_differences(edge: EdgeProgram, queues: Sequence[Queue]) -> list[str]:
    differences = []
    for direction, shaper, rate in (
        ("up", edge.up, _uplink_rate_bytes_per_s(queues, edge.shared)),
        ("down", edge.down, _downlink_rate_bytes_per_s(queues, edge.shared)),
    ):
        if not _rate_agrees(shaper, rate):
            shown = f"{rate_mbit(rate, 1.0):g} Mbit/s" if rate else "no rate"
            differences.append(
                f"{edge.cluster} {direction}: {shown} on the host instead of {shaper.host_rate_mbit:g} Mbit/s"
            )
    return differences


def _line_differences(topology: Topology, line: DelayLine, queues: Sequence[Queue]) -> list[str]:
    names = topology.cluster_names
    path = f"{names[line.source_index]} to {names[line.target_index]}"
    band = line.source_index + 1 - (line.source_index > line.target_index)
    found = [
        queue["options"]
        for queue in queues
        if queue.get("kind") == "netem"
        and queue.get("dev") == f"site{line.target_index}"
        and queue.get("parent") == f"1:{band:x}"
    ]
    if not found:
        return [f"{path}: no delay line"]
    options = found[0]
    delay = options.get("delay", {})
    values = (
        ("delay", "s", line.host_delay_s, float(delay.get("delay", 0.0)), HOST_ERROR_S),
        ("jitter", "s", line.host_jitter_s, float(delay.get("jitter", 0.0)), HOST_ERROR_S),
        ("loss", "", line.loss, float(options.get("loss-random", {}).get("loss", 0.0)), 1e-6),
    )
    return [
        f"{path}: {name} {is_now:g}{unit} on the host instead of {asked:g}{unit}"
        for name, unit, asked, is_now, error in values
        if abs(is_now - asked) > max(RELATIVE_ERROR * asked, error)
    ] + ([] if int(options.get("limit", 0)) == line.queue_packets else [f"{path}: the queue's limit differs"])


def _uplink_rate_bytes_per_s(queues: Sequence[Queue], shared: bool) -> float:
    return _rate_bytes_per_s([queue for queue in queues if queue.get("dev") != "ifb0"], shared)


def _downlink_rate_bytes_per_s(queues: Sequence[Queue], shared: bool) -> float:
    # Without the ingress hook nothing that arrives is shaped, whatever the ifb says.
    if not any(queue.get("kind") == "ingress" for queue in queues):
        return 0.0
    return _rate_bytes_per_s([queue for queue in queues if queue.get("dev") == "ifb0"], shared)


def _rate_bytes_per_s(queues: Sequence[Queue], shared: bool) -> float:
    kind = "tbf" if shared else "htb"
    return next((float(queue["options"]["rate"]) for queue in queues if queue.get("kind") == kind), 0.0)


def _rate_agrees(shaper: Shaper, rate: float) -> bool:
    asked = rate_bytes_per_s(shaper.host_rate_mbit)
    return abs(rate - asked) <= RELATIVE_ERROR * asked
