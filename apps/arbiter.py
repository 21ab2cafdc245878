"""The arbiter of a cluster's nodes that tasks share in time: `python3 -m apps.arbiter SHARING NODE...`.

It is started with the cluster. Each rank connects, names its node and the dilation, and asks for processor time
(`apps.shared_pacing`). Who has a node's processor is decided by `emulator.model.time_sharing`, in emulated time; the
arbiter only waits for what comes next. Ranks that share a node belong to one run, so that they have one dilation.

Local users work where SHARING says. They are followed while ranks are on their node; their bursts are told to whoever
watches (`apps.local_bursts`).
"""

from __future__ import annotations

import json
import math
import os
import random
import select
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NoReturn

from apps.interfaces import FOLDER, free_interface
from apps.pacing import make_timers_exact
from apps.precedence import take_short_slices
from apps.shared_pacing import ANSWER, MOST_BYTES, PLACE, REQUEST, WATCHES
from emulator.model.clock import Dilation
from emulator.model.errors import InvalidInput
from emulator.model.time_sharing.arbiter import ROUNDING_S, Arbiter, Grant
from emulator.model.time_sharing.local_work import Burst, LocalWork
from emulator.model.time_sharing.processor import SharedProcessor
from emulator.model.time_sharing.rules import SharingRule, SocialContract, rule_named
from emulator.model.units import nanoseconds, seconds_from_nanoseconds

PATIENCE_HOST_S: Final = 0.001
"""How long a rank that has computed holds its processor until it asks again, or else waits for a message."""
ROUNDING_HOST_S: Final = 1e-8
"""Host timestamps that differ by no more than this are equal: they are whole nanoseconds, reckoned in fractions."""
CLUSTER_VARIABLE: Final = "TESTBED_CLUSTER"
_BACKLOG: Final = 1024


