"""The program read back from tc and compared with a topology, so that tampering is noticed.

The dilation is not stored anywhere: it follows from the rate of the first access link (of the first delay line, where
connections have their own), and everything else must agree with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from emulator.containers.addresses import AddressPlan
from emulator.containers.wan.commands import band_of, connections_handle
from emulator.containers.wan.program import DelayLine, EdgeProgram, wide_area_program
from emulator.containers.wan.unshared import CONNECTIONS
from emulator.model.clock import Dilation
from emulator.model.errors import WideAreaUnfaithful
from emulator.model.topology import Topology
from emulator.model.units import rate_bytes_per_s, rate_mbit

RELATIVE_ERROR: Final = 0.01
"""tc prints rounded values: smaller differences do not count."""

HOST_ERROR_S: Final = 5e-6

Queue = Mapping[str, Any]


def dilation_of(
    topology: Topology,
    edges: Sequence[Iterable[Queue]],
    router: Iterable[Queue],
    addresses: AddressPlan,
    *,
    host_underlay_s: Sequence[float] = (),
    shared: bool = True,
) -> tuple[Dilation | None, list[str]]:
    """Return the dilation that the queues of the clusters (in order) and of the router were programmed for.

    Returns it with every difference from that program, one phrase each; without a dilation if the first access link has
    no rate, or one that is not `shared` as it should be. Differences mean that somebody else changed the wide area, or
    that it was never programmed as a whole.
    """
    listed, programmed = [list(queues) for queues in edges], list(router)
    dilation = _dilation_of_first_link(topology, listed[0]) if shared else _dilation_of_first_line(topology, programmed)
    if dilation is None:
        return None, [f"the access link of {topology.cluster_names[0]} has no rate"]
    try:
        program = wide_area_program(topology, dilation, addresses, host_underlay_s=host_underlay_s, shared=shared)
    except WideAreaUnfaithful as error:
        return dilation, [str(error).rstrip(".")]
    differences = [
        difference
        for edge, queues in zip(program.edges, listed, strict=True)
        for difference in _edge_differences(edge, queues)
    ]
    differences += [
        difference
        for line in program.router.lines
        for difference in _line_differences(topology, line, programmed, shared=shared)
    ]
    return dilation, differences


def _dilation_of_first_link(topology: Topology, queues: Sequence[Queue]) -> Dilation | None:
    return _dilation_of(topology.clusters[0].access_link.up_mbit, _uplink_rate_bytes_per_s(queues))


def _dilation_of_first_line(topology: Topology, queues: Sequence[Queue]) -> Dilation | None:
    source, target = topology.cluster_names[1], topology.cluster_names[0]
    return _dilation_of(topology.path_rate_mbit(source, target), _rate_of_connections(queues, "site0", 1))


def _dilation_of(asked_mbit: float, rate_bytes_s: float) -> Dilation | None:
    if not rate_bytes_s:
        return None
    factor = asked_mbit / rate_mbit(rate_bytes_s, 1.0)
    # Rates are programmed in whole bits per second, so that a factor comes back with a little noise.
    return Dilation(round(factor, 4) or factor)


def _edge_differences(edge: EdgeProgram, queues: Sequence[Queue]) -> list[str]:
    differences = []
    for direction, shaper, rate in (
        ("up", edge.up, _uplink_rate_bytes_per_s(queues)),
        ("down", edge.down, _downlink_rate_bytes_per_s(queues)),
    ):
        if not edge.shared and rate:
            differences.append(f"{edge.cluster} {direction}: shared, though connections have their own")
        elif edge.shared and not _agrees(rate, shaper.host_rate_mbit):
            shown = f"{rate_mbit(rate, 1.0):g} Mbit/s" if rate else "no rate"
            differences.append(
                f"{edge.cluster} {direction}: {shown} on the host instead of {shaper.host_rate_mbit:g} Mbit/s"
            )
    return differences


def _line_differences(topology: Topology, line: DelayLine, queues: Sequence[Queue], *, shared: bool) -> list[str]:
    names = topology.cluster_names
    path = f"{names[line.source_index]} to {names[line.target_index]}"
    band, device = band_of(line), f"site{line.target_index}"
    found = [queue["options"] for queue in queues if _is_line(queue, device) and queue["parent"] == f"1:{band:x}"]
    if not found:
        return [f"{path}: no delay line"]
    options = found[0]
    rate = _rate(options) if shared else _rate_of_connections(queues, device, band)
    delay = options.get("delay", {})
    values = (
        ("delay", "s", line.host_delay_s, float(delay.get("delay", 0.0)), HOST_ERROR_S),
        ("jitter", "s", line.host_jitter_s, float(delay.get("jitter", 0.0)), HOST_ERROR_S),
        ("loss", "", line.loss, float(options.get("loss-random", {}).get("loss", 0.0)), 1e-6),
    )
    return [
        f"{path}: {name} {is_now:g}{unit} on the host instead of {expected:g}{unit}"
        for name, unit, expected, is_now, error in values
        if abs(is_now - expected) > max(RELATIVE_ERROR * expected, error)
    ] + [
        f"{path}: {what}"
        for what, matches in (
            ("the queue's limit differs", int(options.get("limit", 0)) == line.queue_packets),
            ("the rate of transmission differs", _agrees(rate, line.host_rate_mbit)),
        )
        if not matches
    ]


def _is_line(queue: Queue, device: str) -> bool:
    return queue.get("kind") == "netem" and queue.get("dev") == device and "parent" in queue


def _rate_of_connections(queues: Sequence[Queue], device: str, band: int) -> float:
    """Return the rate that all connections of a band have; 0 if one is missing or differs."""
    parent = f"{connections_handle(band):x}:"
    rates = [
        _rate(queue["options"]) for queue in queues if _is_line(queue, device) and queue["parent"].startswith(parent)
    ]
    return rates[0] if len(rates) == CONNECTIONS and len(set(rates)) == 1 else 0.0


def _rate(options: Mapping[str, Any]) -> float:
    return float(options.get("rate", {}).get("rate", 0.0))


def _uplink_rate_bytes_per_s(queues: Sequence[Queue]) -> float:
    return _rate_bytes_per_s([queue for queue in queues if queue.get("dev") != "ifb0"])


def _downlink_rate_bytes_per_s(queues: Sequence[Queue]) -> float:
    # Without the ingress hook no arriving traffic is shaped, even if the ifb has a rate.
    if not any(queue.get("kind") == "ingress" for queue in queues):
        return 0.0
    return _rate_bytes_per_s([queue for queue in queues if queue.get("dev") == "ifb0"])


def _rate_bytes_per_s(queues: Sequence[Queue]) -> float:
    return next((float(queue["options"]["rate"]) for queue in queues if queue.get("kind") == "tbf"), 0.0)


def _agrees(rate_bytes_s: float, host_rate_mbit: float) -> bool:
    expected = rate_bytes_per_s(host_rate_mbit)
    return abs(rate_bytes_s - expected) <= RELATIVE_ERROR * expected
