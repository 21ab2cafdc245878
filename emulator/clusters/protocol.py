"""The interface of a cluster's local resource manager, as a co-allocating broker uses it.

A *claim* is a request for processors that the broker names; the *allocation* is the local manager's own identity for
it. Timestamps are taken where things happen and are host seconds of the wall clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

CONNECTION_LOST: Final = -1
"""The exit code of a program whose end nobody reported."""


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Processors of a cluster as its local manager counts them, including those that local users hold.

    Where tasks share nodes in time, `unusable` names the nodes that take no task: drained or dead ones.
    """

    nodes: int
    processors: int
    idle: int
    unusable: frozenset[str] = frozenset()


class AllocationEventKind(StrEnum):
    """The kind of an allocation's event."""

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

    `nodes` are those of a real cluster, on which ranks are started one by one, or of a container whose tasks share
    nodes in time. They are empty for any other container, which holds all nodes of its cluster. `login` are the
    arguments by which ssh reaches a real head, `setup` is a line of shell to run on its nodes first, `message_range`
    the address range for MPI's messages there.
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
        return bool(self.login)


class RunningProgram(Protocol):
    """A program that runs inside allocations."""

    def lines(self) -> Iterator[str]:
        """Yield its standard output line by line until it ends."""
        ...

    def error_text(self) -> str:
        """Return the end of its standard error so far."""
        ...

    def send(self, text: str) -> None:
        """Write `text` to its standard input; do nothing if it does not listen any more."""
        ...

    def exit_code(self) -> int:
        """Wait for its end and return its exit code; `CONNECTION_LOST` if there is none."""
        ...

    def close(self) -> None:
        """Stop following it; releasing its allocation ends it."""
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
        """Return the processors now, and how many of them are idle."""
        ...

    def claim(self, claim: str, processors: int, nodes: Sequence[str] = (), memory_mb: float = 0.0) -> str:
        """Ask for `processors` under the name `claim`; return the allocation's identity without waiting for it.

        If `nodes` are named, there is one for each processor; else the local manager chooses them. `memory_mb` is what
        a task on a processor needs; only nodes that are shared in time count it.

        Raises:
            ClaimFailed: if the local manager refuses.
        """
        ...

    def part(self, allocation: str, processors: int) -> Part:
        """Return where the `processors` of an allocation are, once it holds them.

        Raises:
            ClaimFailed: if it holds fewer, or has ended.
        """
        ...

    @property
    def malformed_events(self) -> int:
        """The number of reported events that could not be read, and were skipped."""
        ...

    def release(self, allocation: str) -> None:
        """End an allocation and everything that runs inside; do nothing if it has ended.

        Raises:
            ClusterUnreachable: if it may not have ended.
        """
        ...

    def allocations(self) -> Mapping[str, str]:
        """Get the claim of each allocation of this testbed that holds processors or waits for them.

        Raises:
            ClusterUnreachable: if the local manager does not say.
        """
        ...

    def forget(self, claim: str) -> None:
        """End whatever is left of a claim whose allocation is not listed, though its end was never reported.

        Raises:
            ClusterUnreachable: if something may be left.
        """
        ...

    def release_all(self) -> None:
        """End every allocation that a broker of this testbed ever claimed here, and dismiss every key it admitted.

        Raises:
            ClusterUnreachable: if one of them may be left.
        """
        ...

    def admit(self, use: str, public_key: str) -> None:
        """Let the holder of a key run commands at this head, until `dismiss`; do nothing if the head is a container."""
        ...

    def dismiss(self, use: str) -> None:
        """No longer let in the key that was admitted for `use`."""
        ...

    def start(self, script: str, allocation: str, label: str, processes: int = 0) -> RunningProgram:
        """Run the shell `script` inside `allocation`: once at its first node, or in `processes` processes if not 0.

        `label` names its files. What is sent to the program comes on the standard input of its processes. The output of
        all processes is merged line by line.
        """
        ...

    def watch(self, on_event: Callable[[AllocationEvent], None], on_reachable: Callable[[bool, str], None]) -> None:
        """Report allocations' events from now on, and whenever the cluster is lost or found again (with the reason).

        If `on_reachable` raises when the cluster was found, the cluster counts as lost and is looked for again.
        """
        ...

    def close(self) -> None:
        """Stop watching and hang up."""
        ...
