"""What a co-allocating broker asks of a cluster's local resource manager.

A *claim* is a request for processors that the broker names; the *allocation* is the local manager's own identity for
it. Moments are taken where things happen and are host seconds of the wall clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Processors of a cluster as its local manager counts them, whoever uses them."""

    nodes: int
    processors: int
    idle: int


class AllocationEventKind(StrEnum):
    """What becomes of an allocation."""

    CLAIMED = "claimed"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class AllocationEvent:
    """An allocation began to hold its processors, or ended, at `host_moment_s`."""

    kind: AllocationEventKind
    claim: str
    allocation: str
    host_moment_s: float


@dataclass(frozen=True, slots=True)
class NodeShare:
    """A job's processors on one node of a cluster, by the node's name there."""

    node: str
    processors: int


@dataclass(frozen=True, slots=True)
class Part:
    """A job's share of one cluster, once claimed: where its ranks are to be started, and how many.

    `nodes` are those of a real cluster, to which ranks are led one by one; a container holds all nodes of its cluster,
    so nothing is said of them there. `login` are the words by which ssh reaches a real head, `setup` a line of shell
    to run on its nodes first, `message_range` what MPI's messages keep to there.
    """

    head_address: str
    allocation: str
    processors: int
    nodes: tuple[NodeShare, ...] = ()
    login: tuple[str, ...] = ()
    setup: str = ""
    message_range: str = ""

    @property
    def is_real(self) -> bool:
        """Whether its nodes are machines of their own."""
        return bool(self.nodes)


class RunningProgram(Protocol):
    """A program that runs inside allocations."""

    def lines(self) -> Iterator[str]:
        """Its standard output, line by line, until it ends."""
        ...

    def error_text(self) -> str:
        """The end of its standard error so far."""
        ...

    def exit_code(self) -> int:
        """Its exit code; waits for the end."""
        ...

    def close(self) -> None:
        """Let go of it; its allocation's release ends it."""
        ...


class LocalResourceManager(Protocol):
    """One cluster's resource manager. Every method may raise `ClusterUnreachable`."""

    @property
    def cluster(self) -> str:
        """The cluster's name."""
        ...

    @property
    def address(self) -> str:
        """Address at which the other clusters reach this one's head."""
        ...

    def occupancy(self) -> Occupancy:
        """Processors now, and how many nobody uses."""
        ...

    def claim(self, claim: str, processors: int) -> str:
        """Ask for `processors` under the name `claim`; returns the allocation's identity without waiting for it.

        Raises:
            ClaimFailed: if the local manager refuses.
        """
        ...

    def part(self, allocation: str, processors: int) -> Part:
        """Where the `processors` of an allocation are, once it holds them.

        Raises:
            ClaimFailed: if it holds fewer, or has ended.
        """
        ...

    def release(self, allocation: str) -> None:
        """End an allocation, and with it everything that runs inside; does nothing if it has ended."""
        ...

    def release_claim(self, claim: str) -> None:
        """End the allocation of that claim, whose identity was not heard; does nothing if there is none."""
        ...

    def release_all(self) -> None:
        """End every allocation that a broker of this testbed ever claimed here."""
        ...

    def start(self, script: str, allocation: str, label: str, processes: int = 0) -> RunningProgram:
        """Run the shell `script` inside `allocation`: once at its first node, or, if told, so many `processes` of it.

        `label` names its files. What the processes write comes together, line by line.
        """
        ...

    def watch(self, on_event: Callable[[AllocationEvent], None], on_reachable: Callable[[bool, str], None]) -> None:
        """Report allocations' events from now on, and whenever the cluster is lost or found again (with the reason).

        If `on_reachable` raises when the cluster was found, it is lost still and looked for again.
        """
        ...

    def close(self) -> None:
        """Stop watching and hang up."""
        ...
