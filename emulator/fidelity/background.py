"""How well a background load kept to its band: for which share of the time, and how far beyond what is allowed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from emulator.model.background import ProcessorBand

SETTLING_S: Final = 60.0
"""Emulated seconds at the beginning that do not count: the load has to be built up first."""


@dataclass(frozen=True, slots=True)
class BackgroundMeasures:
    """The success of a background load in keeping to its band.

    `share_in_band` is the share of the time after the first minute; None if there was none. `longest_above_s` is the
    longest time for which the load was above its band while no dummy job was left, of which `void_after_s` is allowed.
    """

    share_in_band: float | None
    longest_above_s: float
    void_after_s: float

    @property
    def is_void(self) -> bool:
        """Whether the load was above its band, and nothing could be done about it, for longer than is allowed."""
        return self.longest_above_s > self.void_after_s

    def record(self) -> dict[str, object]:
        """Return them as a manifest keeps them."""
        return {
            "share_in_band": self.share_in_band,
            "longest_above_s": self.longest_above_s,
            "void_after_s": self.void_after_s,
        }


@dataclass
class BandWatch:
    """The watch over a background load: told of every change in order of time, it measures how the band was kept."""

    band: ProcessorBand
    void_after_s: float = SETTLING_S
    settling_s: float = SETTLING_S
    _since_s: float = 0.0
    _load: int = 0
    _dummies_left: bool = False
    _in_band_s: float = field(default=0.0)
    _above_s: float = field(default=0.0)
    _longest_above_s: float = field(default=0.0)

    def note(self, time_s: float, load: int, *, dummies_left: bool) -> None:
        """Take note of a `load` in processors from `time_s` on, and whether it has dummy jobs that could be killed."""
        self._pass_until(time_s)
        self._load, self._dummies_left = load, dummies_left

    def measures(self, now_s: float) -> BackgroundMeasures:
        """Return the measures until `now_s`."""
        self._pass_until(now_s)
        counted_s = self._since_s - self.settling_s
        share = self._in_band_s / counted_s if counted_s > 0 else None
        return BackgroundMeasures(share, self._longest_above_s, self.void_after_s)

    def _pass_until(self, time_s: float) -> None:
        # Reports of several clusters may arrive out of order by the time that they took.
        until_s = max(time_s, self._since_s)
        if self.band.least <= self._load <= self.band.most:
            self._in_band_s += max(0.0, until_s - max(self._since_s, self.settling_s))
        is_helpless = self._load > self.band.most and not self._dummies_left
        self._above_s = self._above_s + until_s - self._since_s if is_helpless else 0.0
        self._longest_above_s = max(self._longest_above_s, self._above_s)
        self._since_s = until_s
