"""The conditions under which a job executed, from the evidence of a run: arithmetic on rows.

Evidence is counted from look to look, and looks are taken when a job starts and when it ends. A job is judged on all
looks whose interval its execution overlaps. `processor_use` says who used the processors. A job is affected by the
containers of its own clusters, the router's and the broker's, by the links that it crossed, and by the hosts of all of
these. The first host is that on which the run's command, the router and the broker are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Final

from emulator.fidelity.processor_use import TimeInterval, processor_use
from emulator.model.evidence import (
    HOST_PART,
    NO_CLUSTERS,
    EvidenceRow,
    EvidenceSummary,
    HostSize,
    LinkFaultRow,
    concerns,
    host_part,
    is_whole_host,
)
from emulator.model.topology import Topology

NOWHERE: Final[Mapping[str, str]] = MappingProxyType({})
"""The hosts of clusters where all are on the first."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The behaviour of a host and the links in `host_duration_s`; None: not known, or not to be held against a job.

    `host` names a host other than the first, of which nothing is said of containers and links.

    Pressures are shares of that time in which some task waited. CPU shares are those of `ProcessorUse`.
    `throttled_share` belongs to the container `throttled_part`, which a quota held longest; `stopped_share` to
    `stopped_part`, which was stopped longest. `host_clock_step_s` is the largest step by which the wall clock was set.

    A job that `crosses` has messages over the wide area. The TCP `timeouts` of its clusters are unexplained if
    there are more of them than packets that full access links dropped, at any cluster. `datagram_share` is the
    number of UDP datagrams that left its clusters unanswered (no job sends any), per TCP segment. These,
    `retransmissions` and `unasked_drops` are None for a job in one cluster, or over paths with stated loss or
    jitter. `changed_links` names the crossed links that were programmed anew meanwhile.
    """

    host_duration_s: float
    testbed_cpu_share: float | None = None
    other_cpu_share: float | None = None
    contending_cpu_share: float | None = None
    stolen_cpu_share: float | None = None
    stolen_wanted_share: float | None = None
    cpu_pressure: float | None = None
    memory_pressure: float | None = None
    io_pressure: float | None = None
    throttled_share: float | None = None
    throttled_part: str = ""
    stopped_share: float | None = None
    stopped_part: str = ""
    least_memory_share: float | None = None
    swapped_pages: int | None = None
    killed_processes: int | None = None
    host_write_max_s: float | None = None
    host_clock_step_s: float | None = None
    retransmissions: int | None = None
    timeouts: int | None = None
    unexplained_timeouts: int | None = None
    datagram_share: float | None = None
    unasked_drops: int | None = None
    changed_links: tuple[str, ...] = ()
    crosses: bool = False
    host: str = ""


def conditions_of_job(
    rows: Sequence[EvidenceRow],
    faults: Sequence[LinkFaultRow],
    host: HostSize,
    topology: Topology,
    clusters: Collection[str],
    execution: TimeInterval | None = None,
    elsewhere: Mapping[str, str] = NOWHERE,
) -> Conditions | None:
    """Return the conditions of a job over `clusters`, from all looks that its `execution` overlaps; None without.

    Without an execution, all time that the rows cover counts as the job's. `elsewhere` names the host of each cluster
    that is not on the first.
    """
    crossed = [fault for fault in faults if concerns(fault.source, fault.target, clusters)]
    parts = {*NO_CLUSTERS, *clusters}
    crosses = len(set(clusters)) > 1
    exact = crosses and not _asks_for_loss(topology, clusters)
    exact_clusters = set(clusters) if exact else set[str]()
    found = _conditions(rows, crossed, host, lambda part: part in parts, exact_clusters, execution, elsewhere)
    if found is None:
        return None
    return replace(found, crosses=crosses, unexplained_timeouts=_unexplained(found.timeouts, faults))


def conditions_elsewhere(
    rows: Sequence[EvidenceRow], name: str, size: HostSize, elsewhere: Mapping[str, str], execution: TimeInterval
) -> Conditions | None:
    """Return the conditions of the host called `name`, other than the first, during `execution`; None without a look.

    `elsewhere` names the host of each cluster that is not on the first.
    """
    whole = [row.model_copy(update={"part": HOST_PART}) for row in rows if row.part == host_part(name)]
    parts = [row for row in rows if elsewhere.get(row.part) == name]
    found = _conditions([*whole, *parts], (), size, lambda part: False, (), execution)
    return None if found is None else replace(found, host=name)


def conditions_of_run(
    rows: Sequence[EvidenceRow],
    faults: Sequence[LinkFaultRow],
    host: HostSize,
    elsewhere: Mapping[str, str] = NOWHERE,
) -> Conditions | None:
    """Return the conditions of a whole run, over every part and link, and of the first host; None without a look."""
    clusters = {row.part for row in rows if not is_whole_host(row.part)} - NO_CLUSTERS
    return _conditions(rows, faults, host, lambda part: True, clusters, elsewhere=elsewhere)


def summary(conditions: Conditions | None, looks: int, missing: Iterable[str]) -> EvidenceSummary:
    """Return the conditions of a run as its manifest holds them."""
    if conditions is None:
        return EvidenceSummary(looks=looks, host_duration_s=0.0, missing=tuple(missing))
    named = EvidenceSummary.model_fields.keys() & set(Conditions.__dataclass_fields__)
    return EvidenceSummary.model_validate(
        {"looks": looks, "missing": tuple(missing), **{name: getattr(conditions, name) for name in named}}
    )


def _conditions(
    rows: Sequence[EvidenceRow],
    faults: Sequence[LinkFaultRow],
    host: HostSize,
    of_interest: Callable[[str], bool],
    exact_clusters: Collection[str],
    execution: TimeInterval | None = None,
    elsewhere: Mapping[str, str] = NOWHERE,
) -> Conditions | None:
    whole = [row for row in rows if row.part == HOST_PART]
    host_duration_s = sum(row.host_interval_s for row in whole)
    if host_duration_s <= 0:
        return None
    parts = [row for row in rows if not is_whole_host(row.part)]
    here = [*whole, *(row for row in parts if row.part not in elsewhere)]
    concerned = [row for row in parts if of_interest(row.part)]
    throttled_s, throttled_part = _most(concerned, "host_throttled_s")
    stopped_s, stopped_part = _most(concerned, "host_stopped_s")
    crossing = [row for row in parts if row.part in exact_clusters]
    timeouts = _count(crossing, "timeouts")
    memory_bytes = [row.memory_available_bytes for row in whole if row.memory_available_bytes is not None]
    return Conditions(
        host_duration_s=host_duration_s,
        **asdict(processor_use(here, host.processors, execution)),
        memory_pressure=_share(_sum(whole, "host_memory_wait_s"), host_duration_s),
        io_pressure=_share(_sum(whole, "host_io_wait_s"), host_duration_s),
        # A group is held back on each processor by itself; no group stands still for longer than the whole time.
        throttled_share=None if throttled_s is None else min(1.0, throttled_s / host_duration_s),
        throttled_part=throttled_part,
        stopped_share=_share(stopped_s, host_duration_s),
        stopped_part=stopped_part,
        least_memory_share=min(memory_bytes) / host.memory_bytes if memory_bytes else None,
        swapped_pages=_count(whole, "swapped_pages"),
        killed_processes=_count(whole, "killed_processes"),
        host_write_max_s=max((row.host_write_s for row in whole if row.host_write_s is not None), default=None),
        host_clock_step_s=max((row.host_clock_step_s or 0.0 for row in whole), key=abs, default=0.0),
        retransmissions=_count(crossing, "retransmissions"),
        timeouts=timeouts,
        unexplained_timeouts=_unexplained(timeouts, faults),
        datagram_share=_datagram_share(crossing),
        unasked_drops=sum(fault.unasked_drops or 0 for fault in faults) if exact_clusters else None,
        changed_links=tuple(dict.fromkeys(fault.changed for fault in faults if fault.changed)),
    )


def _unexplained(timeouts: int | None, faults: Iterable[LinkFaultRow]) -> int | None:
    """Return the TCP timeouts beyond the packets that full access links dropped: others are the emulated network's.

    A cluster's timeouts are those of all jobs there, so that the full link may be one that the job itself does not use.
    """
    if timeouts is None:
        return None
    dropped = sum(fault.dropped or 0 for fault in faults if (fault.source is None) != (fault.target is None))
    return max(0, timeouts - dropped)


def _datagram_share(rows: Sequence[EvidenceRow]) -> float | None:
    """Return the unanswered datagrams per TCP segment.

    These are datagrams sent less those received, for each part (a name server's answers come back).
    """
    unanswered = 0
    for part in {row.part for row in rows}:
        own = [row for row in rows if row.part == part]
        sent, received = _count(own, "datagrams_sent"), _count(own, "datagrams_received")
        if sent is None or received is None:
            return None
        unanswered += max(0, sent - received)
    return _share(unanswered, _sum(rows, "segments") or 0.0)


def _asks_for_loss(topology: Topology, clusters: Collection[str]) -> bool:
    """Return whether the topology states loss between `clusters`, or jitter, which reorders packets."""
    paths = [topology.path(a, b) for a, b in topology.ordered_pairs if a in clusters and b in clusters]
    return any(path.loss > 0 or path.jitter_s > 0 for path in paths)


def _most(rows: Sequence[EvidenceRow], column: str) -> tuple[float | None, str]:
    """Return the largest total of a column over the parts, and that part; None and "" if no row has the column."""
    totals: dict[str, float] = {}
    for row in rows:
        if (value := getattr(row, column)) is not None:
            totals[row.part] = totals.get(row.part, 0.0) + value
    part = max(totals, key=lambda name: totals[name], default="")
    return totals.get(part), part


def _sum(rows: Sequence[EvidenceRow], column: str) -> float | None:
    """Return the sum of a column; None if no row has it."""
    known = [value for row in rows if (value := getattr(row, column)) is not None]
    return sum(known) if known else None


def _count(rows: Sequence[EvidenceRow], column: str) -> int | None:
    total = _sum(rows, column)
    return None if total is None else int(total)


def _share(part: float | None, whole: float) -> float | None:
    return None if part is None or whole <= 0 else part / whole