USER: Final = 0
"""The task of a node's local user; those of ranks are the numbers of their connections, which are larger."""
LEAST_SHARE: Final = 0.01
"""The least share that a job is assumed to get of a node with a local user, even if the contract gives it nothing."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """How tasks share the nodes: the rule, the contract, and mean burst and thinking of the users at some nodes."""

    rule: SharingRule
    contract: SocialContract = field(default_factory=SocialContract)
    users: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Sharing:
        """Read it as the command line states it."""
        stated = json.loads(text)
        users = {node: (float(burst_s), float(think_s)) for node, (burst_s, think_s) in stated["users"].items()}
        return cls(rule_named(stated["rule"]), SocialContract(float(stated["parallel_share"])), users)

    def work_on(self, node: str, cluster: str = "") -> LocalWork | None:
        """Return the work of the local user on a node of `cluster`, whose own it is; None if there is no user."""
        return LocalWork(*self.users[node], random.Random(f"{cluster} {node}")) if node in self.users else None


class Node:
    """A node: its processor, and its ranks by the numbers of their connections.

    `user` is its local user. With each rank comes the list of all nodes of its job in this cluster.
    """

    def __init__(self, sharing: Sharing, user: LocalWork | None) -> None:
        self._sharing = sharing
        self._user = user
        self._dilation = Dilation(1.0)
        self._arbiter: Arbiter | None = None
        self._ranks: dict[int, socket.socket] = {}
        self._nodes_of: dict[int, tuple[str, ...]] = {}

    def add(self, rank: socket.socket, dilation: Dilation, nodes: tuple[str, ...]) -> None:
        """Take a rank in.

        Raises:
            InvalidInput: if ranks of another dilation are here.
        """
        if not self._ranks:
            self._begin(dilation)
        if dilation != self._dilation:
            raise InvalidInput(f"its ranks run at a dilation of {self._dilation.factor:g}, not of {dilation.factor:g}")
        self._known.add(rank.fileno())
        self._ranks[rank.fileno()] = rank
        self._nodes_of[rank.fileno()] = nodes

    def remove(self, rank: socket.socket) -> None:
        """Let a rank go."""
        del self._ranks[rank.fileno()], self._nodes_of[rank.fileno()]
        self._answer(self._known.remove(rank.fileno(), self._emulated_s(time.monotonic_ns())))

    @property
    def has_ranks(self) -> bool:
        """Whether ranks are here; each has come before it maps the node's network interface."""
        return bool(self._ranks)

    def share(self) -> float:
        """Return the share of the processor that each rank may count on."""
        parallel = 1.0 if self._user is None else self._sharing.contract.parallel_share
        return max(parallel, LEAST_SHARE) / max(1, len(self._ranks))

    def balance(self, shares: Mapping[str, float]) -> None:
        """Scale the quanta of each rank to the least of the `shares` of its job's nodes."""
        for rank, nodes in self._nodes_of.items():
            self._known.set_weight(rank, min(shares[node] for node in nodes) / self.share())

    def take_bursts(self) -> list[tuple[Burst, float]]:
        """Return the bursts of the user that have ended since this was last called, each with its end's wall clock."""
        if self._user is None or self._arbiter is None:
            return []
        behind_host_s = time.time() - time.monotonic()
        return [
            (burst, behind_host_s + self._dilation.host_duration_s(burst.end_s)) for burst in self._known.take_bursts()
        ]

    def _begin(self, dilation: Dilation) -> None:
        """Begin with a free processor; a user is there already."""
        self._dilation = dilation
        now_s = self._emulated_s(time.monotonic_ns())
        processor = SharedProcessor(self._sharing.rule, self._sharing.contract, now_s)
        # At a small dilation a nanosecond of the host is a long emulated time.
        rounding_s = max(ROUNDING_S, dilation.emulated_duration_s(ROUNDING_HOST_S))
        self._arbiter = Arbiter(processor, dilation.emulated_duration_s(PATIENCE_HOST_S), rounding_s)
        if self._user is not None:
            self._arbiter.add_user(USER, self._user)

    def request(self, rank: socket.socket, message: bytes) -> None:
        """Take a request of a rank.

        Raises:
            InvalidInput: if it is none, or comes before the last one is met.
        """
        if len(message) != REQUEST.size:
            raise InvalidInput(f"a request has {REQUEST.size} bytes, not {len(message)}")
        host_from_ns, host_duration_ns = REQUEST.unpack(message)
        processor_s = self._dilation.emulated_duration_s(seconds_from_nanoseconds(host_duration_ns))
        self._known.request(rank.fileno(), self._emulated_s(host_from_ns), processor_s)

    def advance(self) -> None:
        """Go on to the present, and answer the ranks that have had what they asked for."""
        if self._ranks:
            self._answer(self._known.advance(self._emulated_s(time.monotonic_ns())))

    def next_host_s(self) -> float:
        """Get the timestamp of the monotonic clock at which something is to be done; infinite if there is none."""
        return self._dilation.host_duration_s(self._known.next_s()) if self._ranks else math.inf

    @property
    def _known(self) -> Arbiter:
        assert self._arbiter is not None
        return self._arbiter

    def _emulated_s(self, host_timestamp_ns: int) -> float:
        return self._dilation.emulated_duration_s(seconds_from_nanoseconds(host_timestamp_ns))

    def _host_ns(self, emulated_s: float) -> int:
        return nanoseconds(self._dilation.host_duration_s(emulated_s))

    def _answer(self, grants: Sequence[Grant]) -> None:
        for grant in grants:
            # A rank that has gone is removed when its connection is read.
            with suppress(OSError):
                self._ranks[grant.task].send(ANSWER.pack(self._host_ns(grant.end_s), self._host_ns(grant.late_s)))


@dataclass(frozen=True, slots=True)
class _Rank:
    connection: socket.socket
    name: str
    node: Node


