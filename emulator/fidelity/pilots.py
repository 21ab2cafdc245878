"""The choice of a dilation from pilots, short runs of the very jobs: when one suffices, and what is tried next. Pure.

A pilot suffices if everything that a verdict judges, and a larger dilation cures, stays below half of its threshold.
What the host itself adds to an iteration (waking ranks, copying messages, carrying packets) shows in no verdict: it is
the difference between the iterations of two pilots at different dilations, since it does not dilate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from emulator.fidelity.conditions import Conditions
from emulator.fidelity.measures import JobMeasures
from emulator.fidelity.thresholds import (
    SUSPECT_CPU_PRESSURE,
    SUSPECT_ERROR,
    SUSPECT_LATE_PHASES,
    SUSPECT_OTHER_CPU,
    SUSPECT_OVERHEAD,
    TIMEOUT_S,
)

MARGIN: Final = 0.5
"""The share of a threshold that a pilot may reach: a run is longer than its pilots, and the host may become busier."""

PRESSURE_MARGIN: Final = 0.8
"""The same for the time in which some task waits for a processor: it bounds no error, and half of the time is usual."""

SMALLEST_DILATION: Final = 0.5
"""Smaller dilations gain little: starting a job takes a second or two of host time, whatever the dilation."""

LARGEST_DILATION: Final = 128.0
"""Above this a pilot of a few iterations takes longer than a user waits."""

OWN_TIME: Final = "own time"
"""The name of the host's own part of an iteration among the strains."""

MOST_OWN_TIME: Final = 0.01
"""The host may lengthen an iteration by this share: then figures at any dilation that is chosen agree."""

MOST_OWN_TIME_IN_A_CAMPAIGN: Final = 0.05
"""The same for a campaign's jobs, of which the queue decides more than the host does."""


