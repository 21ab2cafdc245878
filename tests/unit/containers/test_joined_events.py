"""The events of several engines as one stream, also when one of them is lost for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from emulator.containers.hosts import joined_events
from emulator.containers.hosts.joined_events import JoinedEvents

WITHIN_HOST_S = 20.0
SECOND_NS = 1_000_000_000

Event = dict[str, Any]


def events(*timestamps_s: float) -> list[Event]:
    return [{"timeNano": round(timestamp_s * SECOND_NS)} for timestamp_s in timestamps_s]


class Stream:
    """A stream of events that waits after the last one, until it is lost or closed from outside."""

    def __init__(self, *timestamps_s: float) -> None:
        self.events = events(*timestamps_s)
        self.ended = threading.Event()

    def __iter__(self) -> Iterator[Event]:
        yield from self.events
        self.ended.wait(WITHIN_HOST_S)
        raise AttributeError("closed from outside")

    def close(self) -> None:
        self.ended.set()


class Engine:
    """An engine that gives these streams one after another, and does not answer when none is left."""

    def __init__(self, *streams: Stream) -> None:
        self.streams = list(streams)
        self.asked_since_s: list[int | None] = []

    def __call__(self, since_s: int | None) -> Stream:
        self.asked_since_s.append(since_s)
        if not self.streams:
            raise requests.ConnectionError("refused")
        return self.streams.pop(0)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask lost engines again at once."""
    monkeypatch.setattr(joined_events, "AGAIN_EVERY_HOST_S", 0.01)


def until_unheard(joined: JoinedEvents, *hosts: str) -> None:
    """Wait until the events of just these hosts do not come."""
    give_up_host_s = time.monotonic() + WITHIN_HOST_S
    while joined.unheard != frozenset(hosts):
        assert time.monotonic() < give_up_host_s
        time.sleep(0.005)


def test_events_of_all_engines_come_in_one_stream_that_can_be_closed() -> None:
    joined = JoinedEvents({"one": Engine(Stream(1, 2)), "two": Engine(Stream(3))})
    stream = iter(joined)
    found = sorted((next(stream) for _ in range(3)), key=lambda event: int(event["timeNano"]))
    assert found == events(1, 2, 3)
    assert joined.unheard == frozenset()
    joined.close()
    assert list(stream) == []


def test_a_host_that_was_lost_is_heard_again_with_what_happened_meanwhile_and_nothing_comes_twice() -> None:
    first, second = Stream(10.25, 20.5), Stream(20.5, 21.75, 30)
    engine = Engine(first)
    joined = JoinedEvents({"one": Engine(Stream()), "two": engine})
    stream = iter(joined)
    assert [next(stream) for _ in range(2)] == events(10.25, 20.5)
    first.close()
    until_unheard(joined, "two")
    engine.streams.append(second)
    assert [next(stream) for _ in range(2)] == events(21.75, 30)
    until_unheard(joined)
    assert set(engine.asked_since_s) == {None, 20}
    joined.close()


def test_a_host_that_said_nothing_before_it_was_lost_is_asked_from_the_beginning_on() -> None:
    began_s = int(time.time())
    first = Stream()
    engine = Engine(first, Stream(began_s + 1.5))
    joined = JoinedEvents({"two": engine})
    first.close()
    assert next(iter(joined)) == events(began_s + 1.5)[0]
    assert engine.asked_since_s[0] is None
    assert engine.asked_since_s[1] in (began_s, began_s + 1, began_s + 2)
    joined.close()


def test_a_stream_that_is_opened_while_all_are_closed_is_closed_too() -> None:
    first, late = Stream(), Stream()
    joined: JoinedEvents

    def opened(since_s: int | None) -> Stream:
        if since_s is None:
            return first
        joined.close()
        return late

    joined = JoinedEvents({"two": opened})
    first.close()
    assert late.ended.wait(WITHIN_HOST_S)
