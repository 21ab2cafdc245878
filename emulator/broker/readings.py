"""The readings of the clusters' idle processors: a thread for each cluster reads it, and the loop waits for none.

The loop asks for readings in numbered rounds, and the threads post what they read. A round is complete once every
cluster has answered a question of that round or a later one, or has owed an answer for `WAIT_HOST_S`. Only the loop
calls `Readings`; other threads use `snapshot` and `await_round`.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from emulator.clusters.protocol import LocalResourceManager, Occupancy
from emulator.model.errors import ClusterUnreachable

log = logging.getLogger(__name__)
WAIT_HOST_S: Final = 2.0
"""The longest that a decision waits for a cluster; one that owes an answer for longer is not waited for again."""
MOST_AGE_HOST_S: Final = 5.0
"""A reading older than this is not used, and a cluster that owes an answer for this long is silent."""
REPEAT_HOST_S: Final = 10.0
"""The longest time without a question while the clusters answer."""
REPEAT_FAILED_HOST_S: Final = 1.0
"""The time between questions to a cluster that failed to answer."""

Grants = frozenset[tuple[str, str]]
"""Pairs of a cluster and an allocation there that is known to hold its processors."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The answer of a cluster in a round, at `host_s` on the monotonic clock; None if it could not be read.

    It counts the processors of every allocation in `grants` as busy, because these were known before the question.
    """

    round: int
    host_s: float
    occupancy: Occupancy | None
    grants: Grants = frozenset()


@dataclass(frozen=True, slots=True)
class ClusterReading:
    """A cluster as viewers see it: its last occupancy, when it was read, and whether the cluster answers."""

    cluster: str
    round: int
    occupancy: Occupancy | None
    host_s: float | None
    reachable: bool


class _Reader:
    """The thread that reads one cluster; questions that come meanwhile are answered together by the next reading."""

    def __init__(self, manager: LocalResourceManager, post: Callable[[Reading], None]) -> None:
        self._manager = manager
        self._post = post
        self._asked: queue.SimpleQueue[tuple[int, Grants] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"read-{manager.cluster}", daemon=True)

    def open(self) -> None:
        """Start the thread."""
        self._thread.start()

    def ask(self, number: int, grants: Grants) -> None:
        """Have the cluster read in round `number`, in which `grants` are known."""
        self._asked.put((number, grants))

    def close(self) -> None:
        """End the thread after the reading that is under way."""
        self._asked.put(None)

    def _run(self) -> None:
        while (asked := self._newest()) is not None:
            number, grants = asked
            occupancy = self._read()
            self._post(Reading(number, time.monotonic(), occupancy, grants))

    def _newest(self) -> tuple[int, Grants] | None:
        asked = self._asked.get()
        while asked is not None and not self._asked.empty():
            asked = self._asked.get()
        return asked

    def _read(self) -> Occupancy | None:
        try:
            return self._manager.occupancy()
        except ClusterUnreachable:
            return None
        except Exception:
            # A thread that ended here would never find its cluster again.
            log.exception("the idle processors of cluster %s could not be read", self._manager.cluster)
            return None


class _Cluster:
    """The loop's knowledge of one cluster; `owed_since_host_s` is the time of the first question without an answer."""

    def __init__(self, name: str, reader: _Reader) -> None:
        self.name = name
        self.reader = reader
        self.asked = 0
        self.answered = 0
        self.freshest: Reading | None = None
        self.owed_since_host_s: float | None = None
        self.failed_host_s: float | None = None
        self.is_lost = True
        self.is_silent = False

    def lose(self) -> None:
        """Take the cluster as lost, with all that it said before."""
        self.is_lost, self.is_silent = True, False
        self.freshest = self.owed_since_host_s = self.failed_host_s = None

    def ask(self, number: int, grants: Grants, now_host_s: float) -> None:
        """Ask the cluster in round `number`."""
        self.asked = number
        if self.owed_since_host_s is None:
            self.owed_since_host_s = now_host_s
        self.reader.ask(number, grants)

    def note(self, reading: Reading) -> None:
        """Keep a reading, unless the cluster was lost meanwhile."""
        self.answered = max(self.answered, reading.round)
        if self.is_lost:
            return
        if reading.occupancy is None:
            self.freshest, self.failed_host_s = None, reading.host_s
        else:
            self.freshest, self.failed_host_s = reading, None
            self.owed_since_host_s = None if reading.round == self.asked else reading.host_s

    @property
    def repeat_host_s(self) -> float | None:
        """When the cluster is asked again because it failed to answer; None if it did not, or is asked already."""
        has_failed = self.failed_host_s is not None and self.asked == self.answered
        return (self.failed_host_s or 0.0) + REPEAT_FAILED_HOST_S if has_failed else None

    def is_due_to_change(self, now_host_s: float) -> bool:
        """Return whether the cluster is to become silent, or to be no longer silent."""
        since_host_s = self.owed_since_host_s
        owes = not self.is_lost and since_host_s is not None and now_host_s >= since_host_s + MOST_AGE_HOST_S
        return owes != self.is_silent

    def host_until_change_s(self, now_host_s: float) -> float | None:
        """Get the host seconds until the cluster becomes silent, or is no longer; None if it is not to change."""
        if self.is_due_to_change(now_host_s):
            return 0.0
        if self.owed_since_host_s is None or self.is_silent:
            return None
        return self.owed_since_host_s + MOST_AGE_HOST_S - now_host_s

    def host_until_given_up_s(self, number: int, now_host_s: float) -> float:
        """Return how long a decision in round `number` still waits for this cluster."""
        if self.is_lost or self.answered >= number or self.owed_since_host_s is None:
            return 0.0
        return max(0.0, self.owed_since_host_s + WAIT_HOST_S - now_host_s)


