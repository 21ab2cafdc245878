"""Emulated time: the one module that converts between emulated and host seconds.

Every duration, delay and rate that a user writes or reads is emulated. A `Dilation` says how many host seconds one
emulated second takes; an `EmulatedClock` adds an origin and so reads and awaits moments. Host values carry ``host`` in
their name everywhere in this project; nothing else multiplies or divides by the dilation.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from emulator.model.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Dilation:
    """Host seconds per emulated second: K in the documentation.

    Above 1 the emulation is slower than the multicluster it stands for and more faithful; below 1 it is faster.

    Raises:
        InvalidInput: if the factor is not a positive finite number.
    """

    factor: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.factor) and self.factor > 0):
            raise InvalidInput(f"The dilation must be a positive number of host seconds, not {self.factor!r}.")

    def host_duration_s(self, emulated_s: float) -> float:
        """Host seconds that `emulated_s` emulated seconds take."""
        return emulated_s * self.factor

    def emulated_duration_s(self, host_s: float) -> float:
        """Emulated seconds that pass in `host_s` host seconds."""
        return host_s / self.factor

    def host_rate_mbit(self, emulated_mbit: float) -> float:
        """Rate that a link of `emulated_mbit` must have on the host."""
        return emulated_mbit / self.factor

    def emulated_rate_mbit(self, host_mbit: float) -> float:
        """Emulated rate of a link that carries `host_mbit` on the host."""
        return host_mbit * self.factor


REAL_TIME = Dilation(1.0)


@dataclass(frozen=True, slots=True)
class EmulatedClock:
    """Emulated seconds since a run's origin, read from the host's wall clock.

    The wall clock (and not a monotonic one) is the base because moments are compared between containers and, on real
    clusters, between machines.
    """

    dilation: Dilation
    host_origin_s: float

    @classmethod
    def starting_now(cls, dilation: Dilation) -> EmulatedClock:
        """A clock that reads zero at this moment."""
        return cls(dilation, time.time())

    def now_s(self) -> float:
        """Emulated seconds since the origin, at this moment."""
        return self.emulated_moment_s(time.time())

    def emulated_moment_s(self, host_moment_s: float) -> float:
        """Emulated seconds since the origin, at a moment of the host's wall clock."""
        return self.dilation.emulated_duration_s(host_moment_s - self.host_origin_s)

    def host_moment_s(self, emulated_moment_s: float) -> float:
        """Moment of the host's wall clock at which the clock reads `emulated_moment_s`."""
        return self.host_origin_s + self.dilation.host_duration_s(emulated_moment_s)

    def host_remaining_s(self, emulated_moment_s: float) -> float:
        """Host seconds from now until the clock reads `emulated_moment_s`; zero if that is past."""
        return max(0.0, self.host_moment_s(emulated_moment_s) - time.time())
