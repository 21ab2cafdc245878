"""The measurements of a verification: one quantity per link and direction, and the report of all of them. Pure.

All values are emulated, so that they can be compared with the topology; tolerances that come from the host's own
precision are converted by the dilation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Final

from emulator.containers.wan.router import Backend
from emulator.containers.wan.schedule import Arrival
from emulator.model.clock import Dilation
from emulator.model.evidence import HOST_DELAY_TOLERANCE_S, RELATIVE_TOLERANCE
from emulator.model.topology import Path

JITTER_SHARE: Final = 0.3
"""The median of a few dozen delays that jitter by J is right to about this share of J."""


class Quantity(Enum):
    """A measured quantity; the value names its unit."""

    DELAY = "delay_s"
    """Median one-way delay, less the path's own with no delay set, but with what it takes between hosts."""
    RATE = "rate_mbit"
    """Layer-2 rate while the opposite direction is as busy."""
    SHARED_RATE = "shared_rate_mbit"
    """Layer-2 rate of two sources together into one access link."""
    SHARED_WAIT = "shared_wait_s"
    """How long the lesser of two sources waits in the access link's full queue: its drain time, if it is FIFO."""
    LOSS = "loss"
    """Share of packets lost at half the link's rate."""


@dataclass(frozen=True, slots=True)
class LinkMeasurement:
    """One quantity from `source` (two names joined by `+` where they share) to `target`, in emulated units."""

    source: str
    target: str
    quantity: Quantity
    asked: float
    measured: float
    tolerance: float

    @property
    def error(self) -> float:
        """Measured less asked, in the quantity's unit."""
        return self.measured - self.asked

    @property
    def within(self) -> bool:
        """Whether the error is within the tolerance; False if the quantity could not be measured."""
        return abs(self.error) <= self.tolerance


@dataclass(frozen=True, slots=True)
class WideAreaReport:
    """The report of a verification at a dilation.

    `rate_dilation` is the smallest power of two, not below `dilation`, at which the router carries both directions of a
    link at once: rates and losses were measured there. `carries_asked` says whether it does at `dilation` itself; a run
    there is suspect otherwise (the short form assumes it unless asked to check). `differences` say how the program
    differed from the topology before anything was measured. `repetitions` counts measurements
    taken again because the host disturbed them.
    """

    dilation: Dilation
    rate_dilation: Dilation
    backend: Backend
    measurements: tuple[LinkMeasurement, ...]
    differences: tuple[str, ...]
    repetitions: int
    host_duration_s: float
    carries_asked: bool = True

    @property
    def failures(self) -> tuple[LinkMeasurement, ...]:
        """The measurements outside their tolerance."""
        return tuple(measurement for measurement in self.measurements if not measurement.within)

    @property
    def ok(self) -> bool:
        """Whether the wide area was as asked, by what was programmed and by what was measured."""
        return not self.failures and not self.differences

    def of(self, quantity: Quantity) -> tuple[LinkMeasurement, ...]:
        """Return the measurements of one quantity."""
        return tuple(measurement for measurement in self.measurements if measurement.quantity is quantity)


def delay_measurement(
    source: str,
    target: str,
    path: Path,
    host_delay_s: float | None,
    host_own_s: float | None,
    dilation: Dilation,
    host_between_s: float = 0.0,
) -> LinkMeasurement:
    """Return the delay of a path from two medians on the host: with the delay set, and without.

    Of the latter, `host_between_s` is the way between two hosts, which is a part of the delay. What is not known of the
    difference between the hosts' clocks is in both medians.
    """
    measured_s = math.nan
    if host_delay_s is not None and host_own_s is not None:
        measured_s = dilation.emulated_duration_s(host_delay_s - host_own_s + host_between_s)
    tolerance_s = max(RELATIVE_TOLERANCE * path.delay_s, dilation.emulated_duration_s(HOST_DELAY_TOLERANCE_S))
    return LinkMeasurement(
        source, target, Quantity.DELAY, path.delay_s, measured_s, tolerance_s + JITTER_SHARE * path.jitter_s
    )


def rate_measurement(
    source: str, target: str, quantity: Quantity, asked_mbit: float, host_rate_mbit: float, dilation: Dilation
) -> LinkMeasurement:
    """Return a rate from the host's rate."""
    measured_mbit = dilation.emulated_rate_mbit(host_rate_mbit)
    return LinkMeasurement(source, target, quantity, asked_mbit, measured_mbit, RELATIVE_TOLERANCE * asked_mbit)


def loss_measurement(source: str, target: str, path: Path, arrival: Arrival) -> LinkMeasurement:
    """Return the share of packets lost; the tolerance is four standard deviations of the loss asked for."""
    measured = 1 - arrival.received / arrival.sent if arrival.sent else math.nan
    deviation = math.sqrt(path.loss * (1 - path.loss) / arrival.sent) if arrival.sent else 0.0
    return LinkMeasurement(source, target, Quantity.LOSS, path.loss, measured, 4 * deviation)


def wait_measurement(
    source: str, target: str, host_drain_s: float, host_wait_s: float, dilation: Dilation
) -> LinkMeasurement:
    """Return how long a packet waits in a full queue that drains in `host_drain_s`.

    The tolerance, half of that, separates FIFO from isolation.
    """
    asked_s = dilation.emulated_duration_s(host_drain_s)
    measured_s = dilation.emulated_duration_s(host_wait_s)
    return LinkMeasurement(source, target, Quantity.SHARED_WAIT, asked_s, measured_s, 0.5 * asked_s)


def power_of_two_not_below(dilation: Dilation) -> Dilation:
    """Return the smallest power of two (whole or fractional) that is not below `dilation`."""
    return Dilation(2.0 ** math.ceil(math.log2(dilation.factor) - 1e-9))
