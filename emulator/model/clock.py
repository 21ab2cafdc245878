"""Emulated time: the one module that converts between emulated and host seconds.

Every duration, delay and rate that a user writes or reads is emulated. A `Dilation` says how many host seconds one
emulated second takes. An `EmulatedClock` adds an origin and converts timestamps. The names of host values contain
``host`` everywhere in this project. No other module multiplies or divides by the dilation.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from emulator.model.errors import InvalidInput

BOOT_IDENTITY: Final = Path("/proc/sys/kernel/random/boot_id")
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


LEAST_STEP_HOST_S: Final = 0.25
"""A change of the wall clock by more than this, against the monotonic clock, is a step."""


_TOGETHER_HOST_S: Final = 0.01
_MOST_READINGS: Final = 20


def _read_together() -> tuple[float, float]:
    """Read the wall clock and the monotonic clock at one moment: again if the process stood still in between."""
    for _ in range(_MOST_READINGS):
        before_s, wall_s, after_s = time.monotonic(), time.time(), time.monotonic()
        if after_s - before_s <= _TOGETHER_HOST_S:
            break
    return wall_s, (before_s + after_s) / 2


class _SteadyClock:
    """The host's wall clock without its steps: what it read when the process began, carried on by the monotonic clock.

    A step is a deviation of the wall clock that changed at once; small ones do not count.
    """

    def __init__(self) -> None:
        wall_s, monotonic_s = _read_together()
        self.ahead_of_monotonic_s = wall_s - monotonic_s
        self._step_s = 0.0

    def now_s(self) -> float:
        return self.ahead_of_monotonic_s + time.monotonic()

    def step_s(self) -> float:
        wall_s, monotonic_s = _read_together()
        deviation_s = wall_s - (self.ahead_of_monotonic_s + monotonic_s)
        if abs(deviation_s - self._step_s) > LEAST_STEP_HOST_S:
            self._step_s = deviation_s
        return self._step_s


_STEADY = _SteadyClock()


def host_steady_now_s() -> float:
    """Get the present on the host's steady clock, which equals the wall clock until that is set."""
    return _STEADY.now_s()


def host_clock_step_s() -> float:
    """Get by how much the wall clock has been set, in all, since this process began; 0 if it has not."""
    return _STEADY.step_s()


def boot_identity() -> str:
    """Get the identity of the host's present boot, within which its monotonic clock goes on; empty if unknown."""
    try:
        return BOOT_IDENTITY.read_text(encoding="ascii").strip()
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class EmulatedClock:
    """Emulated seconds since a run's origin, which is a timestamp of the host's steady clock.

    Timestamps that come from elsewhere or go there are of the wall clock, because they are compared between containers
    and, on real clusters, between machines. Intervals and deadlines are counted on the steady clock, so a wall clock
    that is set in between changes none of them.
    """

    dilation: Dilation
    host_origin_s: float

    @classmethod
    def starting_now(cls, dilation: Dilation) -> EmulatedClock:
        """Return a clock that reads zero now."""
        return cls(dilation, host_steady_now_s())

    @classmethod
    def resumed(
        cls, dilation: Dilation, host_wall_origin_s: float, host_monotonic_origin_s: float | None = None
    ) -> EmulatedClock:
        """Return a clock that read zero at a timestamp of the wall clock and, if given, of the monotonic clock.

        If these differ, the wall clock has been set since then, and the monotonic clock is right.
        """
        origin_s = host_wall_origin_s - host_clock_step_s()
        if host_monotonic_origin_s is not None:
            steady_origin_s = host_monotonic_origin_s + _STEADY.ahead_of_monotonic_s
            if abs(steady_origin_s - origin_s) > LEAST_STEP_HOST_S:
                origin_s = steady_origin_s
        return cls(dilation, origin_s)

    @property
    def host_wall_origin_s(self) -> float:
        """The origin on the wall clock as it is set now."""
        return self.host_timestamp_s(0.0)

    @property
    def host_monotonic_origin_s(self) -> float:
        """The origin on the monotonic clock of the present boot."""
        return self.host_origin_s - _STEADY.ahead_of_monotonic_s

    def now_s(self) -> float:
        """Get the emulated seconds from the origin until now."""
        return self.reading_s(host_steady_now_s())

    def reading_s(self, host_steady_s: float) -> float:
        """Get the emulated seconds from the origin until a timestamp of the host's steady clock."""
        return self.dilation.emulated_duration_s(host_steady_s - self.host_origin_s)

    def host_steady_s(self, emulated_timestamp_s: float) -> float:
        """Get the timestamp of the host's steady clock at which this clock reads `emulated_timestamp_s`."""
        return self.host_origin_s + self.dilation.host_duration_s(emulated_timestamp_s)

    def emulated_timestamp_s(self, host_timestamp_s: float) -> float:
        """Get the emulated seconds from the origin until a timestamp of the host's wall clock as it is set now."""
        return self.reading_s(host_timestamp_s - host_clock_step_s())

    def host_timestamp_s(self, emulated_timestamp_s: float) -> float:
        """Get the timestamp of the host's wall clock, as it is set now, at which this clock reads a timestamp."""
        return self.host_steady_s(emulated_timestamp_s) + host_clock_step_s()

    def host_remaining_s(self, emulated_timestamp_s: float) -> float:
        """Get the host seconds from now until the clock reads `emulated_timestamp_s`; zero if that is past."""
        return max(0.0, self.host_steady_s(emulated_timestamp_s) - host_steady_now_s())
