"""Measure the network between the hosts of a testbed, through containers that run already.

The broker's container, on the central host, answers; a cluster's container on each other host asks, one host after
another. Both are on the control network, which no link of the testbed shapes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from emulator.containers.engine import ENGINE_ERRORS
from emulator.containers.hosts.engines import Client
from emulator.containers.progress import Observer, ProgressStep
from emulator.containers.state import TestbedState, note_underlays
from emulator.hosts.checks import LEAST_MTU
from emulator.model.errors import EngineUnavailable
from emulator.model.evidence import HOST_DELAY_TOLERANCE_S
from emulator.model.underlay import Exchange, Underlay, underlay_of
from emulator.model.units import MILLISECONDS_PER_SECOND, NANOSECONDS_PER_SECOND, rate_mbit

PROBE: Final = Path(__file__).with_name("underlay_probe.py")
PORT: Final = 20_999
"""The UDP and TCP port of the answering end."""

EXCHANGES: Final = 101
HOST_STREAM_S: Final = 0.3
HOST_IDLE_S: Final = 5.0
"""The answering end goes when nobody has asked for so long."""


def measure_underlay(client: Client, testbed: TestbedState, *, rates: bool = True) -> dict[str, Underlay]:
    """Return what lies between each other host that carries clusters and the central one; nothing on one host.

    Without `rates` only delays and clocks are measured, which takes half a second for each host.

    Raises:
        EngineUnavailable: if a host does not answer, or nothing comes through.
    """
    hosts = testbed.record.hosts
    if hosts is None:
        return {}
    asking = [each for each in hosts.hosts if each.clusters and each.host.name != hosts.central]
    if not asking:
        return {}
    served_at = [testbed.addresses.broker, str(PORT), f"{HOST_IDLE_S:g}"]
    _run(client, testbed.names.broker, ["serve", *served_at], detach=True)
    return {
        each.host.name: _measured(client, testbed, each.host.name, testbed.names.cluster(each.clusters[0]), rates=rates)
        for each in asking
    }


def has_other_delays(client: Client, testbed: TestbedState) -> bool:
    """Return whether a delay between hosts was never measured, or is now one that a check would call a fault.

    A link may cross the network to a host twice. Only delays are measured, which disturbs no job.

    Raises:
        EngineUnavailable: if a host does not answer, or nothing comes through.
    """
    if testbed.record.hosts is None:
        return False
    noted = testbed.record.hosts.underlays
    return any(
        host not in noted or 2 * abs(each.host_delay_s - noted[host].host_delay_s) > HOST_DELAY_TOLERANCE_S
        for host, each in measure_underlay(client, testbed, rates=False).items()
    )


def with_underlays(client: Client, testbed: TestbedState, observe: Observer) -> TestbedState:
    """Measure what lies between the hosts, note it in the testbed's record, and return the testbed with that.

    Raises:
        EngineUnavailable: if a host does not answer, or nothing comes through.
    """
    found = measure_underlay(client, testbed)
    for host, each in found.items():
        to_mbit, from_mbit = each.host_rate_to_central_mbit or 0.0, each.host_rate_from_central_mbit or 0.0
        rates = f"{to_mbit:.0f} and {from_mbit:.0f} Mbit/s"
        delay_ms = MILLISECONDS_PER_SECOND * each.host_delay_s
        jitter_ms = MILLISECONDS_PER_SECOND * each.host_jitter_s
        ahead_ms = MILLISECONDS_PER_SECOND * each.host_clock_ahead_s
        delays = f"{delay_ms:.2f} ms one way (jitter {jitter_ms:.2f} ms)"
        observe(ProgressStep("hosts", f"{host}: {delays}, {rates}, its clock {ahead_ms:+.1f} ms"))
    return note_underlays(testbed, found)


def _measured(client: Client, testbed: TestbedState, host: str, container: str, *, rates: bool) -> Underlay:
    stream_s = HOST_STREAM_S if rates else 0.0
    printed = _run(client, container, ["ask", testbed.addresses.broker, str(PORT), str(EXCHANGES), f"{stream_s:g}"])
    try:
        found = json.loads(printed)
        exchanges = [Exchange(*(stamp / NANOSECONDS_PER_SECOND for stamp in each)) for each in found["exchanges"]]
        to_central, from_central = found["to"], found["from"]
    except (ValueError, KeyError, TypeError) as error:
        said = printed.strip()[-200:]
        raise EngineUnavailable(f"The network to host {host!r} could not be measured: {said}") from error
    if not exchanges:
        raise EngineUnavailable(
            f"No datagram from host {host!r} comes back from the central host through the Swarm's network (open "
            "4789/udp between the hosts)."
        )
    if stalled := found.get("stalled"):
        raise EngineUnavailable(
            f"Datagrams from host {host!r} come back from the central host, but a stream stalls ({stalled}): the "
            f"network between them most likely loses large packets (set an MTU of {LEAST_MTU} or more at every host's "
            "interface and at the switch between them)."
        )
    return underlay_of(exchanges, _rate_mbit(*to_central), _rate_mbit(*from_central))


def _rate_mbit(carried_bytes: int, duration_ns: int) -> float | None:
    return rate_mbit(carried_bytes, duration_ns / NANOSECONDS_PER_SECOND) if duration_ns else None


def _run(client: Client, container: str, arguments: Sequence[str], *, detach: bool = False) -> str:
    command = ["python3", "-c", PROBE.read_text(encoding="utf-8"), *arguments]
    try:
        result = client.containers.get(container).exec_run(command, detach=detach)
    except ENGINE_ERRORS as error:
        raise EngineUnavailable(f"The network between the hosts cannot be measured in {container}: {error}.") from error
    if detach:
        return ""
    return str(result.output.decode(errors="replace"))