class Readings:
    """The freshest reading of each cluster, in the topology's order; `grants` returns the allocations known to hold."""

    def __init__(
        self, managers: Sequence[LocalResourceManager], clock_host_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._now_host_s = clock_host_s
        self._post: Callable[[Callable[[], object]], None] = lambda work: None
        self._grants: Callable[[], Grants] = frozenset
        self._clusters = [
            _Cluster(manager.cluster, _Reader(manager, partial(self._post_reading, index)))
            for index, manager in enumerate(managers)
        ]
        self._round = 0
        self._asked_host_s = clock_host_s()
        self._published = threading.Condition()
        self._snapshot: tuple[ClusterReading, ...] = ()
        self._publish()

    def open(self, post: Callable[[Callable[[], object]], None], grants: Callable[[], Grants]) -> None:
        """Start the threads; they hand their readings to the loop by `post`."""
        self._post, self._grants = post, grants
        for cluster in self._clusters:
            cluster.reader.open()

    def close(self) -> None:
        """End the threads; one whose cluster hangs ends with its reading."""
        for cluster in self._clusters:
            cluster.reader.close()

    def ask(self, only: Collection[str] | None = None) -> int:
        """Begin a round, of all clusters or those in `only`; returns its number."""
        self._round += 1
        now_host_s, grants = self._now_host_s(), self._grants()
        if only is None:
            self._asked_host_s = now_host_s
        for cluster in self._clusters:
            if not cluster.is_lost and (only is None or cluster.name in only):
                cluster.ask(self._round, grants, now_host_s)
        return self._round

    def host_until_complete_s(self, number: int) -> float:
        """Return how long round `number` may still take; zero if it is complete."""
        now_host_s = self._now_host_s()
        return max((cluster.host_until_given_up_s(number, now_host_s) for cluster in self._clusters), default=0.0)

    def freshest(self) -> list[Reading | None]:
        """Return the freshest reading of each cluster; None if it failed, is too old, or the cluster is lost."""
        oldest_host_s = self._now_host_s() - MOST_AGE_HOST_S
        return [
            cluster.freshest if cluster.freshest is not None and cluster.freshest.host_s >= oldest_host_s else None
            for cluster in self._clusters
        ]

    def note(self, index: int, reading: Reading) -> None:
        """Keep a reading of the cluster at `index`."""
        self._clusters[index].note(reading)
        self._publish()

    def lose(self, name: str) -> None:
        """Ask a cluster nothing more until it is found."""
        self._cluster(name).lose()
        self._publish()

    def find(self, name: str) -> None:
        """Ask a cluster that answers again."""
        self._cluster(name).is_lost = False
        self.ask(only=[name])

    @property
    def silent(self) -> list[str]:
        """The clusters that are connected, but do not say how many of their processors are idle."""
        return [cluster.name for cluster in self._clusters if cluster.is_silent]

    def changes(self) -> tuple[list[str], list[str]]:
        """Return the clusters that have become silent since the last call, and those that answer again."""
        fallen: list[str] = []
        back: list[str] = []
        now_host_s = self._now_host_s()
        for cluster in self._clusters:
            if cluster.is_due_to_change(now_host_s):
                cluster.is_silent = not cluster.is_silent
                (fallen if cluster.is_silent else back).append(cluster.name)
        if fallen or back:
            self._publish()
        return fallen, back

    def repeat_if_due(self) -> None:
        """Ask again all clusters that have not been asked for a while, and soon those that failed to answer."""
        now_host_s = self._now_host_s()
        if now_host_s >= self._asked_host_s + REPEAT_HOST_S:
            self.ask()
        failed = [each.name for each in self._clusters if (due := each.repeat_host_s) is not None and now_host_s >= due]
        if failed:
            self.ask(only=failed)

    def host_until_due_s(self) -> float | None:
        """Get the host seconds until a question or a change is due; None while no cluster can be asked."""
        asked = [cluster for cluster in self._clusters if not cluster.is_lost]
        if not asked:
            return None
        now_host_s = self._now_host_s()
        waits_s = [self._asked_host_s + REPEAT_HOST_S - now_host_s]
        for cluster in asked:
            if cluster.repeat_host_s is not None:
                waits_s.append(cluster.repeat_host_s - now_host_s)
            if (wait_s := cluster.host_until_change_s(now_host_s)) is not None:
                waits_s.append(wait_s)
        return max(0.0, min(waits_s))

    @property
    def snapshot(self) -> tuple[ClusterReading, ...]:
        """The clusters as last read, in order; any thread may look at any time."""
        return self._snapshot

    def are_recent(self, host_s: float) -> bool:
        """Return whether every reachable cluster was read at most `host_s` ago; any thread may ask."""
        oldest_host_s = self._now_host_s() - host_s
        read = [(each.host_s or 0.0) >= oldest_host_s for each in self._snapshot if each.reachable]
        return bool(read) and all(read)

    def await_round(self, number: int) -> None:
        """Wait, on a thread other than the loop's, until every reachable cluster has answered in round `number`."""
        with self._published:
            self._published.wait_for(
                lambda: all(not each.reachable or each.round >= number for each in self._snapshot), WAIT_HOST_S
            )

    def _cluster(self, name: str) -> _Cluster:
        return next(cluster for cluster in self._clusters if cluster.name == name)

    def _post_reading(self, index: int, reading: Reading) -> None:
        self._post(partial(self.note, index, reading))

    def _publish(self) -> None:
        with self._published:
            self._snapshot = tuple(self._view(cluster) for cluster in self._clusters)
            self._published.notify_all()

    def _view(self, cluster: _Cluster) -> ClusterReading:
        reading = cluster.freshest
        return ClusterReading(
            cluster=cluster.name,
            round=cluster.answered,
            occupancy=reading.occupancy if reading else None,
            host_s=reading.host_s if reading else None,
            reachable=not cluster.is_lost and not cluster.is_silent and cluster.failed_host_s is None,
        )
