"""The setting of a job: where its processes are, and the emulated time, processors and interconnect they run with."""

from __future__ import annotations

import math
from dataclasses import dataclass

from apps.interconnect import SHARED_MEMORY, Interconnect
from apps.pacing import ProcessorProfile
from emulator.model.clock import Dilation
from emulator.model.errors import InvalidInput

WIDE_AREA = "wide-area"


@dataclass(frozen=True, slots=True)
class JobSetting:
    """The setting of a job of any application: its components, their clusters, time, processors and interconnect.

    `profile` is None if the processors are the host's own, unpaced. `weight` is the cost of the application's update of
    a point relative to Poisson's, which the profile states. `interconnect` is None if messages inside a cluster are not
    paced. With `sampled` numerics most iterations do not compute.

    Raises:
        InvalidInput: if the weight is not positive, or numerics are sampled on unpaced processors.
    """

    dilation: Dilation
    clusters: int
    components: tuple[int, ...]
    profile: ProcessorProfile | None
    weight: float = 1.0
    interconnect: Interconnect | None = None
    sampled: bool = False

    def __post_init__(self) -> None:
        if not 0.0 < self.weight < math.inf:
            raise InvalidInput(f"--weight must be a positive number of Poisson updates, not {self.weight!r}.")
        if self.sampled and self.profile is None:
            raise InvalidInput(
                "--numerics sampled needs paced processors: native ones take the time of their numerics."
            )

    def duration_s(self, points: int) -> float:
        """Return the emulated seconds in which a processor updates `points` grid points once; 0 if it is not paced."""
        return 0.0 if self.profile is None else self.profile.duration_s(points) * self.weight

    def cluster_of_ranks(self) -> tuple[int, ...]:
        """Return the cluster of each rank: components fill one cluster after another; any left over share the last."""
        last = self.clusters - 1
        return tuple(min(index, last) for index, size in enumerate(self.components) for _ in range(size))

    @property
    def interconnects(self) -> str:
        """The names of what carries messages: the interconnect inside clusters, and the wide area between them."""
        inside = SHARED_MEMORY if self.interconnect is None else self.interconnect.name
        return inside if self.clusters == 1 else f"{inside}+{WIDE_AREA}"
