"""Links as tc reports them: their program, and the packets that they passed on and dropped. Pure.

In a cluster's container an uplink is the queue of the interface towards the router, a downlink that of the ifb; in the
router the way from one cluster to another is a delay line (netem). `tc monitor` reports every change as it is made, so
that a change that was undone between two readings is known, too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from emulator.model.evidence import LinkFaultRow

DOWNLINK_DEVICE: Final = "ifb0"
DEVIATIONS: Final = 4.0
"""Drops are unexplained beyond this many standard deviations above the loss asked for."""

_UNSHAPED: Final = ("noqueue", "ingress", "clsact")
_COUNTED: Final = ("direct_packets_stat",)
"""Mere counters that tc lists among a queue's options: packets that htb passed without a class."""

Queue = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LinkCount:
    """One link: an uplink (`source` alone), a downlink (`target` alone), or the way between two clusters.

    `program` is how it is programmed, value by value; `packets` and `dropped` count since it was, packets passed on and
    packets dropped; `loss` is the share that it is programmed to lose. `changes` are those of its program since
    watching began, as tc prints them.
    """

    source: str | None
    target: str | None
    program: Mapping[str, str]
    packets: int
    dropped: int
    loss: float = 0.0
    changes: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The link in words."""
        if self.source is not None and self.target is not None:
            return f"{self.source} to {self.target}"
        return f"{self.source} up" if self.source is not None else f"{self.target} down"

    @property
    def key(self) -> tuple[str | None, str | None]:
        """The key that identifies the link."""
        return self.source, self.target

    def changed_since(self, before: LinkCount, first: LinkCount) -> str:
        """Describe how its program changed since `before`, or else differs from `first`; empty if neither."""
        if len(self.changes) > len(before.changes):
            return f"{self.shown}: {', '.join(dict.fromkeys(self.changes[len(before.changes) :]))}"
        names = sorted(set(first.program) | set(self.program))
        changes = [
            f"{name} {first.program.get(name, 'none')} to {self.program.get(name, 'none')}"
            for name in names
            if first.program.get(name) != self.program.get(name)
        ]
        return f"{self.shown}: {', '.join(changes)}" if changes else ""

    def fault_since(
        self, before: LinkCount, first: LinkCount, time_s: float, host_interval_s: float
    ) -> LinkFaultRow | None:
        """Return what was wrong with the link between two readings, the later one at `time_s`; None if nothing was.

        A delay line's drops are compared with the loss programmed at `first`. Drops of an access link's full queue
        belong to the link, and TCP's reaction to them dilates, unless TCP times out.
        """
        dropped, packets = _since(before.dropped, self.dropped), _since(before.packets, self.packets)
        offered = packets + dropped
        explained = offered * first.loss + DEVIATIONS * math.sqrt(offered * first.loss * (1 - first.loss))
        is_delay_line = self.source is not None and self.target is not None
        unexplained, changed = max(0, dropped - math.ceil(explained)), self.changed_since(before, first)
        if not unexplained and not changed:
            return None
        return LinkFaultRow(
            time_s=time_s,
            host_interval_s=host_interval_s,
            source=self.source,
            target=self.target,
            changed=changed,
            packets=packets,
            dropped=dropped,
            unasked_drops=unexplained if is_delay_line else 0,
        )


def _since(before: int, after: int) -> int:
    # A queue that was made anew counts from nothing.
    return after - before if after >= before else after


def edge_links(cluster: str, queues: Sequence[Queue], changes: Sequence[str] = ()) -> list[LinkCount]:
    """Return a cluster's uplink and downlink from its container's queues and the changes made there."""
    devices = {str(queue["dev"]) for queue in queues if queue.get("kind") not in _UNSHAPED}
    hooked = any(queue.get("kind") == "ingress" for queue in queues)
    up = [queue for queue in queues if queue.get("dev") in devices - {DOWNLINK_DEVICE}]
    down = [queue for queue in queues if queue.get("dev") == DOWNLINK_DEVICE]
    on_downlink = tuple(change for change in changes if _device(change) == DOWNLINK_DEVICE)
    on_uplink = tuple(change for change in changes if change not in on_downlink)
    return [
        _link(cluster, None, up, {}, on_uplink),
        _link(None, cluster, down, {"hook": "ingress" if hooked else "none"}, on_downlink),
    ]


def delay_links(clusters: Sequence[str], queues: Sequence[Queue], changes: Sequence[str] = ()) -> list[LinkCount]:
    """Return the path between each ordered pair of clusters from the router's queues and the changes made there."""
    found: list[LinkCount] = []
    for target_index, target in enumerate(clusters):
        for source_index, source in enumerate(clusters):
            device, parent = f"site{target_index}", f"1:{source_index + 1 - (source_index > target_index):x}"
            if source != target:
                lines = [queue for queue in queues if _is_line(queue, device, parent)]
                made = tuple(change for change in changes if _may_be_of(change, device, parent))
                found.append(_link(source, target, lines, {}, made))
    return found


def parsed_queues(answer: str) -> list[Queue] | None:
    """Parse the output of ``tc -s -j qdisc show``; None if it is invalid."""
    try:
        queues = json.loads(answer)
    except ValueError:
        return None
    return [queue for queue in queues if isinstance(queue, dict)]


def _is_line(queue: Queue, device: str, parent: str) -> bool:
    return queue.get("kind") == "netem" and queue.get("dev") == device and queue.get("parent") == parent


def _device(change: str) -> str | None:
    """Return the device that a line of ``tc monitor`` is about."""
    words = change.split()
    return words[words.index("dev") + 1] if "dev" in words[:-1] else None


def _may_be_of(change: str, device: str, parent: str) -> bool:
    """Return whether a change concerns a delay line: it names the line, the device's other parts, or no device."""
    words = change.split()
    its_line = parent in words or "netem" not in words
    return _device(change) in (None, device) and its_line


def _link(
    source: str | None, target: str | None, queues: Sequence[Queue], more: Mapping[str, str], changes: tuple[str, ...]
) -> LinkCount:
    """Return the link made of `queues`; the root queue among them counts all that passes."""
    counting = next((queue for queue in queues if queue.get("root")), queues[0] if queues else {})
    program = dict(more)
    for queue in queues:
        options = {key: value for key, value in queue.get("options", {}).items() if key not in _COUNTED}
        program |= dict(_flat(str(queue["kind"]), options))
    return LinkCount(
        source,
        target,
        program,
        int(counting.get("packets", 0)),
        int(counting.get("drops", 0)),
        float(counting.get("options", {}).get("loss-random", {}).get("loss", 0.0)),
        changes,
    )


def _flat(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(name if key == name.split()[-1] else f"{name} {key}", inner)
    else:
        yield name, str(value)