@dataclass(frozen=True, slots=True)
class Pilot:
    """What a pilot of a trial showed at a dilation: shares of what they may be, by name, and its iteration.

    `passes_on` tells whether its messages are real, so that the host's own time lengthens its iterations: by the share
    `most_own_time` at most.
    """

    dilation: float
    iteration_s: float
    strains: Mapping[str, float]
    passes_on: bool
    most_own_time: float = MOST_OWN_TIME

    @property
    def binding(self) -> str:
        """The name of the largest strain."""
        return max(self.strains, key=lambda name: self.strains[name], default="")

    @property
    def strain(self) -> float:
        """The largest strain: up to 1 the pilot suffices."""
        return max(self.strains.values(), default=0.0)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The dilation that pilots chose; `sufficed` is False if none of those tried was enough."""

    dilation: float
    sufficed: bool = True


@dataclass(frozen=True, slots=True)
class Needed:
    """The pilot that is needed next: of a trial, at a dilation."""

    trial: str
    dilation: float


def strains(measures: JobMeasures) -> dict[str, float]:
    """Return what a larger dilation cures, each as a share of the most that a pilot may show.

    Where other work keeps the processors busy, tasks wait for those whatever the dilation: then that does not count.
    """
    conditions, found = measures.conditions, dict[str, float | None]()
    found["lateness"] = _share(measures.lateness_share, SUSPECT_ERROR)
    found["middleware"] = _share(measures.overhead_lateness_share, SUSPECT_OVERHEAD)
    if measures.lateness_adds_up:
        found["late phases"] = _share(measures.late_phase_share, SUSPECT_LATE_PHASES)
    if conditions is not None:
        if _taken_by_others(conditions) <= MARGIN * SUSPECT_OTHER_CPU:
            found["cores"] = _share(conditions.cpu_pressure, SUSPECT_CPU_PRESSURE, PRESSURE_MARGIN)
        lost = (conditions.unexplained_timeouts or 0) + (conditions.unasked_drops or 0)
        if measures.execution_s:
            found["packets"] = _share(lost * TIMEOUT_S / measures.execution_s, SUSPECT_ERROR)
    return {name: share for name, share in found.items() if share is not None}


def least_dilation(factor: float) -> float:
    """Return the smallest dilation that pilots try which is at least `factor`: a power of two."""
    within = min(max(factor, SMALLEST_DILATION), LARGEST_DILATION)
    return float(2.0 ** math.ceil(math.log2(within) - 1e-9))


def next_pilot(trials: Sequence[str], pilots: Mapping[str, Sequence[Pilot]], floor: float) -> Chosen | Needed:
    """Return the smallest dilation at which all `trials` suffice, or the pilot that must be made to know it.

    `pilots` are those made so far, by trial; `floor` is the smallest dilation that is tried.
    """
    by_dilation = {trial: {pilot.dilation: pilot for pilot in pilots.get(trial, ())} for trial in trials}
    tried = sorted({dilation for made in by_dilation.values() for dilation in made})
    for dilation in tried or [floor]:
        if any(_fails(made, dilation) for made in by_dilation.values()):
            continue
        missing = [trial for trial in _hardest_first(trials, pilots) if dilation not in by_dilation[trial]]
        if missing:
            return Needed(missing[0], dilation)
        unknown = [trial for trial, made in by_dilation.items() if _own_time_unknown(made, dilation)]
        if not unknown or dilation >= LARGEST_DILATION:
            return Chosen(dilation)
        return Needed(unknown[0], 2.0 * dilation)
    if tried[-1] >= LARGEST_DILATION:
        return Chosen(tried[-1], sufficed=False)
    step = max(_step(made, tried[-1]) for made in by_dilation.values())
    return Needed(_hardest_first(trials, pilots)[0], min(LARGEST_DILATION, tried[-1] * step))


def own_time(made: Mapping[float, Pilot], dilation: float) -> float | None:
    """Return by how much the host lengthens an iteration at `dilation`, as a strain; None if no pair of pilots says so.

    A larger neighbour tells it best. A smaller one at which the job was late tells at most that it is small enough.
    """
    pilot = made[dilation]
    if not pilot.passes_on:
        return 0.0
    larger = min((other for other in made if other > dilation), default=None)
    smaller = max((other for other in made if other < dilation), default=None)
    for other in (larger, smaller):
        if other is None:
            continue
        host_s = (made[other].iteration_s - pilot.iteration_s) / (1.0 / other - 1.0 / dilation)
        share = host_s / dilation / pilot.iteration_s
        strain = max(0.0, share) / pilot.most_own_time
        if strain <= 1.0 or other is larger or made[other].strain <= 1.0 / MARGIN:
            return strain
    return None


def _fails(made: Mapping[float, Pilot], dilation: float) -> bool:
    return dilation in made and _strain_at(made, dilation) > 1.0


def _strain_at(made: Mapping[float, Pilot], dilation: float) -> float:
    """Return the largest strain at `dilation`, the own time among them; 0 if there was no pilot."""
    return 0.0 if dilation not in made else max(made[dilation].strain, own_time(made, dilation) or 0.0)


def _own_time_unknown(made: Mapping[float, Pilot], dilation: float) -> bool:
    return own_time(made, dilation) is None


def _hardest_first(trials: Sequence[str], pilots: Mapping[str, Sequence[Pilot]]) -> list[str]:
    """Return `trials`, those first whose last pilot was the most strained, so that what fails fails early."""

    def last_strain(trial: str) -> float:
        made = {pilot.dilation: pilot for pilot in pilots.get(trial, ())}
        return _strain_at(made, max(made)) if made else 0.0

    return sorted(trials, key=last_strain, reverse=True)


def _step(made: Mapping[float, Pilot], dilation: float) -> float:
    """Return by how much the dilation grows after a pilot: the own time falls as it grows, lateness falls faster."""
    if dilation not in made:
        return 2.0
    late, own = max(1.0, made[dilation].strain), max(1.0, own_time(made, dilation) or 0.0)
    return float(2.0 ** max(1, math.floor(math.log2(late) / 2.0), math.floor(math.log2(own))))


def _taken_by_others(conditions: Conditions) -> float:
    """Return the share of the processors that other work and a hypervisor took while tasks waited for one."""
    return (conditions.contending_cpu_share or 0.0) + (conditions.stolen_cpu_share or 0.0)


def _share(value: float | None, threshold: float, margin: float = MARGIN) -> float | None:
    return None if value is None else value / (margin * threshold)
