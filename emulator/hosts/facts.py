"""What is known of a host before a testbed spreads over it, and the protocol of its readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from emulator.hosts.inventory import Host


@dataclass(frozen=True, slots=True)
class SwarmFacts:
    """A host's place in its Swarm; only a manager knows the `members` (state by node), and how many managers there are.

    `state` is ``active``, ``inactive``, ``pending``, ``locked`` or ``error``. `address` is the one by which the Swarm's
    hosts reach this one; empty if its engine states none.
    """

    state: str
    node: str = ""
    is_manager: bool = False
    managers: int = 0
    members: dict[str, str] = field(default_factory=dict)
    address: str = ""


@dataclass(frozen=True, slots=True)
class NetworkFacts:
    """A host's own network: addresses with the MTU of their interface, its routes, and closed ports of other hosts.

    `interfaces` are the addresses with the prefix of their network, such as 192.168.1.10/24.
    """

    mtu_by_address: dict[str, int]
    routes: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The facts that a host's engine reports about itself and its host.

    The host's clock is ahead of this one by `clock_ahead_s`, known to within `clock_bound_s`. `subnets` are those of
    its engine's networks. `network` is None where no container could look at it, because no image is there yet.
    `security_options` are as the engine states them, such as ``name=rootless``.
    """

    engine: str
    architecture: str
    cores: int
    memory_bytes: int
    swarm: SwarmFacts
    subnets: tuple[str, ...] = ()
    has_node_image: bool = False
    clock_ahead_s: float = 0.0
    clock_bound_s: float = 0.0
    network: NetworkFacts | None = None
    security_options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A host whose engine does not answer, and why."""

    reason: str


Known = HostFacts | Unreachable


class FactsReader(Protocol):
    """A reader of the facts of hosts; it never raises for what a host lacks."""

    def facts_of(self, host: Host) -> Known:
        """Return what a host's engine says, without the host's own network."""
        ...

    def network_of(self, host: Host, targets: Sequence[str]) -> NetworkFacts | None:
        """Return what a host's own network is like, and which ``ADDRESS:PORT`` it does not reach."""
        ...
