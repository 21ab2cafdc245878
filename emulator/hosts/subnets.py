"""The choice of a private subnet for a testbed, beside what its host, or its hosts, use already. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Final

LEAST_PREFIX: Final = 8
"""A route with a shorter prefix leads everywhere, as the default route does: a VPN may replace it by its two halves. A
testbed's own networks come before it."""


@dataclass(frozen=True, slots=True)
class UsedSubnets:
    """The subnets in use: those `held` by networks, interfaces and testbeds, and the destinations of `routes`."""

    held: tuple[IPv4Network, ...] = ()
    routes: tuple[IPv4Network, ...] = ()


UNUSED: Final = UsedSubnets()


@dataclass(frozen=True, slots=True)
class FreeSubnet:
    """A subnet that a testbed may take; while it does, that part of where wider `routes` lead is not reached."""

    subnet: IPv4Network
    routes: tuple[IPv4Network, ...] = ()

    @property
    def hidden(self) -> str:
        """What is not reached, in words; empty if no route leads there."""
        if not self.routes:
            return ""
        routes = " and ".join(map(str, self.routes))
        return f"{self.subnet} is a part of the route to {routes}: that part is not reached while a testbed is up there"


def addresses_in(words: Iterable[str]) -> Iterator[str]:
    """Yield those of the words that are addresses of version 4, and not names."""
    for word in words:
        try:
            yield str(IPv4Address(word))
        except ValueError:
            continue


def free_subnet(used: UsedSubnets, possible: Sequence[str]) -> FreeSubnet | None:
    """Return the first of the `possible` subnets that overlaps nothing in use, or None if there is none.

    If routes to more than a subnet leave none, such as one to all of 10.0.0.0/8, it is one in the fewest of them.
    """
    networks = [subnet for subnet in map(IPv4Network, possible) if not _in_the_way(used, subnet)]
    found = [FreeSubnet(subnet, _overlapping(used.routes, subnet)) for subnet in networks]
    return min(found, key=lambda each: len(each.routes), default=None)


def widest_in_the_way(used: UsedSubnets, possible: Sequence[str]) -> IPv4Network:
    """Return the widest of what keeps a testbed from all `possible` subnets."""
    found = [each for subnet in map(IPv4Network, possible) for each in _in_the_way(used, subnet)]
    return min(found, key=lambda each: each.prefixlen)


def _in_the_way(used: UsedSubnets, subnet: IPv4Network) -> tuple[IPv4Network, ...]:
    """Return what keeps a testbed from a subnet: all in use there but routes to more than the subnet."""
    narrow = [route for route in used.routes if route.prefixlen >= subnet.prefixlen]
    return _overlapping([*used.held, *narrow], subnet)


def _overlapping(networks: Sequence[IPv4Network], subnet: IPv4Network) -> tuple[IPv4Network, ...]:
    return tuple(dict.fromkeys(each for each in networks if each.overlaps(subnet)))
