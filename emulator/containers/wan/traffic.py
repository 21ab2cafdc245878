"""Background traffic out of the clusters' containers, for as long as a context lasts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from emulator.containers.programs import Program
from emulator.containers.wan.handle import WanHandle
from emulator.model.clock import Dilation
from emulator.model.topology import Topology
from emulator.model.traffic import Flow
from emulator.model.units import rate_bytes_per_s

SENDER: Final = Path(__file__).with_name("sender.py")
HEADERS_BYTES: Final = 14 + 20
"""What Ethernet and IP add to a frame's payload."""


@dataclass(slots=True)
class TrafficLoad:
    """Background traffic that is under way; `missing_share` is what was not sent of it, once it has ended."""

    missing_share: float = 0.0
    _shares: list[float] = field(default_factory=list)

    def note(self, line: str | None) -> None:
        """Take note of what a sender printed as it ended; None if it ended too early."""
        self._shares.append(1.0 if line is None else _missing_share(**json.loads(line)))
        self.missing_share = max(self._shares)


@contextmanager
def carrying(handle: WanHandle, topology: Topology, flows: Sequence[Flow], dilation: Dilation) -> Iterator[TrafficLoad]:
    """Send `flows` at `dilation` inside the context.

    Raises:
        TestbedNotUp: if a cluster's container does not run.
    """
    load, programs = TrafficLoad(), list[Program]()
    plans = sender_plans(handle, topology, flows, dilation)
    try:
        for name, plan in plans.items():
            command = ["python3", "-c", SENDER.read_text(encoding="utf-8"), json.dumps(plan)]
            container = handle.cluster_containers[topology.index(name)]
            programs.append(Program(handle.client, container, command, partial(TrafficLoad.note, load)))
        yield load
    finally:
        for program in programs:
            program.end()
        for program in programs:
            if not program.close():
                load.note(None)


def sender_plans(
    handle: WanHandle, topology: Topology, flows: Sequence[Flow], dilation: Dilation
) -> dict[str, dict[str, Any]]:
    """Return what each cluster's sender is told, by cluster. Clusters that only receive keep a socket open, too."""

    def address(cluster: str) -> str:
        return handle.addresses.site_address(topology.index(cluster))

    def stream(flow: Flow) -> dict[str, Any]:
        router = handle.addresses.router(topology.index(flow.source))
        return {
            "peer": router if flow.target is None else address(flow.target),
            "frames_per_s": rate_bytes_per_s(dilation.host_rate_mbit(flow.rate_mbit)) / flow.frame_bytes,
            "payload_bytes": flow.frame_bytes - HEADERS_BYTES,
            "to_router": flow.target is None,
        }

    ends = {flow.source for flow in flows} | {flow.target for flow in flows}
    return {
        name: {"address": address(name), "streams": [stream(flow) for flow in flows if flow.source == name]}
        for name in topology.cluster_names
        if name in ends
    }


def _missing_share(due: int, sent: int) -> float:
    """Return the share of the frames due that were not sent.

    A single one is none: where few are due it would be much, and is chance.
    """
    missing = due - sent
    return missing / due if missing > 1 else 0.0
