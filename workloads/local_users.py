"""At which nodes local users work: drawn, or named by an option."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from emulator.model.errors import InvalidInput
from emulator.model.local_users import PROFILES, LocalUser, profile_named
from workloads.distributions import stream

SHARE_OF_NODES: Final = 0.25


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
        users.append(LocalUser(node, profile_named(profile)))
    return tuple(users)
