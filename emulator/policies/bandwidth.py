"""What the wide area will give the next transfer between two sites: forecast from those that were.

The forecast is the median of the last `REMEMBERED` transfers over the ordered pair of sites. A median, because the
wide area is shared: a transfer that met another one had less, and says little of the next. Before a pair has carried
any transfer, it is what the topology states for the path.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from emulator.model.errors import InvalidInput
from emulator.model.topology import Topology
from emulator.model.units import rate_bytes_per_s

REMEMBERED = 9
"""Past transfers of a pair that count: an odd number, so that the median is one of them."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Emulated bytes per second, and how many past transfers say so; none means that the topology states it."""

    bytes_per_s: float
    transfers: int

    @property
    def measured(self) -> bool:
        """Whether it comes from past transfers."""
        return self.transfers > 0


class BandwidthForecast:
    """Forecasts per ordered pair (source, target) of site indices; `stated` holds what is known before any transfer."""

    def __init__(self, stated: Mapping[tuple[int, int], float]) -> None:
        self._stated = dict(stated)
        self._past: dict[tuple[int, int], list[float]] = {}

    def learn(self, source: int, target: int, bytes_per_s: float) -> None:
        """Take note of a transfer that ran at `bytes_per_s` emulated bytes per second.

        Raises:
            InvalidInput: if that is no positive finite rate.
        """
        if not (math.isfinite(bytes_per_s) and bytes_per_s > 0):
            raise InvalidInput(f"A transfer's rate must be a positive number of bytes per second, not {bytes_per_s!r}.")
        past = self._past.setdefault((source, target), [])
        past.append(bytes_per_s)
        del past[:-REMEMBERED]

    def forecast(self, source: int, target: int) -> Forecast | None:
        """What to expect from `source` to `target`; None if nothing is stated and nothing was measured."""
        past = self._past.get((source, target))
        if past:
            return Forecast(statistics.median(past), len(past))
        stated = self._stated.get((source, target))
        return None if stated is None else Forecast(stated, 0)

    def bytes_per_s(self) -> dict[tuple[int, int], float]:
        """The forecast of every pair of which anything is known, as policies read it."""
        pairs = dict.fromkeys([*self._stated, *self._past])
        found = {pair: self.forecast(*pair) for pair in pairs}
        return {pair: it.bytes_per_s for pair, it in found.items() if it is not None}


def stated_bytes_per_s(topology: Topology) -> dict[tuple[int, int], float]:
    """What a topology states for every ordered pair of its sites: the slower of the two access links on the way."""
    names = topology.cluster_names
    pairs = [(source, target) for source in range(len(names)) for target in range(len(names)) if source != target]
    return {
        (source, target): rate_bytes_per_s(topology.path_rate_mbit(names[source], names[target]))
        for source, target in pairs
    }
