"""The parts of an extension factor, each with an interval, from runs in which parts are taken away. Pure.

The whole is (coallocated - single) / single, of mean runtimes. Each part is a difference of mean runtimes between runs
that differ in one thing, relative to the single cluster's runtime as well:

- *latency* and *rate* of the wide area, from the four runs with and without either of them, in which every connection
  has the rate of the access links for itself. What one of them costs depends on whether the other is there; each gets
  the mean of both orders (Shapley's value), and an interval that holds both.
- *contention*: the cost of sharing access links among the job's connections.
- *emulator*: the cost of the emulation itself, in host time that does not dilate: waking ranks, copying messages,
  carrying packets. At a dilation r times as large it is 1/r of that in emulated time, and nothing else changes. So at
  the measurement's dilation it is r / (r - 1) times the difference between both, here of the runs without a wide area.
- *compute*: the additional time of the busiest process's compute phases.
- *interconnect*: the remaining difference between the run in a single cluster and the one without a wide area: messages
  inside the clusters, perhaps over another interconnect, less those that became messages of the wide area.

The weights of all runs in all parts sum to those of the whole, and so do the parts. Rates called unlimited are finite:
a share r of the stated rate's cost is left, since time at a rate is proportional to the time per byte. So the runs show
1 - r of that cost. The remaining r, which may differ at the larger dilation, belongs neither to the emulator nor to the
interconnect.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from emulator.fidelity.intervals import pooled_freedom, student_quantile
from emulator.model.errors import InvalidInput


class Part(StrEnum):
    """The cause of a part of an extension factor."""

    COMPUTE = "compute"
    INTERCONNECT = "interconnect"
    LATENCY = "latency"
    RATE = "rate"
    CONTENTION = "contention"
    EMULATOR = "emulator"


WHOLE: Final = "whole"
"""The name of the sum of all parts in records: the extension factor less one."""


class Setting(StrEnum):
    """The circumstances of a run; those with *larger* are at a larger dilation."""

    SINGLE = "single"
    COALLOCATED = "coallocated"
    WITHOUT_WIDE_AREA = "without wide area"
    LATENCY_ALONE = "latency alone"
    RATE_ALONE = "rate alone"
    UNSHARED = "unshared"
    SINGLE_LARGER = "single, larger dilation"
    WITHOUT_WIDE_AREA_LARGER = "without wide area, larger dilation"


@dataclass(frozen=True, slots=True)
class Timing:
    """A run's emulated runtime, and the compute phases of its busiest process within that."""

    runtime_s: float
    compute_s: float

    @property
    def communication_s(self) -> float:
        """The rest of the runtime: messages, and waiting for them."""
        return self.runtime_s - self.compute_s


Timings = Mapping[Setting, Sequence[Timing]]


@dataclass(frozen=True, slots=True)
class Contribution:
    """A part's contribution, relative to the single cluster's runtime: to that runtime, and to the factor less one.

    `low` and `high` are the 95% interval of what is `added`; None where there are too few runs.
    """

    single: float
    added: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Attribution:
    """The parts of an extension factor; their `added` sum to the `whole`, the factor less one."""

    parts: Mapping[Part, Contribution]
    whole: Contribution


Weights = dict[Setting, float]
_LATENCY: Final[Weights] = {
    Setting.LATENCY_ALONE: 0.5,
    Setting.WITHOUT_WIDE_AREA: -0.5,
    Setting.UNSHARED: 0.5,
    Setting.RATE_ALONE: -0.5,
}
_RATE: Final[Weights] = {
    Setting.RATE_ALONE: 0.5,
    Setting.WITHOUT_WIDE_AREA: -0.5,
    Setting.UNSHARED: 0.5,
    Setting.LATENCY_ALONE: -0.5,
}
_CONTENTION: Final[Weights] = {Setting.COALLOCATED: 1.0, Setting.UNSHARED: -1.0}
_SPREAD: Final[Weights] = {Setting.WITHOUT_WIDE_AREA: 1.0, Setting.SINGLE: -1.0}
_WHOLE: Final[Weights] = {Setting.COALLOCATED: 1.0, Setting.SINGLE: -1.0}
_GROWN: Final[Weights] = {
    Setting.WITHOUT_WIDE_AREA: 1.0,
    Setting.WITHOUT_WIDE_AREA_LARGER: -1.0,
    Setting.SINGLE: -1.0,
    Setting.SINGLE_LARGER: 1.0,
}
"""The cost of spreading at the measurement's dilation, less that at the larger one."""

_INTERACTION: Final[Weights] = {
    Setting.UNSHARED: 1.0,
    Setting.LATENCY_ALONE: -1.0,
    Setting.RATE_ALONE: -1.0,
    Setting.WITHOUT_WIDE_AREA: 1.0,
}
"""The difference between the two orders of taking latency and rate away."""


