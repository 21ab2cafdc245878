"""How a cluster is watched through losses of the connection, on a shell whose connections end as they are told."""

import queue
import sqlite3
from pathlib import Path

import pytest

from emulator.clusters import slurm
from emulator.clusters.protocol import AllocationEvent, AllocationEventKind
from emulator.clusters.slurm import SlurmCluster
from emulator.clusters.slurm_events import SILENT_HOST_S
from emulator.model.errors import ClusterUnreachable
from emulator.model.real_head import Hop
from emulator.model.settings import BrokerSettings, Head

WITHIN_HOST_S = 60.0


class Stream:
    """What a connection carries; a sentinel ends it."""

    def __init__(self) -> None:
        self.said: queue.Queue[str | None] = queue.Queue()
        self.silent_host_s: float | None = -1.0

    def lines(self, silent_host_s: float | None = None):
        self.silent_host_s = silent_host_s
        return iter(self.said.get, None)

    def close(self) -> None:
        self.said.put(None)


class Watched:
    """A cluster that is watched, the connections it was given, and what it reported."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, jumps: tuple[Hop, ...] = ()) -> None:
        self.streams: queue.Queue[Stream] = queue.Queue()
        self.reports: queue.Queue[bool] = queue.Queue()
        self.events: queue.Queue[AllocationEvent] = queue.Queue()
        self.hung_up: queue.Queue[None] = queue.Queue()
        self.lost_again = 0
        self.refusals: list[Exception] = []
        self.failure: Exception = ClusterUnreachable("It stopped answering.")
        watched = self

        class Shell:
            def __init__(self, head: Head, settings: BrokerSettings) -> None:
                pass

            def open_program(self, command: str, script: str | None = "") -> Stream:
                if watched.refusals:
                    raise watched.refusals.pop()
                stream = Stream()
                watched.streams.put(stream)
                return stream

            def close(self) -> None:
                watched.hung_up.put(None)

        monkeypatch.setattr(slurm, "SecureShell", Shell)
        monkeypatch.setattr(slurm, "RECONNECT_HOST_S", (0.0, 0.0))
        monkeypatch.setattr(slurm, "RECONNECT_SOON_HOST_S", 0.0)
        monkeypatch.setattr(slurm, "RECONNECT_LATER_HOST_S", 0.0)
        head = Head(cluster="das", address="fs0.das.example", user="alice", jumps=jumps)
        files = ("topology_file", "token_file", "key_file", "known_hosts_file", "journal_file")
        settings = BrokerSettings(testbed="t", heads=(head,), **dict.fromkeys(files, Path("/nowhere")))
        self.cluster = SlurmCluster(head, settings)

    def begin(self) -> None:
        self.cluster.watch(self.events.put, self._reachable)

    def _reachable(self, reachable: bool, reason: str) -> None:
        self.reports.put(reachable)
        if reachable and self.lost_again:
            self.lost_again -= 1
            raise self.failure


@pytest.fixture
def watched(monkeypatch):
    watched = Watched(monkeypatch)
    yield watched
    watched.cluster.close()
    while not watched.streams.empty():
        watched.streams.get().close()


def test_a_connection_that_carries_no_events_any_more_is_not_used_again(watched):
    """Behind a jump host, that of a dead head looks alive."""
    watched.begin()
    watched.streams.get(timeout=WITHIN_HOST_S).close()
    watched.hung_up.get(timeout=WITHIN_HOST_S)
    assert watched.streams.get(timeout=WITHIN_HOST_S) is not None


def test_a_cluster_that_cannot_be_taken_up_keeps_its_connection(watched):
    """Its Slurm may be down for hours, and many logins look like an attack."""
    watched.lost_again = 1
    watched.begin()
    for _ in range(2):
        watched.streams.get(timeout=WITHIN_HOST_S)
    assert watched.hung_up.empty()


@pytest.mark.parametrize(("jumps", "most_host_s"), [((), None), ((Hop(host="gate", user="alice"),), SILENT_HOST_S)])
def test_only_of_a_head_behind_a_jump_host_silence_means_death(monkeypatch, jumps, most_host_s):
    watched = Watched(monkeypatch, jumps)
    watched.begin()
    stream = watched.streams.get(timeout=WITHIN_HOST_S)
    stream.said.put("ended 13 t.0-1.0-das 7")
    watched.events.get(timeout=WITHIN_HOST_S)
    assert stream.silent_host_s == most_host_s
    watched.cluster.close()
    stream.close()


@pytest.mark.parametrize(
    "failure", [ClusterUnreachable("It stopped answering."), sqlite3.OperationalError("disk full")]
)
def test_a_cluster_that_cannot_be_taken_up_when_it_is_found_is_looked_for_again(watched, failure):
    watched.failure = failure
    watched.lost_again = 1
    watched.begin()
    assert [watched.reports.get(timeout=WITHIN_HOST_S) for _ in range(2)] == [True, True]
    watched.streams.get(timeout=WITHIN_HOST_S)
    watched.streams.get(timeout=WITHIN_HOST_S).said.put("claimed 12.5 t.0-1.0-das 7")
    event = AllocationEvent(AllocationEventKind.CLAIMED, "0-1.0-das", "7", 12.5)
    assert watched.events.get(timeout=WITHIN_HOST_S) == event


@pytest.mark.parametrize("failure", [ClusterUnreachable("It does not answer."), ValueError("no key of any kind")])
def test_a_connection_that_cannot_be_made_is_tried_again_whatever_the_reason(watched, failure):
    watched.refusals = [failure, failure]
    watched.begin()
    assert watched.reports.get(timeout=WITHIN_HOST_S)


def ended_in_turn(watched: Watched, connections: int) -> None:
    for _ in range(connections):
        watched.streams.get(timeout=WITHIN_HOST_S).close()


def test_connections_that_end_at_once_again_and_again_mean_that_the_cluster_is_lost(watched, monkeypatch):
    monkeypatch.setattr(slurm, "STEADY_HOST_S", 600.0)
    watched.begin()
    ended_in_turn(watched, 3)
    assert [watched.reports.get(timeout=WITHIN_HOST_S) for _ in range(2)] == [True, False]


def test_connections_that_end_now_and_then_do_not_add_up(watched, monkeypatch):
    monkeypatch.setattr(slurm, "STEADY_HOST_S", -1.0)
    watched.begin()
    ended_in_turn(watched, 9)
    watched.streams.get(timeout=WITHIN_HOST_S).said.put("ended 13 t.0-1.0-das 7")
    assert watched.events.get(timeout=WITHIN_HOST_S).kind is AllocationEventKind.ENDED
    assert [watched.reports.get_nowait(), watched.reports.empty()] == [True, True]
