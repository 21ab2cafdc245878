"""Streams of packets between clusters, and the probes in the clusters that send and receive them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from emulator.containers.wan.handle import WanHandle
from emulator.model.errors import WideAreaUnfaithful

PROBE: Final = Path(__file__).with_name("probe.py")
HOST_START_S: Final = 0.4
"""Host seconds that the probes get to start; doubled each time one of them was too late."""

START_ATTEMPTS: Final = 5
HEADERS_BYTES: Final = 14 + 20 + 8
"""What Ethernet, IP and UDP add to a packet's payload."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Evenly spaced frames from one cluster to another (by index), between two host timestamps of a schedule.

    Rates are counted from `host_settle_s` after the beginning on.
    """

    source_index: int
    target_index: int
    host_begin_s: float
    host_end_s: float
    frame_bytes: int
    frames_per_host_s: float
    host_settle_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Arrival:
    """The outcome of a stream: frames sent and received, median delays (of all, once settled), and the settled rate.

    `settled_bytes` arrived once settled, the first and the last of them at `host_settled_ns`, which is empty without.
    """

    sent: int
    received: int
    host_delay_s: float | None
    host_settled_delay_s: float | None
    host_rate_mbit: float
    frame_bytes: int = 0
    settled_bytes: int = 0
    host_settled_ns: tuple[int, ...] = ()


def host_rate_together_mbit(arrivals: Sequence[Arrival]) -> float:
    """Return the rate of streams into one link, counted from the first of their settled frames to the last of any.

    This is not the sum of their rates. A full queue may for a while drop evenly spaced frames of one stream only, and
    the rate of that stream then describes only the time in which its frames passed.
    """
    timestamps_ns = [timestamp_ns for arrival in arrivals for timestamp_ns in arrival.host_settled_ns]
    if len(timestamps_ns) < 2:
        return 0.0
    passed_bytes = sum(arrival.settled_bytes for arrival in arrivals) - arrivals[0].frame_bytes
    return passed_bytes * 8e3 / max(1, max(timestamps_ns) - min(timestamps_ns))


def carry_out(handle: WanHandle, streams: Sequence[Stream], host_drain_s: float) -> list[Arrival]:
    """Send all streams, and wait `host_drain_s` after the last for late packets; return one result per stream.

    Raises:
        TestbedNotUp: if a cluster's container does not run.
        WideAreaUnfaithful: if a probe fails, or the host is too busy to start them together.
    """
    host_start_s = HOST_START_S
    for _ in range(START_ATTEMPTS):
        outcomes = _attempt(handle, streams, host_drain_s, host_start_s)
        if not any(outcome["late"] for outcome in outcomes):
            return [_arrival(handle, identity, stream, outcomes) for identity, stream in enumerate(streams)]
        host_start_s *= 2
    raise WideAreaUnfaithful(
        f"The wide area cannot be measured: this host takes more than {host_start_s / 2:.0f} s to start a probe "
        "in each cluster (let other work on it end)."
    )


def probe_plans(
    handle: WanHandle, streams: Sequence[Stream], host_start_s: float, host_drain_s: float
) -> list[dict[str, Any]]:
    """Return each cluster's schedule, in the topology's order.

    `host_start_s` is a timestamp of this host's clock; a schedule states it by the clock of its cluster.
    """
    until_s = max(stream.host_end_s for stream in streams) + host_drain_s
    sites = [handle.addresses.site_address(index) for index in range(len(handle.cluster_containers))]
    plans: list[dict[str, Any]] = [
        {
            "address": address,
            "start_s": host_start_s + handle.host_clock_ahead_s(index),
            "until_s": until_s,
            "streams": [],
        }
        for index, address in enumerate(sites)
    ]
    for identity, stream in enumerate(streams):
        description = {
            "id": identity,
            "peer": sites[stream.target_index],
            "begin_s": stream.host_begin_s,
            "end_s": stream.host_end_s,
            "payload_bytes": stream.frame_bytes - HEADERS_BYTES,
            "rate_per_s": stream.frames_per_host_s,
            "settle_s": stream.host_settle_s,
        }
        plans[stream.source_index]["streams"].append({**description, "role": "send"})
        plans[stream.target_index]["streams"].append({**description, "role": "receive"})
    return plans


def _attempt(
    handle: WanHandle, streams: Sequence[Stream], host_drain_s: float, host_start_s: float
) -> list[dict[str, Any]]:
    # The source goes along as an argument, so that the probe is never older than what reads its results.
    source = PROBE.read_text(encoding="utf-8")
    plans = probe_plans(handle, streams, time.time() + host_start_s, host_drain_s)

    def run(container: str, plan: dict[str, Any]) -> dict[str, Any]:
        output = handle.execute(container, ["python3", "-c", source, json.dumps(plan)])
        # Docker sometimes loses all output of a command: treated as a probe that started too late.
        result: dict[str, Any] = json.loads(output) if output.strip() else {"late": True}
        return result

    with ThreadPoolExecutor(max_workers=len(plans)) as pool:
        return list(pool.map(run, handle.cluster_containers, plans))


def _arrival(handle: WanHandle, identity: int, stream: Stream, outcomes: Sequence[dict[str, Any]]) -> Arrival:
    ahead_s = handle.host_clock_ahead_s(stream.target_index) - handle.host_clock_ahead_s(stream.source_index)
    sent = outcomes[stream.source_index]["sent"][str(identity)]
    received = outcomes[stream.target_index]["received"][str(identity)]
    return Arrival(
        sent=sent["sent"] - sent["refused"],
        received=received["received"],
        host_delay_s=_by_one_clock_s(received["delay_s"], ahead_s),
        host_settled_delay_s=_by_one_clock_s(received["window_delay_s"], ahead_s),
        host_rate_mbit=received["rate_mbit"],
        frame_bytes=stream.frame_bytes,
        settled_bytes=received["window_bytes"],
        host_settled_ns=tuple(received["window_ns"]),
    )


def _by_one_clock_s(host_delay_s: float | None, ahead_s: float) -> float | None:
    """Return a delay, if there is one, without what the receiver's clock is ahead of the sender's."""
    return None if host_delay_s is None else host_delay_s - ahead_s