@dataclass(frozen=True, slots=True)
class Larger:
    """The larger dilation, and the share of the rates that is left where rates are called unlimited.

    `ratio` is that dilation over the measurement's. `rate_left` and `rate_left_larger` are the access links' stated
    rate over the one called unlimited, at the measurement's dilation and at the larger one.

    Raises:
        InvalidInput: if a ratio makes no sense.
    """

    ratio: float
    rate_left: float = 0.0
    rate_left_larger: float = 0.0

    def __post_init__(self) -> None:
        if not self.ratio > 1:
            raise InvalidInput(f"The larger dilation must be larger than the other, not {self.ratio!r} times it.")
        for left in (self.rate_left, self.rate_left_larger):
            if not 0 <= left < 1:
                raise InvalidInput(f"An unlimited rate must be above the one asked, which cannot be {left!r} of it.")

    @property
    def extrapolation(self) -> float:
        """The factor from the difference between both dilations to all that does not dilate."""
        return self.ratio / (self.ratio - 1)


def attribute(timings: Timings, larger: Larger) -> Attribution:
    """Return the parts of the extension factor that `timings` hold; each setting needs at least one run.

    Raises:
        InvalidInput: if a setting has no run.
    """
    missing = [setting.value for setting in Setting if not timings.get(setting)]
    if missing:
        raise InvalidInput(f"A factor cannot be attributed without a run {missing[0]!r}: run it too.")
    single_s = statistics.fmean(run.runtime_s for run in timings[Setting.SINGLE])
    seen = 1 - larger.rate_left
    orders = abs(_mean_s(timings, _INTERACTION)) / 2 / single_s
    least = {Part.LATENCY: orders, Part.RATE: orders / seen}
    shares = _single_shares(timings, larger, single_s)
    parts = {
        part: _contribution(timings, {}, weights, shares.get(part, 0.0), least.get(part, 0.0))
        for part, weights in _weights(larger).items()
    }
    parts[Part.COMPUTE] = _contribution(timings, _WHOLE, {}, shares[Part.COMPUTE])
    return Attribution({part: parts[part] for part in Part}, _contribution(timings, _WHOLE, _WHOLE, 1.0))


def _weights(larger: Larger) -> dict[Part, Weights]:
    """Return the weight of each setting's communication time in each part but compute."""
    rate = _scaled(_RATE, 1 / (1 - larger.rate_left))
    left_at_both = larger.extrapolation * (larger.rate_left - larger.rate_left_larger)
    emulator = _sum(_scaled(_GROWN, larger.extrapolation), _scaled(rate, -left_at_both))
    return {
        Part.INTERCONNECT: _sum(_SPREAD, _scaled(emulator, -1), _scaled(rate, -larger.rate_left)),
        Part.LATENCY: _LATENCY,
        Part.RATE: rate,
        Part.CONTENTION: _CONTENTION,
        Part.EMULATOR: emulator,
    }


def _single_shares(timings: Timings, larger: Larger, single_s: float) -> dict[Part, float]:
    """Return the parts of the runtime in a single cluster, as shares of that runtime."""
    compute = statistics.fmean(run.compute_s for run in timings[Setting.SINGLE]) / single_s
    grown_s = _mean_s(timings, {Setting.SINGLE: 1.0, Setting.SINGLE_LARGER: -1.0})
    emulator = grown_s * larger.extrapolation / single_s
    return {Part.COMPUTE: compute, Part.EMULATOR: emulator, Part.INTERCONNECT: 1 - compute - emulator}


def _mean_s(timings: Timings, weights: Weights) -> float:
    """Return the weighted sum of mean communication times."""
    return sum(
        weight * statistics.fmean(run.communication_s for run in timings[setting])
        for setting, weight in weights.items()
    )


def _contribution(
    timings: Timings, of_compute: Weights, of_communication: Weights, single: float, least_half: float = 0.0
) -> Contribution:
    """Return the weighted sum of mean times over the single cluster's mean runtime, with its interval.

    The interval is by the delta method and reaches at least `least_half` to either side.
    """
    weighted_s = {
        setting: [
            of_compute.get(setting, 0.0) * run.compute_s + of_communication.get(setting, 0.0) * run.communication_s
            for run in timings[setting]
        ]
        for setting in dict.fromkeys([*of_compute, *of_communication, Setting.SINGLE])
    }
    single_s = statistics.fmean(run.runtime_s for run in timings[Setting.SINGLE])
    value = sum(map(statistics.fmean, weighted_s.values())) / single_s
    # The denominator's own spread: a longer run in the single cluster makes every part smaller.
    singles = zip(weighted_s[Setting.SINGLE], timings[Setting.SINGLE], strict=True)
    weighted_s[Setting.SINGLE] = [part_s - value * run.runtime_s for part_s, run in singles]
    if any(len(runs_s) < 2 for runs_s in weighted_s.values()):
        return Contribution(single, value, None, None)
    half = max(least_half, _half_width_s(list(weighted_s.values())) / single_s)
    return Contribution(single, value, value - half, value + half)


def _half_width_s(groups_s: Sequence[Sequence[float]]) -> float:
    """Return half the width of the 95% interval of a sum of means, by Welch's t."""
    variances = [statistics.variance(runs_s) / len(runs_s) for runs_s in groups_s]
    total = sum(variances)
    if total == 0:
        return 0.0
    return student_quantile(pooled_freedom(variances, list(map(len, groups_s)))) * math.sqrt(total)


def _scaled(weights: Weights, factor: float) -> Weights:
    return {setting: factor * weight for setting, weight in weights.items()}


def _sum(*several: Weights) -> Weights:
    return {
        setting: sum(weights.get(setting, 0.0) for weights in several)
        for setting in dict.fromkeys(setting for weights in several for setting in weights)
    }
