"""The events of several engines in one stream, which goes on when an engine that was lost is reached again.

An engine keeps its last events, so that those of the time in which it was not reached come late.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Final, TypeAlias

import docker.errors

from emulator.model.units import NANOSECONDS_PER_SECOND

AGAIN_EVERY_HOST_S: Final = 5.0
"""How often an engine that was lost is asked for its events again."""

_BROKEN: Final = (docker.errors.DockerException, OSError, ValueError, AttributeError)
"""How a stream ends that is lost, or closed from outside, and how one fails to open."""

Opener: TypeAlias = Callable[[int | None], Any]
"""Opens a stream of an engine's events, from a timestamp in whole seconds on, or from now on."""


class JoinedEvents:
    """The events that the `openers` of several hosts give, each event once, until the stream is closed."""

    def __init__(self, openers: Mapping[str, Opener]) -> None:
        self._openers = openers
        self._events: SimpleQueue[Any] = SimpleQueue()
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._unheard: frozenset[str] = frozenset()
        self._host_began_ns = time.time_ns()
        self._streams = {host: opened(None) for host, opened in openers.items()}
        for host in openers:
            threading.Thread(target=self._follow, args=(host,), name="host-events", daemon=True).start()

    @property
    def unheard(self) -> frozenset[str]:
        """The hosts whose events do not come now; they come once the host is reached again."""
        return self._unheard

    def __iter__(self) -> Iterator[Any]:
        while (event := self._events.get()) is not None:
            yield event

    def close(self) -> None:
        """End all streams."""
        self._closed.set()
        for stream in self._streams.values():
            _close(stream)
        self._events.put(None)

    def _follow(self, host: str) -> None:
        heard_ns = 0
        while True:
            heard_ns = self._pass_on(self._streams[host], heard_ns)
            self._note(host, is_heard=False)
            if not self._open_again(host, heard_ns or self._host_began_ns):
                return
            self._note(host, is_heard=True)

    def _pass_on(self, stream: Iterable[Any], heard_ns: int) -> int:
        """Pass on what is new in a stream until it ends; return the timestamp of its last event, or `heard_ns`."""
        last_ns = heard_ns
        with suppress(*_BROKEN):
            for event in stream:
                if event["timeNano"] > heard_ns:
                    self._events.put(event)
                    last_ns = max(last_ns, event["timeNano"])
        return last_ns

    def _open_again(self, host: str, since_ns: int) -> bool:
        """Open the stream of a host as soon as it is reached; return False if all are closed before."""
        while not self._closed.wait(AGAIN_EVERY_HOST_S):
            with suppress(*_BROKEN):
                stream = self._streams[host] = self._openers[host](since_ns // NANOSECONDS_PER_SECOND)
                if self._closed.is_set():  # by somebody who did not know this stream
                    _close(stream)
                return True
        return False

    def _note(self, host: str, *, is_heard: bool) -> None:
        with self._lock:
            self._unheard = self._unheard - {host} if is_heard else self._unheard | {host}


def _close(stream: Any) -> None:
    with suppress(*_BROKEN):  # one that was lost has nothing left to close
        stream.close()
