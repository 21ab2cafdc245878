"""Transfers of input files in a simulation, over access links that are shared by all transfers that cross them.

The file of a placed job is under way from its placement on, from the chosen replica to each cluster that lacks it. A
transfer crosses two links: the uplink of its source and the downlink of its target. Rates are max-min fair: all grow
alike until a link is full, then those on other links grow on. They change only when a transfer begins or ends.

Each transfer that has ended is a measurement of its path. Later placements use the forecasts that follow from them, by
the same rule as in the broker (`emulator.policies.bandwidth`). Messages of running jobs share these links live; here
they do not slow transfers down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from emulator.model.errors import InvalidInput
from emulator.model.placement import Placement
from emulator.model.topology import Topology
from emulator.model.units import rate_bytes_per_s
from emulator.policies.bandwidth import ASSUMED_BYTES_PER_S, BandwidthForecast, stated_bytes_per_s
from emulator.policies.state import FileState

FILE_SHARE: Final = 1448 / 1514
"""The part of a full Ethernet frame that TCP leaves to the file; the links' rates count whole frames."""
NEVER: Final = math.inf


class Transfer:
    """A transfer of `size_bytes` for a job; `left_bytes` were left at the last change of its rate."""

    __slots__ = (
        "began_s", "ends_s", "job", "left_bytes", "looked_s", "rate_bytes_per_s", "size_bytes", "source", "target",
    )  # fmt: skip

    def __init__(self, job: int, source: int, target: int, size_bytes: float, time_s: float) -> None:
        self.job = job
        self.source = source
        self.target = target
        self.size_bytes = self.left_bytes = size_bytes
        self.began_s = self.looked_s = time_s
        self.rate_bytes_per_s: float = 0.0
        self.ends_s: float = NEVER

    def go_on(self, rate_bytes_per_s: float, time_s: float) -> None:
        """Go on at another rate from `time_s` on; the end stays exact while the rate does not change."""
        if rate_bytes_per_s == self.rate_bytes_per_s:
            return
        self.left_bytes = max(0.0, self.left_bytes - (time_s - self.looked_s) * self.rate_bytes_per_s)
        self.looked_s = time_s
        self.rate_bytes_per_s = rate_bytes_per_s
        self.ends_s = time_s + self.left_bytes / rate_bytes_per_s


class Transfers:
    """The transfers under way between clusters whose access links carry `up` and `down` bytes of files per second.

    `stated` are the rates that are forecast for a path before its first transfer.

    Raises:
        InvalidInput: if there are not as many uplinks as downlinks, or a rate is not positive and finite.
    """

    def __init__(self, up: Sequence[float], down: Sequence[float], stated: Mapping[tuple[int, int], float]) -> None:
        if len(up) != len(down) or not all(0.0 < rate < math.inf for rate in (*up, *down)):
            raise InvalidInput(f"transfers: each cluster needs a positive rate up and down, not {up} and {down}.")
        self._rates: dict[tuple[str, int], float] = {
            **{("up", cluster): rate for cluster, rate in enumerate(up)},
            **{("down", cluster): rate for cluster, rate in enumerate(down)},
        }
        self._forecasts = BandwidthForecast(len(up), stated)
        self._under_way: list[Transfer] = []
        self.ended: list[Transfer] = []
        """The transfers that have ended, in order."""

    @classmethod
    def over(cls, topology: Topology) -> Transfers:
        """Return the transfers over the access links of `topology`; none is under way.

        Nothing is known of a real cluster's links; theirs are assumed as the forecasts assume them.
        """
        links = [cluster.stated_access_link for cluster in topology.clusters]
        up = [ASSUMED_BYTES_PER_S if link is None else rate_bytes_per_s(link.up_mbit) * FILE_SHARE for link in links]
        down = [
            ASSUMED_BYTES_PER_S if link is None else rate_bytes_per_s(link.down_mbit) * FILE_SHARE for link in links
        ]
        return cls(up, down, stated_bytes_per_s(topology))

    def begin(self, job: int, file: FileState, placement: Placement, time_s: float) -> None:
        """Begin the transfers of the input file of a job that was placed at `time_s`."""
        clusters = [component.cluster for component in placement.components]
        sources = dict(zip(clusters, placement.file_sites, strict=True))
        missing = [(source, target) for target, source in sources.items() if target not in file.sites]
        self._under_way += [Transfer(job, source, target, file.size_bytes, time_s) for source, target in missing]
        if missing:
            self._share(time_s)

    def end(self, job: int, time_s: float) -> None:
        """End the transfers of a job that does not need them any more."""
        left = [transfer for transfer in self._under_way if transfer.job != job]
        if len(left) < len(self._under_way):
            self._under_way = left
            self._share(time_s)

    def awaits(self, job: int) -> bool:
        """Return whether a file of the job is under way."""
        return any(transfer.job == job for transfer in self._under_way)

    def next_s(self) -> float:
        """Return the timestamp of the next end of a transfer; infinite if none is under way."""
        return min([transfer.ends_s for transfer in self._under_way], default=NEVER)

    def advance(self, time_s: float) -> list[int]:
        """Conclude the transfers that end by `time_s`; returns the jobs whose file is everywhere now."""
        ended = [transfer for transfer in self._under_way if transfer.ends_s <= time_s]
        self._under_way = [transfer for transfer in self._under_way if transfer.ends_s > time_s]
        self.ended += ended
        for transfer in ended:
            if transfer.ends_s > transfer.began_s:
                measured = transfer.size_bytes / (transfer.ends_s - transfer.began_s)
                self._forecasts.learn(transfer.source, transfer.target, measured)
        self._share(time_s)
        return [job for job in dict.fromkeys(transfer.job for transfer in ended) if not self.awaits(job)]

    def bytes_per_s(self) -> dict[tuple[int, int], float]:
        """Return the forecast rate of every path."""
        return self._forecasts.bytes_per_s()

    def _share(self, time_s: float) -> None:
        """Share the links fairly: the fullest link first, whose transfers can get no more."""
        left = dict(self._rates)
        waiting = list(self._under_way)
        while waiting:
            crossing: dict[tuple[str, int], int] = {}
            for transfer in waiting:
                for link in _links(transfer):
                    crossing[link] = crossing.get(link, 0) + 1
            fullest = min(crossing, key=lambda link: left[link] / crossing[link])
            rate = left[fullest] / crossing[fullest]
            for transfer in waiting:
                if fullest in _links(transfer):
                    transfer.go_on(rate, time_s)
                    for link in _links(transfer):
                        left[link] = max(0.0, left[link] - rate)
            waiting = [transfer for transfer in waiting if fullest not in _links(transfer)]


def _links(transfer: Transfer) -> tuple[tuple[str, int], tuple[str, int]]:
    return ("up", transfer.source), ("down", transfer.target)
