"""Emulated time: the one module that converts between emulated and host seconds.

Every duration, delay and rate that a user writes or reads is emulated. A `Dilation` says how many host seconds one
emulated second takes. An `EmulatedClock` adds an origin and converts timestamps. The names of host values contain
``host`` everywhere in this project. No other module multiplies or divides by the dilation.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from emulator.model.errors import InvalidInput

LATE_FRACTION = 0.01
LATE_HOST_S = 100e-6
"""A phase is late if it ends more than max(1% of its length, 100 us of host time) after its planned end."""


def host_tolerance_s(host_phase_s: float) -> float:
    """Return how many host seconds after its planned end a phase of `host_phase_s` may end without being late."""
    return max(LATE_FRACTION * host_phase_s, LATE_HOST_S)


@dataclass(frozen=True, slots=True)
class Dilation:
    """Host seconds per emulated second: K in the documentation.

    Above 1 the emulation runs slower than the multicluster that it emulates, and is more faithful. Below 1 it runs
    faster.

    Raises:
        InvalidInput: if the factor is not a positive finite number.
    """

    factor: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.factor) and self.factor > 0):
            raise InvalidInput(f"The dilation must be a positive number of host seconds, not {self.factor!r}.")

    def host_duration_s(self, emulated_s: float) -> float:
        """Return the host seconds that `emulated_s` emulated seconds take."""
        return emulated_s * self.factor

    def emulated_duration_s(self, host_s: float) -> float:
        """Return the emulated seconds that pass in `host_s` host seconds."""
        return host_s / self.factor

    def host_rate_mbit(self, emulated_mbit: float) -> float:
        """Return the rate that a link of `emulated_mbit` must have on the host."""
        return emulated_mbit / self.factor

    def emulated_rate_mbit(self, host_mbit: float) -> float:
        """Return the emulated rate of a link that carries `host_mbit` on the host."""
        return host_mbit * self.factor


REAL_TIME = Dilation(1.0)


@dataclass(frozen=True, slots=True)
class EmulatedClock:
    """Emulated seconds since a run's origin, read from the host's wall clock.

    The base is the wall clock, not a monotonic clock, because timestamps are compared between containers and, on real
    clusters, between machines.
    """

    dilation: Dilation
    host_origin_s: float

    @classmethod
    def starting_now(cls, dilation: Dilation) -> EmulatedClock:
        """Return a clock that reads zero now."""
        return cls(dilation, time.time())

    def now_s(self) -> float:
        """Get the emulated seconds from the origin until now."""
        return self.emulated_timestamp_s(time.time())

    def emulated_timestamp_s(self, host_timestamp_s: float) -> float:
        """Get the emulated seconds from the origin until a timestamp of the host's wall clock."""
        return self.dilation.emulated_duration_s(host_timestamp_s - self.host_origin_s)

    def host_timestamp_s(self, emulated_timestamp_s: float) -> float:
        """Get the timestamp of the host's wall clock at which this clock reads `emulated_timestamp_s`."""
        return self.host_origin_s + self.dilation.host_duration_s(emulated_timestamp_s)

    def host_remaining_s(self, emulated_timestamp_s: float) -> float:
        """Get the host seconds from now until the clock reads `emulated_timestamp_s`; zero if that is past."""
        return max(0.0, self.host_timestamp_s(emulated_timestamp_s) - time.time())
