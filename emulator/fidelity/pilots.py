"""The choice of a dilation from pilots, short runs of the very jobs: when one suffices, and what is tried next. Pure.

A pilot suffices if everything that a verdict judges, and a larger dilation cures, stays below half of its threshold.
What the host itself adds to an iteration (waking ranks, copying messages, carrying packets) shows in no verdict. It is
found by comparing dilations: it does not dilate, so an iteration at a larger dilation contains less of it.
"""

from __future__ import annotations

import math
import statistics
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

SPAN: Final = 4.0
"""The dilations of pilots that tell the host's own part of an iteration lie apart by this factor at least."""

MOST_OWN_TIME: Final = 0.02
"""The host may lengthen an iteration by this share: then figures at any dilation that is chosen agree."""

MOST_OWN_TIME_IN_A_CAMPAIGN: Final = 0.05
"""The same for a campaign's jobs, of which the queue decides more than the host does."""


def most_own_time(*, in_a_campaign: bool) -> float:
    """Return the share by which the host may lengthen an iteration, in plans and pilots alike."""
    return MOST_OWN_TIME_IN_A_CAMPAIGN if in_a_campaign else MOST_OWN_TIME


@dataclass(frozen=True, slots=True)
class Pilot:
    """The outcome of a trial's pilot at a dilation: measures as shares of their limits, by name, and its iteration.

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

    @property
    def how(self) -> str:
        """How it was found, as a manifest says it."""
        return "found by pilots" if self.sufficed else "the largest tried, though its pilots did not suffice"


@dataclass(frozen=True, slots=True)
class Needed:
    """The pilot that is needed next: of a trial, at a dilation."""

    trial: str
    dilation: float


def strains(measures: JobMeasures) -> dict[str, float]:
    """Return what a larger dilation cures, each as a share of the most that a pilot may show.

    If other work keeps the processors busy, tasks wait for them at any dilation, so that waiting is left out.
    """
    found = dict[str, float | None]()
    found["lateness"] = _share(measures.lateness_share, SUSPECT_ERROR)
    found["middleware"] = _share(measures.overhead_lateness_share, SUSPECT_ERROR)
    if measures.lateness_adds_up:
        found["late phases"] = _share(measures.late_phase_share, SUSPECT_LATE_PHASES)
    own = [host for host in measures.conditions if _taken_by_others(host) <= MARGIN * SUSPECT_OTHER_CPU]
    pressures = [host.cpu_pressure for host in own if host.cpu_pressure is not None]
    found["cores"] = _share(max(pressures, default=None), SUSPECT_CPU_PRESSURE, PRESSURE_MARGIN)
    if measures.conditions and measures.execution_s:
        lost = sum((host.unexplained_timeouts or 0) + (host.unasked_drops or 0) for host in measures.conditions)
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
    for dilation in _candidates(by_dilation, tried) if tried else [floor]:
        if any(_strain_at(made, dilation) > 1.0 for made in by_dilation.values()):
            continue
        missing = [trial for trial in _hardest_first(trials, pilots) if dilation not in by_dilation[trial]]
        if missing:
            return Needed(missing[0], dilation)
        unknown = [trial for trial, made in by_dilation.items() if own_time(made, dilation) is None]
        telling = SPAN * dilation
        while unknown and telling in by_dilation[unknown[0]]:
            # A pilot there was late, because other work disturbed it, and told nothing.
            telling *= 2.0
        if not unknown or telling > LARGEST_DILATION:
            return Chosen(dilation)
        return Needed(unknown[0], telling)
    if tried[-1] >= LARGEST_DILATION:
        return Chosen(tried[-1], sufficed=False)
    step = max(_step(made, tried[-1]) for made in by_dilation.values())
    return Needed(_hardest_first(trials, pilots)[0], min(LARGEST_DILATION, tried[-1] * step))


def own_time(made: Mapping[float, Pilot], dilation: float) -> float | None:
    """Return by how much the host lengthens an iteration at `dilation`, as a strain; None if pilots do not tell yet.

    The host's own time does not dilate: in emulated time an iteration takes ``a + h / K``, fitted by least squares to
    all pilots. Each is noisy, so it takes some that are `SPAN` apart; one at which the job was late tells nothing.
    """
    if any(not pilot.passes_on for pilot in made.values()):
        return 0.0
    told = [pilot for pilot in made.values() if pilot.strain <= 1.0 / MARGIN]
    dilations = [pilot.dilation for pilot in told]
    if len(told) < 2 or max(dilations) < SPAN * min(dilations):
        return None
    fitted = statistics.linear_regression([1.0 / each for each in dilations], [pilot.iteration_s for pilot in told])
    host_s = max(0.0, fitted.slope) / dilation
    return host_s / max(fitted.intercept, host_s, 1e-9) / told[0].most_own_time


def _candidates(by_dilation: Mapping[str, Mapping[float, Pilot]], tried: Sequence[float]) -> list[float]:
    """Return the dilations that may suffice, ascending: from the first tried one with small strains, by doubling."""
    small = (each for each in tried if all(made[each].strain <= 1.0 for made in by_dilation.values() if each in made))
    dilation, found = next(small, tried[-1]), list[float]()
    while dilation <= tried[-1]:
        found.append(dilation)
        dilation *= 2.0
    return found


def _strain_at(made: Mapping[float, Pilot], dilation: float) -> float:
    """Return the largest strain known of `dilation`, the own time among them; 0 if nothing is known."""
    shown = made[dilation].strain if dilation in made else 0.0
    return max(shown, own_time(made, dilation) or 0.0)


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
    return float(2.0 ** max(1, math.floor(math.log2(late) / 2.0), math.ceil(math.log2(own))))


def _taken_by_others(conditions: Conditions) -> float:
    """Return the share of the processors that other work and a hypervisor took while tasks waited for one."""
    return (conditions.contending_cpu_share or 0.0) + (conditions.stolen_cpu_share or 0.0)


def _share(value: float | None, threshold: float, margin: float = MARGIN) -> float | None:
    return None if value is None else value / (margin * threshold)
