"""The use of the host's processors while a job executed, by the testbed, other work and a hypervisor.

A job's execution begins and ends between looks. The counts of a look before or after it come from starting and
releasing the job, work of the container engine and the testbed. So each look counts by the share of its interval that
the execution covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from emulator.fidelity.thresholds import CONTENDED
from emulator.model.clock import Dilation
from emulator.model.evidence import COMMAND_PART, HOST_PART, EvidenceRow


@dataclass(frozen=True, slots=True)
class TimeInterval:
    """The time between two emulated timestamps of a run."""

    began_s: float
    ended_s: float
    dilation: Dilation

    def covers(self, time_s: float, host_interval_s: float) -> float:
        """Return the share of a look's interval, which ended at `time_s`, that lies within this interval."""
        interval_s = self.dilation.emulated_duration_s(host_interval_s)
        if interval_s <= 0:
            return 0.0
        within_s = min(self.ended_s, time_s) - max(self.began_s, time_s - interval_s)
        return min(1.0, max(0.0, within_s / interval_s))


@dataclass(frozen=True, slots=True)
class ProcessorUse:
    """Shares of all processors, and the share of time `cpu_pressure` in which some task waited; None: not known.

    `contending_cpu_share` is the part of `other_cpu_share` used at looks at which tasks waited for a processor.
    `stolen_wanted_share` is the hypervisor's share of the CPU time that this host asked for.
    """

    testbed_cpu_share: float | None
    other_cpu_share: float | None
    contending_cpu_share: float | None
    stolen_cpu_share: float | None
    stolen_wanted_share: float | None
    cpu_pressure: float | None


@dataclass(frozen=True, slots=True)
class _Look:
    """The counts of one look, in host seconds; `weight` is the share of the look that counts."""

    weight: float
    host_interval_s: float
    host_used_s: float | None
    host_testbed_s: float | None
    host_stolen_s: float | None
    host_wait_s: float | None

    @property
    def host_other_s(self) -> float | None:
        if self.host_used_s is None or self.host_testbed_s is None:
            return None
        return max(0.0, self.host_used_s - self.host_testbed_s)

    @property
    def host_contending_s(self) -> float | None:
        """CPU time used by others under contention; contention is assumed where the host does not count waiting."""
        is_contended = self.host_wait_s is None or self.host_wait_s > CONTENDED * self.host_interval_s
        return self.host_other_s if is_contended or self.host_other_s is None else 0.0

    @property
    def host_wanted_s(self) -> float:
        return (self.host_used_s or 0.0) + (self.host_stolen_s or 0.0)


def processor_use(rows: Sequence[EvidenceRow], processors: int, interval: TimeInterval | None = None) -> ProcessorUse:
    """Return who used the processors in `interval`; without it, in all the time that `rows` cover."""
    looks = _looks(rows, interval)
    host_duration_s = sum(look.weight * look.host_interval_s for look in looks)

    def of_processors(counted: Iterable[tuple[float, float | None]]) -> float | None:
        return _share(_total(counted), processors * host_duration_s)

    stolen_s = _total((look.weight, look.host_stolen_s) for look in looks)
    return ProcessorUse(
        testbed_cpu_share=of_processors((look.weight, look.host_testbed_s) for look in looks),
        other_cpu_share=of_processors((look.weight, look.host_other_s) for look in looks),
        contending_cpu_share=of_processors((look.weight, look.host_contending_s) for look in looks),
        stolen_cpu_share=_share(stolen_s, processors * host_duration_s),
        stolen_wanted_share=_share(stolen_s, sum(look.weight * look.host_wanted_s for look in looks)),
        cpu_pressure=_share(_total((look.weight, look.host_wait_s) for look in looks), host_duration_s),
    )


def _looks(rows: Sequence[EvidenceRow], interval: TimeInterval | None) -> list[_Look]:
    """Return the looks behind `rows` with their weights; all count in full if none overlaps the interval."""
    by_timestamp: dict[float, list[EvidenceRow]] = {}
    for row in rows:
        by_timestamp.setdefault(row.time_s, []).append(row)
    whole = [_look(taken, 1.0) for taken in by_timestamp.values()]
    if interval is None:
        return whole
    weighed = [_look(taken, interval.covers(time_s, _interval_s(taken))) for time_s, taken in by_timestamp.items()]
    return weighed if any(look.weight > 0 for look in weighed) else whole


def _look(rows: Sequence[EvidenceRow], weight: float) -> _Look:
    host = [row for row in rows if row.part == HOST_PART]
    parts = [row for row in rows if row.part != HOST_PART]
    return _Look(
        weight=weight,
        host_interval_s=_interval_s(rows),
        host_used_s=_total((1.0, row.host_cpu_s) for row in host),
        host_testbed_s=_of_all(parts),
        host_stolen_s=_total((1.0, row.host_stolen_s) for row in host),
        host_wait_s=_total((1.0, row.host_cpu_wait_s) for row in host),
    )


def _of_all(parts: Sequence[EvidenceRow]) -> float | None:
    """Return what all `parts` of the testbed used; None if that of a container is not known, or no container is.

    What unknown containers used would otherwise count as other work.
    """
    counted = [row.host_cpu_s for row in parts if row.part != COMMAND_PART]
    return None if not counted or None in counted else _total((1.0, row.host_cpu_s) for row in parts)


def _interval_s(rows: Sequence[EvidenceRow]) -> float:
    return sum(row.host_interval_s for row in rows if row.part == HOST_PART)


def _total(counted: Iterable[tuple[float, float | None]]) -> float | None:
    """Return the weighted sum of the counts; None if there are none."""
    known = [weight * value for weight, value in counted if value is not None]
    return sum(known) if known else None


def _share(part: float | None, whole: float) -> float | None:
    return None if part is None or whole <= 0 else part / whole
