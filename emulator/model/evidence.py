"""Evidence about the host and the links during a run, on which its verdict rests.

Evidence is sampled at intervals. Each sample has a row for the host and one for each part of the testbed
(`EvidenceRow`), and a row for each link fault (`LinkFaultRow`). A `LinkCheck` holds what a check of the wide area
before or after the run found. Values that a host does not offer are missing; the summary in the manifest names them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from emulator.model.documents import DocumentModel
from emulator.model.rows import Row
from emulator.model.underlay import Underlay

HOST_PART: Final = "host"
"""The part that is the whole machine. The other parts are the clusters, by name, and those below."""

_OTHER_HOST: Final = f"{HOST_PART}:"

ROUTER_PART: Final = "wan"
BROKER_PART: Final = "broker"
COMMAND_PART: Final = "command"
"""What works for the testbed outside of its containers: the command that runs it, and the engine's storage."""

NO_CLUSTERS: Final = frozenset({HOST_PART, ROUTER_PART, BROKER_PART, COMMAND_PART})


def host_part(host: str) -> str:
    """Return the part that is the whole of a host on which the run's command does not run."""
    return f"{_OTHER_HOST}{host}"


def is_whole_host(part: str) -> bool:
    """Return whether a part is a whole machine."""
    return part == HOST_PART or part.startswith(_OTHER_HOST)


@dataclass(frozen=True, slots=True)
class HostSize:
    """A host's processors (hardware threads) and memory."""

    processors: int
    memory_bytes: int


class EvidenceRow(Row):
    """A sample of one `part` over the interval of `host_interval_s` host seconds that ended at `time_s`.

    CPU is in host seconds of one processor: used, stolen by a hypervisor, and throttled by a quota. A container is
    stopped while it is paused, or after it has ended. Waits are host seconds in which some task waited for a processor,
    for memory, or for a disk (the kernel's pressure counters). `host_write_s` is the time a line of this file took to
    reach the disk, and `host_clock_step_s` is by how much the wall clock was set. Segments are TCP segments, all and
    those sent again; timeouts are TCP's retransmission timeouts. Datagrams are UDP datagrams, which no job sends. Bytes
    are those of frames that crossed a cluster's access link.
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
    host_clock_step_s: float | None = None
    segments: int | None = None
    retransmissions: int | None = None
    timeouts: int | None = None
    datagrams_sent: int | None = None
    datagrams_received: int | None = None
    sent_bytes: int | None = None
    received_bytes: int | None = None


class LinkFaultRow(Row):
    """A fault of a link in the interval of `host_interval_s` host seconds that ended at `time_s`.

    An uplink has only a `source`, a downlink only a `target`, and the wide area between two clusters has both.
    `changed` says how the link's program differs from that at the run's start. `unasked_drops` are the `dropped` of its
    `packets` minus those that the requested loss explains. Drops at a full queue of an access link are not faults.
    """

    time_s: float
    host_interval_s: float
    source: str | None = None
    target: str | None = None
    changed: str = ""
    packets: int | None = None
    dropped: int | None = None
    unasked_drops: int | None = None


RELATIVE_TOLERANCE: Final = 0.03
"""By which share of it a delay or a rate of a link may differ from what it should be, and is no fault."""

HOST_DELAY_TOLERANCE_S: Final = 0.00025
"""By how much a delay may differ on the host, however short it is."""


@dataclass(frozen=True, slots=True)
class LinkFault:
    """A value outside its tolerance that a check of the wide area found, and its relative error.

    The fault is on the path from `source` to `target`. If only one is given, it is on that cluster's access link; if
    neither is given, its place is unknown.
    """

    what: str
    error: float
    source: str | None = None
    target: str | None = None

    def concerns(self, clusters: Collection[str]) -> bool:
        """Return whether a job over `clusters` sends messages over the faulty link."""
        return concerns(self.source, self.target, clusters)


def concerns(source: str | None, target: str | None, clusters: Collection[str]) -> bool:
    """Return whether a job over `clusters` crosses the link from `source` to `target`, or the access link of one."""
    return len(set(clusters)) > 1 and all(end in clusters for end in (source, target) if end is not None)


@dataclass(frozen=True, slots=True)
class LinkCheck:
    """A check of the wide area: when it was made, and the values that it found outside their tolerance.

    `carried` is False if the router could not carry full links at the dilation in force. `underlays` is what was
    measured between each other host and the central one; nothing on one host.
    """

    moment: str
    faults: tuple[LinkFault, ...] = ()
    carried: bool = True
    underlays: Mapping[str, Underlay] = field(default_factory=dict)

    def worst(self, clusters: Collection[str] | None = None) -> LinkFault | None:
        """Return the fault with the largest error; with `clusters`, only of those that concern a job over them."""
        faults = [fault for fault in self.faults if clusters is None or fault.concerns(clusters)]
        return max(faults, key=lambda fault: fault.error, default=None)


class EvidenceSummary(DocumentModel):
    """A summary of all evidence of a run, as shares of the observed time, of the processors or of the memory.

    What it says of processors and memory is of the host on which the run's command was.

    `testbed_cpu_share` is the share of all processors that the testbed used (its containers, and the command that ran
    it), `other_cpu_share` the share that everything else used, and `stolen_cpu_share` the share that a hypervisor took.
    `stolen_wanted_share` is the stolen time as a share of the CPU time that was wanted. `unexplained_timeouts` are the
    timeouts in excess of the packets that access links dropped. `datagram_share` is the number of unanswered UDP
    datagrams that left a cluster, per TCP segment. `missing` names, in a phrase each, the values that this
    host does not offer.
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
