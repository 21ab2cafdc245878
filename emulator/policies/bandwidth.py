"""Forecasts of the bandwidth of the next wide-area transfer between two sites, from past transfers.

The forecast is the median of the last `REMEMBERED` transfers over the ordered pair of sites. The median is used because
the wide area is shared: a transfer that shared the path was slower and says little about the next one. Before the first
transfer of a pair, the forecast is the rate that the topology states for the path. If the topology states none, it is
`ASSUMED_BYTES_PER_S`, and its origin says so.
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
"""Number of past transfers of a pair that are used; it is odd, so the median is one of the transfers."""


ASSUMED_BYTES_PER_S = 12_500_000.0
"""Rate assumed before the first transfer if nothing is known about the path: 100 Mbit/s."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """A forecast in emulated bytes per second, its origin, and the number of past transfers it is the median of."""

    bytes_per_s: float
    origin: BandwidthOrigin
    transfers: int = 0


class BandwidthForecast:
    """Forecasts per ordered pair (source, target) of site indices.

    `stated` holds the known rates before any transfer, in emulated bytes per second.
    """

    def __init__(self, sites: int, stated: Mapping[tuple[int, int], float]) -> None:
        self._pairs = [(source, target) for source in range(sites) for target in range(sites) if source != target]
        self._stated = dict(stated)
        self._past: dict[tuple[int, int], list[float]] = {}

    def learn(self, source: int, target: int, bytes_per_s: float) -> None:
        """Record a transfer that ran at `bytes_per_s` emulated bytes per second.

        Raises:
            InvalidInput: if the rate is not positive and finite.
        """
        if not (math.isfinite(bytes_per_s) and bytes_per_s > 0):
            raise InvalidInput(f"A transfer's rate must be a positive number of bytes per second, not {bytes_per_s!r}.")
        past = self._past.setdefault((source, target), [])
        past.append(bytes_per_s)
        del past[:-REMEMBERED]

    def forget(self) -> None:
        """Forget all transfers: forecasts are what the topology states, as at first."""
        self._past.clear()

    def forecast(self, source: int, target: int) -> Forecast:
        """Return the forecast from `source` to `target`."""
        past = self._past.get((source, target))
        if past:
            return Forecast(statistics.median(past), BandwidthOrigin.MEASURED, len(past))
        stated = self._stated.get((source, target))
        if stated is not None:
            return Forecast(stated, BandwidthOrigin.STATED)
        return Forecast(ASSUMED_BYTES_PER_S, BandwidthOrigin.ASSUMED)

    def forecasts(self) -> dict[tuple[int, int], Forecast]:
        """Return the forecast of every ordered pair of different sites."""
        return {pair: self.forecast(*pair) for pair in self._pairs}

    def bytes_per_s(self) -> dict[tuple[int, int], float]:
        """Return the forecast rate of every ordered pair of different sites, in emulated bytes per second."""
        return {pair: self.forecast(*pair).bytes_per_s for pair in self._pairs}


def stated_bytes_per_s(topology: Topology) -> dict[tuple[int, int], float]:
    """Return the rate that the topology states for each ordered pair of sites: the slower of the two access links."""
    return {
        (topology.index(source), topology.index(target)): rate_bytes_per_s(topology.path_rate_mbit(source, target))
        for source, target in topology.ordered_pairs
    }
