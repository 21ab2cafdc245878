"""The network between a host and the central one (the underlay), and how far their clocks are apart. Pure.

Both follow from datagrams that are sent to the central host and answered there. The difference of the clocks is known
to within half of the quickest round trip, because the way there may take longer than the way back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Annotated

from pydantic import Field

from emulator.model.documents import DocumentModel

NotNegative = Annotated[float, Field(ge=0)]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A datagram to the central host and its answer: four timestamps, the middle two by the clock of the central host.

    All are host seconds.
    """

    sent_s: float
    arrived_s: float
    answered_s: float
    returned_s: float

    @property
    def one_way_s(self) -> float:
        """Half of the round trip, without the time at the central host."""
        return max(0.0, (self.returned_s - self.sent_s) - (self.answered_s - self.arrived_s)) / 2

    @property
    def ahead_s(self) -> float:
        """How far this host's clock is ahead of the central one's, if both ways take as long."""
        return ((self.sent_s - self.arrived_s) + (self.returned_s - self.answered_s)) / 2


class Underlay(DocumentModel):
    """What was measured between a host and the central one: host seconds, and Mbit/s of the host.

    `host_delay_s` is one way: the median of the quicker half, because the hosts' own work delays some. `host_jitter_s`
    is by how much one way in twenty is longer. The host's clock is ahead of the central one's by `host_clock_ahead_s`,
    known to within `host_clock_bound_s`. The rates are None where only delays were measured.
    """

    host_delay_s: NotNegative
    host_jitter_s: NotNegative
    host_clock_ahead_s: float
    host_clock_bound_s: NotNegative
    host_rate_to_central_mbit: NotNegative | None = None
    host_rate_from_central_mbit: NotNegative | None = None


def steadier(first: Mapping[str, Underlay], second: Mapping[str, Underlay]) -> dict[str, Underlay]:
    """Return of two measurements the one with less jitter for each host: other work there may have added some."""
    return {
        host: min(first[host], second.get(host, first[host]), key=lambda found: found.host_jitter_s) for host in first
    }


def underlay_of(
    exchanges: Sequence[Exchange], to_central_mbit: float | None = None, from_central_mbit: float | None = None
) -> Underlay:
    """Return what `exchanges` (at least one) say of the underlay; the rates, where they are known, are from streams."""
    ways_s = sorted(exchange.one_way_s for exchange in exchanges)
    quickest = min(exchanges, key=lambda exchange: exchange.one_way_s)
    delay_s = median(ways_s[: len(ways_s) // 2 + 1])
    return Underlay(
        host_delay_s=delay_s,
        host_jitter_s=max(0.0, ways_s[int(0.95 * (len(ways_s) - 1))] - delay_s),
        host_rate_to_central_mbit=to_central_mbit,
        host_rate_from_central_mbit=from_central_mbit,
        host_clock_ahead_s=quickest.ahead_s,
        host_clock_bound_s=quickest.one_way_s,
    )