class Server:
    """The server of the ranks of all nodes of `cluster`; the folder `interfaces` has their network interfaces."""

    def __init__(
        self,
        listener: socket.socket,
        sharing: Sharing,
        nodes: Sequence[str],
        cluster: str = "",
        interfaces: Path = FOLDER,
    ) -> None:
        self._listener = listener
        self._interfaces = interfaces
        self._balances = sharing.rule.balances_jobs
        self._nodes = {name: Node(sharing, sharing.work_on(name, cluster)) for name in nodes}
        self._next_host_s = dict.fromkeys(self._nodes, math.inf)
        self._touched: set[str] = set()
        self._ranks: dict[int, _Rank] = {}
        self._unnamed: dict[int, socket.socket] = {}
        self._watchers: dict[int, socket.socket] = {}
        self._speaking = select.epoll()
        self._speaking.register(listener, select.EPOLLIN)

    def serve(self) -> NoReturn:
        """Serve for ever."""
        while True:
            self.step()

    def step(self) -> None:
        """Wait for what comes next, and do it, at those nodes where something is to be done."""
        wait_host_s = min(self._next_host_s.values()) - time.monotonic()
        # An epoll takes any number of connections, but waits for whole milliseconds: `select` waits for it exactly.
        select.select([self._speaking], [], [], None if math.isinf(wait_host_s) else max(0.0, wait_host_s))
        for number, _ in self._speaking.poll(0):
            if number == self._listener.fileno():
                connection, _ = self._listener.accept()
                self._unnamed[connection.fileno()] = connection
                self._speaking.register(connection, select.EPOLLIN)
            elif number in self._unnamed:
                self._begin(self._unnamed.pop(number))
            elif number in self._watchers:
                self._watchers.pop(number).close()
            else:
                self._attend(self._ranks[number])
        now_host_s = time.monotonic()
        self._touched.update(name for name, next_host_s in self._next_host_s.items() if next_host_s <= now_host_s)
        for name in self._touched:
            self._advance(name, self._nodes[name])
        self._touched.clear()

    def _advance(self, name: str, node: Node) -> None:
        node.advance()
        self._next_host_s[name] = node.next_host_s()
        for burst, host_end_moment_s in node.take_bursts():
            self._tell_of(name, burst, host_end_moment_s)

    def _begin(self, connection: socket.socket) -> None:
        """Read which node a rank is on, and take it in there; or take in one who watches local users."""
        try:
            hello = json.loads(connection.recv(MOST_BYTES))
            if hello == WATCHES:
                connection.setblocking(False)
                self._watchers[connection.fileno()] = connection
                return
            name = str(hello["node"])
            node = self._node(name)
            nodes = tuple(str(name) for name in hello["nodes"])
            for each in nodes:
                self._node(each)
            if not node.has_ranks:
                free_interface(name, self._interfaces)
            node.add(connection, Dilation(float(hello["dilation"])), nodes)
        except (InvalidInput, OSError, ValueError, TypeError, KeyError) as error:
            self._refuse(connection, str(error))
            return
        self._ranks[connection.fileno()] = _Rank(connection, name, node)
        self._touched.add(name)
        self._balance()
        with suppress(OSError):
            connection.send(json.dumps({"refused": ""}).encode())

    def _attend(self, rank: _Rank) -> None:
        """Take a request; let a rank go that has ended, or asks for what cannot be."""
        self._touched.add(rank.name)
        try:
            message = rank.connection.recv(MOST_BYTES)
        except ConnectionError:
            message = b""
        try:
            if message:
                rank.node.request(rank.connection, message)
                return
        except InvalidInput as error:
            print(f"a rank is let go: {error}", flush=True)
        del self._ranks[rank.connection.fileno()]
        rank.node.remove(rank.connection)
        rank.connection.close()
        self._balance()

    def _node(self, name: str) -> Node:
        node = self._nodes.get(name)
        if node is None:
            raise InvalidInput(f"this cluster has no node {name!r}")
        return node

    def _balance(self) -> None:
        if self._balances:
            shares = {name: node.share() for name, node in self._nodes.items()}
            for name, node in self._nodes.items():
                if node.has_ranks:
                    node.balance(shares)
                    self._touched.add(name)

    def _tell_of(self, node: str, burst: Burst, host_end_moment_s: float) -> None:
        """Tell all who watch; one who does not read is let go, since the arbiter waits for nobody."""
        words = host_end_moment_s, node, burst.beside, burst.processor_s, burst.delay_s
        for number, watcher in list(self._watchers.items()):
            try:
                watcher.send(" ".join(map(str, words)).encode())
            except OSError:
                del self._watchers[number]
                watcher.close()

    @staticmethod
    def _refuse(connection: socket.socket, reason: str) -> None:
        with suppress(OSError):
            connection.send(json.dumps({"refused": reason.rstrip(".")}).encode())
        connection.close()


def listen(place: Path) -> socket.socket:
    """Listen at `place`, and for this user alone."""
    place.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(place))
    place.chmod(0o600)
    listener.listen(_BACKLOG)
    return listener


def main(words: Sequence[str]) -> NoReturn:
    """Serve the nodes that the command line names, of the cluster that the environment names."""
    sharing, *nodes = words
    make_timers_exact()
    take_short_slices()
    Server(listen(Path(PLACE)), Sharing.parse(sharing), nodes, os.environ.get(CLUSTER_VARIABLE, "")).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
