"""What is seen of the host and of the links while a run lasts, as it is written: on this a verdict rests.

The evidence of a run is counted from one look to the next: a row for the host and one for each part of the testbed
(`EvidenceRow`), and a row for whatever was wrong with a link (`LinkFaultRow`). What a check of the wide area before or
after the run finds is a `LinkCheck`. What cannot be had on a host is missing, and the summary in the manifest names it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from emulator.model.documents import DocumentModel
from emulator.model.rows import Row

HOST_PART: Final = "host"
"""The part that is the whole machine; the others are the clusters, by their names, the router and the broker."""

ROUTER_PART: Final = "wan"
BROKER_PART: Final = "broker"


class EvidenceRow(Row):
    """What `part` did, or what was done to it, in the host seconds `host_interval_s` that ended at `time_s`.

    CPU is in host seconds of one processor: used, stolen by a hypervisor, and throttled by a quota. A container is
    stopped while it is paused, or has ended. Waits are host seconds in which some task waited for a processor, for
    memory, or for a disk (the kernel's pressure counters). `host_write_s` is how long a line of this file took to reach
    the disk. Segments are TCP's, all and those sent again; timeouts are its own, after which it sends a segment again.
    Datagrams are UDP's, which no job sends.
    """

    time_s: float
    host_interval_s: float
    part: str
    host_cpu_s: float | None = None
    host_stolen_s: float | None = None
    host_throttled_s: float | None = None
    host_stopped_s: float | None = None
    host_cpu_wait_s: float | None = None
    host_memory_wait_s: float | None = None
    host_io_wait_s: float | None = None
    memory_available_bytes: int | None = None
    swapped_pages: int | None = None
    killed_processes: int | None = None
    host_write_s: float | None = None
    segments: int | None = None
    retransmissions: int | None = None
    timeouts: int | None = None
    datagrams_sent: int | None = None
    datagrams_received: int | None = None


class LinkFaultRow(Row):
    """What was wrong with a link in the host seconds `host_interval_s` that ended at `time_s`.

    An uplink has a `source` only, a downlink a `target` only, the wide area from one cluster to another both. `changed`
    says how its program differs from that at the run's start; `unasked_drops` are the `dropped` of its `packets` less
    those that the loss asked for explains; what a full queue of an access link drops was asked for with the link.
    """

    time_s: float
    host_interval_s: float
    source: str | None = None
    target: str | None = None
    changed: str = ""
    packets: int | None = None
    dropped: int | None = None
    unasked_drops: int | None = None


@dataclass(frozen=True, slots=True)
class LinkFault:
    """Something outside its tolerance that a check of the wide area found, and its relative error.

    It lies on the way from `source` to `target`, on the access link of the one that is given, or nobody knows where.
    """

    what: str
    error: float
    source: str | None = None
    target: str | None = None

    def concerns(self, clusters: Collection[str]) -> bool:
        """Whether a job over `clusters` sends messages over what is wrong."""
        return concerns(self.source, self.target, clusters)


def concerns(source: str | None, target: str | None, clusters: Collection[str]) -> bool:
    """Whether a job over `clusters` crosses the link from `source` to `target`, or the one end's that is given."""
    return len(set(clusters)) > 1 and all(end in clusters for end in (source, target) if end is not None)


@dataclass(frozen=True, slots=True)
class LinkCheck:
    """A check of the wide area: when it was made, and what it found outside its tolerance.

    `carried` is False if the router could not carry full links at the dilation in force.
    """

    moment: str
    faults: tuple[LinkFault, ...] = ()
    carried: bool = True

    def worst(self, clusters: Collection[str] | None = None) -> LinkFault | None:
        """The fault with the largest error, of those that concern a job over `clusters` if any are given."""
        faults = [fault for fault in self.faults if clusters is None or fault.concerns(clusters)]
        return max(faults, key=lambda fault: fault.error, default=None)


class EvidenceSummary(DocumentModel):
    """All evidence of a run in one: shares of the time looked at, of the host's processors or of its memory.

    `testbed_cpu_share` is what the testbed's containers used of all processors, `other_cpu_share` what everything else
    did, `stolen_cpu_share` what a hypervisor kept of them, and `stolen_wanted_share` that of the CPU time wanted.
    `unexplained_timeouts` are the timeouts beyond what access links dropped, `datagram_share` the datagrams of UDP that
    left a cluster and were not answered, per segment of TCP. `missing` says in a phrase each what this host does not
    tell.
    """

    looks: int
    host_duration_s: float
    missing: tuple[str, ...] = ()
    testbed_cpu_share: float | None = None
    other_cpu_share: float | None = None
    stolen_cpu_share: float | None = None
    stolen_wanted_share: float | None = None
    cpu_pressure: float | None = None
    memory_pressure: float | None = None
    io_pressure: float | None = None
    throttled_share: float | None = None
    stopped_share: float | None = None
    least_memory_share: float | None = None
    host_write_max_s: float | None = None
    retransmissions: int | None = None
    timeouts: int | None = None
    unexplained_timeouts: int | None = None
    datagram_share: float | None = None
    unasked_drops: int | None = None
    changed_links: tuple[str, ...] = ()
