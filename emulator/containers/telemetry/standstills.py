"""How long containers were paused, or ended and started again, from the engine's events.

Ranks cannot see such a standstill while they wait for another cluster: for them the wide area only took a little
longer. The engine's events show it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import docker
import docker.errors

from emulator.containers.hosts.joined_events import JoinedEvents
from emulator.model.units import NANOSECONDS_PER_SECOND

STOPS: Final = ("pause", "die")
GOES_ON: Final = ("unpause", "start")

Event = Mapping[str, Any]


@dataclass
class Standstills:
    """Host seconds that each container, by its name, was stopped since listening began.

    `joined` are the events of several hosts; None on one.
    """

    _host_ended_s: dict[str, float] = field(default_factory=dict)
    _host_since_s: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    joined: JoinedEvents | None = None

    @property
    def unheard_hosts(self) -> frozenset[str]:
        """The hosts whose events do not come now: how long containers there are stopped is known only later."""
        return frozenset() if self.joined is None else self.joined.unheard

    def record(self, event: Event) -> None:
        """Take an event of the engine into account."""
        action, actor = event.get("Action"), event.get("Actor", {})
        name, host_timestamp_s = (
            str(actor.get("Attributes", {}).get("name")),
            event["timeNano"] / NANOSECONDS_PER_SECOND,
        )
        with self._lock:
            if action in STOPS:
                self._host_since_s.setdefault(name, host_timestamp_s)
            elif action in GOES_ON and name in self._host_since_s:
                stopped_s = max(0.0, host_timestamp_s - self._host_since_s.pop(name))
                self._host_ended_s[name] = self._host_ended_s.get(name, 0.0) + stopped_s

    def host_stopped_s(self, name: str) -> float:
        """Return the host seconds that the container was stopped until now."""
        with self._lock:
            since_s = self._host_since_s.get(name)
            under_way_s = 0.0 if since_s is None else max(0.0, time.time() - since_s)
            return self._host_ended_s.get(name, 0.0) + under_way_s


@contextmanager
def listening(client: docker.DockerClient, containers: Iterable[str]) -> Iterator[Standstills]:
    """Listen to the engine's events on `containers` inside a `with` block.

    Raises:
        docker.errors.DockerException: if the engine does not answer.
    """
    filters = {"type": "container", "event": [*STOPS, *GOES_ON], "container": list(containers)}
    stream = client.events(decode=True, filters=filters)
    standstills = Standstills(joined=stream if isinstance(stream, JoinedEvents) else None)

    def listen() -> None:
        # Closing the stream ends this loop with an error of some kind.
        with suppress(docker.errors.DockerException, OSError, ValueError, AttributeError):
            for event in stream:
                standstills.record(event)

    thread = threading.Thread(target=listen, name="standstills", daemon=True)
    thread.start()
    try:
        yield standstills
    finally:
        stream.close()
        thread.join(timeout=1.0)
