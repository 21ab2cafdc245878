"""Transfers of input files in a simulation, over access links that are shared by all transfers that cross them.

The file of a placed job is brought from its placement on, from the chosen replica to each cluster that lacks it. A
transfer crosses two links: the uplink of its source and the downlink of its target. Rates are max-min fair: all grow
alike until a link is full, then those on other links grow on. They change only when a transfer begins or ends. The
login at the source comes before its first byte, and a check of the file after its last; neither uses the links.

Each transfer that has ended is a measurement of its path. Later placements use the forecasts that follow from them, by
the same rule as in the broker (`emulator.policies.bandwidth`). Messages of running jobs share these links live; here
they do not slow transfers down.
"""

from __future__ import annotations

import itertools
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
    """A transfer of `size_bytes` for a job from `began_s` on; a check of the file takes `check_s` after it.

    `left_bytes` were left at the last change of its rate.
    """

    __slots__ = (
        "began_s", "check_s", "ends_s", "job", "left_bytes", "looked_s", "rate_bytes_per_s", "size_bytes", "source",
        "target",
    )  # fmt: skip

    def __init__(
        self, job: int, source: int, target: int, size_bytes: float, began_s: float, check_s: float = 0.0
    ) -> None:
        self.job = job
        self.source = source
        self.target = target
        self.size_bytes = self.left_bytes = size_bytes
        self.began_s = self.looked_s = began_s
        self.check_s = check_s
        self.rate_bytes_per_s: float = 0.0
        self.ends_s: float = NEVER

    @property
    def usable_s(self) -> float:
        """The timestamp from which on the file can be used."""
        return self.ends_s + self.check_s

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

    `stated` are the rates that are forecast for a path before its first transfer. Transfers have `logins_s` in
    turn from the job's placement to the first byte, and `checks_s` from the last byte until the file can be used.

    Raises:
        InvalidInput: if there are not as many uplinks as downlinks, or a rate is not positive and finite.
    """

    def __init__(
        self,
        up: Sequence[float],
        down: Sequence[float],
        stated: Mapping[tuple[int, int], float],
        logins_s: Sequence[float] = (0.0,),
        checks_s: Sequence[float] = (0.0,),
    ) -> None:
        if len(up) != len(down) or not all(0.0 < rate < math.inf for rate in (*up, *down)):
            raise InvalidInput(f"transfers: each cluster needs a positive rate up and down, not {up} and {down}.")
        self._rates: dict[tuple[str, int], float] = {
            **{("up", cluster): rate for cluster, rate in enumerate(up)},
            **{("down", cluster): rate for cluster, rate in enumerate(down)},
        }
        self._forecasts = BandwidthForecast(len(up), stated)
        self._logins_s = itertools.cycle(logins_s)
        self._checks_s = itertools.cycle(checks_s)
        self._logging_in: list[Transfer] = []
        self._under_way: list[Transfer] = []
        self._being_checked: list[Transfer] = []
        self.ended: list[Transfer] = []
        """The transfers that have ended, in order."""

    @classmethod
    def over(
        cls, topology: Topology, logins_s: Sequence[float] = (0.0,), checks_s: Sequence[float] = (0.0,)
    ) -> Transfers:
        """Return the transfers over the access links of `topology`; none is under way.

        Nothing is known of a real cluster's links; theirs are assumed as the forecasts assume them.
        """
        links = [cluster.stated_access_link for cluster in topology.clusters]
        up = [ASSUMED_BYTES_PER_S if link is None else rate_bytes_per_s(link.up_mbit) * FILE_SHARE for link in links]
        down = [
            ASSUMED_BYTES_PER_S if link is None else rate_bytes_per_s(link.down_mbit) * FILE_SHARE for link in links
        ]
        return cls(up, down, stated_bytes_per_s(topology), logins_s, checks_s)

    def begin(self, job: int, file: FileState, placement: Placement, time_s: float) -> None:
        """Begin the transfers of the input file of a job that was placed at `time_s`."""
        clusters = [component.cluster for component in placement.components]
        sources = dict(zip(clusters, placement.file_sites, strict=True))
        missing = [(source, target) for target, source in sources.items() if target not in file.sites]
        begun = [
            Transfer(job, source, target, file.size_bytes, time_s + next(self._logins_s), next(self._checks_s))
            for source, target in missing
        ]
        self._logging_in += begun
        if any(transfer.began_s <= time_s for transfer in begun):
            self._let_begin(time_s)

    def end(self, job: int, time_s: float) -> None:
        """End the transfers of a job that does not need them any more."""
        self._logging_in = [transfer for transfer in self._logging_in if transfer.job != job]
        self._being_checked = [transfer for transfer in self._being_checked if transfer.job != job]
        left = [transfer for transfer in self._under_way if transfer.job != job]
        if len(left) < len(self._under_way):
            self._under_way = left
            self._share(time_s)

    def awaits(self, job: int) -> bool:
        """Return whether the job's file is not yet everywhere."""
        stages = (self._logging_in, self._under_way, self._being_checked)
        return any(transfer.job == job for stage in stages for transfer in stage)

    def next_s(self) -> float:
        """Return the timestamp of the next beginning or end of a transfer, or of a check; infinite if there is none."""
        return min(
            min([transfer.began_s for transfer in self._logging_in], default=NEVER),
            min([transfer.ends_s for transfer in self._under_way], default=NEVER),
            min([transfer.usable_s for transfer in self._being_checked], default=NEVER),
        )

    def advance(self, time_s: float) -> list[int]:
        """Begin and conclude the transfers that are due by `time_s`; returns the jobs whose file is everywhere now."""
        ended = [transfer for transfer in self._under_way if transfer.ends_s <= time_s]
        self._under_way = [transfer for transfer in self._under_way if transfer.ends_s > time_s]
        self.ended += ended
        for transfer in ended:
            if transfer.ends_s > transfer.began_s:
                measured = transfer.size_bytes / (transfer.ends_s - transfer.began_s)
                self._forecasts.learn(transfer.source, transfer.target, measured)
        self._let_begin(time_s)
        self._being_checked += ended
        checked = [transfer for transfer in self._being_checked if transfer.usable_s <= time_s]
        self._being_checked = [transfer for transfer in self._being_checked if transfer not in checked]
        return [job for job in dict.fromkeys(transfer.job for transfer in checked) if not self.awaits(job)]

    def bytes_per_s(self) -> dict[tuple[int, int], float]:
        """Return the forecast rate of every path."""
        return self._forecasts.bytes_per_s()

    def _let_begin(self, time_s: float) -> None:
        """Let the transfers begin that have logged in by `time_s`, and share the links anew."""
        self._under_way += [transfer for transfer in self._logging_in if transfer.began_s <= time_s]
        self._logging_in = [transfer for transfer in self._logging_in if transfer.began_s > time_s]
        self._share(time_s)

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
