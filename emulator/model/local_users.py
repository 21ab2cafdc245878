"""People who work at nodes of a non-dedicated cluster: the profiles of the 3DBackfilling paper.

A user in turn thinks and asks for a burst of processor time. Both are exponentially distributed; their means follow
from the profile's share of the processor and `PERIOD_S`, which the paper does not give. A user whose burst is served
late asks for the next one later. The benchmark of the paper reports how long a system call takes; here that is how long
a burst is delayed beyond its own processor time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from emulator.model.errors import UnknownName

PERIOD_S: Final = 1.0
"""The mean of a burst and the thinking before it, where nothing delays it."""


@dataclass(frozen=True, slots=True)
class UserProfile:
    """The demand of a local user on a node: shares of its processor and memory, and network traffic."""

    name: str
    frequency: float
    processor_share: float
    memory_share: float
    traffic_bytes_per_s: float

    @property
    def burst_s(self) -> float:
        """The mean processor time of a burst."""
        return self.processor_share * PERIOD_S

    @property
    def think_s(self) -> float:
        """The mean time between two bursts."""
        return PERIOD_S - self.burst_s


PROFILES: Final = {
    profile.name: profile
    for profile in (
        UserProfile("xwindows", 0.65, 0.15, 0.35, 500.0),
        UserProfile("internet", 0.35, 0.20, 0.60, 3000.0),
    )
}


def profile_named(name: str) -> UserProfile:
    """Return the profile of that name.

    Raises:
        UnknownName: if there is none.
    """
    if name not in PROFILES:
        raise UnknownName.among("local user's profile", name, list(PROFILES))
    return PROFILES[name]


class AskedBurst(NamedTuple):
    """A burst of `processor_s` that a local user asks for at the timestamp `asked_s`."""

    asked_s: float
    processor_s: float


@dataclass(frozen=True, slots=True)
class LocalUser:
    """A user at node `node` of a cluster, both counted from 0."""

    node: int
    profile: UserProfile
    cluster: int = 0
