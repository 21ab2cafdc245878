"""People who work at nodes of a non-dedicated cluster: the profiles of the 3DBackfilling paper.

A user in turn thinks and asks for a burst of processor time. Both are exponentially distributed; their means follow
from the profile's share of the processor and `PERIOD_S`, which the paper does not give. A user whose burst is served
late asks for the next one later. The benchmark of the paper reports how long a system call takes; here that is how long
a burst is delayed beyond its own processor time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from emulator.model.errors import InvalidInput, UnknownName
from workloads.distributions import stream

PERIOD_S: Final = 1.0
"""The mean of a burst and the thinking before it, where nothing delays it."""

SHARE_OF_NODES: Final = 0.25


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


@dataclass(frozen=True, slots=True)
class LocalUser:
    """A user at node `node` of a cluster, both counted from 0."""

    node: int
    profile: UserProfile
    cluster: int = 0


def drawn_users(seed: int, nodes: Sequence[int], share: float = SHARE_OF_NODES) -> tuple[LocalUser, ...]:
    """Draw users at a share of the nodes of clusters with `nodes` nodes each, of the profiles at their frequency.

    Raises:
        InvalidInput: if the share does not lie from 0 to 1.
    """
    if not 0.0 <= share <= 1.0:
        raise InvalidInput(f"local users: a share of the nodes lies from 0 to 1, not {share!r}.")
    numbers = stream(seed, "local users")
    profiles = list(PROFILES.values())
    frequencies = [profile.frequency for profile in profiles]
    users: list[LocalUser] = []
    for cluster, size in enumerate(nodes):
        chosen = sorted(int(node) for node in numbers.permutation(size)[: round(share * size)])
        kinds = numbers.choice(len(profiles), size=len(chosen), p=frequencies)
        users += [LocalUser(node, profiles[int(kind)], cluster) for node, kind in zip(chosen, kinds, strict=True)]
    return tuple(users)


def named_users(text: str, nodes: int) -> tuple[LocalUser, ...]:
    """Return the users that ``NODE:PROFILE,NODE:PROFILE`` names, at nodes 0 to `nodes` - 1 of the first cluster.

    Raises:
        InvalidInput: if a node does not exist, has two users, or is no number.
        UnknownName: if there is no such profile.
    """
    users: list[LocalUser] = []
    for entry in filter(None, (each.strip() for each in text.split(","))):
        number, _, profile = entry.partition(":")
        if not number.isascii() or not number.isdigit():
            raise InvalidInput(f"local users: {entry!r} names no node (write NODE:PROFILE, such as 3:internet).")
        node = int(number)
        if node >= nodes:
            raise InvalidInput(f"local users: there is no node {node} (the cluster has nodes 0 to {nodes - 1}).")
        if any(user.node == node for user in users):
            raise InvalidInput(f"local users: node {node} has a user already.")
        if profile not in PROFILES:
            raise UnknownName.among("local user's profile", profile, list(PROFILES))
        users.append(LocalUser(node, PROFILES[profile]))
    return tuple(users)
