"""What the wide area will give the next transfer between two sites: forecast from those that were.

The forecast is the median of the last `REMEMBERED` transfers over the ordered pair of sites. A median, because the
wide area is shared: a transfer that met another one had less, and says little of the next. Before a pair has carried
any transfer, it is what the topology states for the path or, where it states nothing, a mere assumption, named so.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from emulator.model.errors import InvalidInput
from emulator.model.files import BandwidthOrigin
from emulator.model.topology import Topology
from emulator.model.units import rate_bytes_per_s

REMEMBERED = 9
"""Past transfers of a pair that count: an odd number, so that the median is one of them."""


ASSUMED_BYTES_PER_S = 12_500_000.0
"""Between sites of whose path nothing is known, before the first transfer: 100 Mbit/s."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Emulated bytes per second, where that comes from, and of how many past transfers it is the median."""

    bytes_per_s: float
    origin: BandwidthOrigin
    transfers: int = 0


class BandwidthForecast:
    """Forecasts per ordered pair (source, target) of site indices; `stated` holds what is known before any transfer."""

    def __init__(self, sites: int, stated: Mapping[tuple[int, int], float]) -> None:
        self._pairs = [(source, target) for source in range(sites) for target in range(sites) if source != target]
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

    def forecast(self, source: int, target: int) -> Forecast:
        """What to expect from `source` to `target`."""
        past = self._past.get((source, target))
        if past:
            return Forecast(statistics.median(past), BandwidthOrigin.MEASURED, len(past))
        stated = self._stated.get((source, target))
        if stated is not None:
            return Forecast(stated, BandwidthOrigin.STATED)
        return Forecast(ASSUMED_BYTES_PER_S, BandwidthOrigin.ASSUMED)

    def forecasts(self) -> dict[tuple[int, int], Forecast]:
        """The forecast of every ordered pair of different sites."""
        return {pair: self.forecast(*pair) for pair in self._pairs}

    def bytes_per_s(self) -> dict[tuple[int, int], float]:
        """The forecast of every ordered pair of different sites, as policies read it."""
        return {pair: self.forecast(*pair).bytes_per_s for pair in self._pairs}


def stated_bytes_per_s(topology: Topology) -> dict[tuple[int, int], float]:
    """What a topology states for the ordered pairs of its sites: the slower of the two access links on the way."""
    return {
        (topology.index(source), topology.index(target)): rate_bytes_per_s(topology.path_rate_mbit(source, target))
        for source, target in topology.ordered_pairs
    }
