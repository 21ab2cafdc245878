"""How long containers stood still, as the engine tells: paused, or ended and started again.

A cluster that stands still while its ranks wait for another one makes nothing late that they themselves could see: for
them the wide area took a little longer. So the engine's own events are listened to.
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

from emulator.model.units import NANOSECONDS_PER_SECOND

STOPS: Final = ("pause", "die")
GOES_ON: Final = ("unpause", "start")

Event = Mapping[str, Any]


@dataclass
class Standstills:
    """For how many host seconds each container, by its name, has stood still since somebody listens."""

    _host_ended_s: dict[str, float] = field(default_factory=dict)
    _host_since_s: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def told(self, event: Event) -> None:
        """Take an event of the engine into account."""
        action, actor = event.get("Action"), event.get("Actor", {})
        name, host_moment_s = str(actor.get("Attributes", {}).get("name")), event["timeNano"] / NANOSECONDS_PER_SECOND
        with self._lock:
            if action in STOPS:
                self._host_since_s.setdefault(name, host_moment_s)
            elif action in GOES_ON and name in self._host_since_s:
                stood_s = max(0.0, host_moment_s - self._host_since_s.pop(name))
                self._host_ended_s[name] = self._host_ended_s.get(name, 0.0) + stood_s

    def host_stopped_s(self, name: str) -> float:
        """Host seconds that the container stood still until now."""
        with self._lock:
            since_s = self._host_since_s.get(name)
            under_way_s = 0.0 if since_s is None else max(0.0, time.time() - since_s)
            return self._host_ended_s.get(name, 0.0) + under_way_s


@contextmanager
def listening(client: docker.DockerClient, containers: Iterable[str]) -> Iterator[Standstills]:
    """What the engine tells of `containers` for as long as this is held.

    Raises:
        docker.errors.DockerException: if the engine does not answer.
    """
    wanted = {"type": "container", "event": [*STOPS, *GOES_ON], "container": list(containers)}
    stream = client.events(decode=True, filters=wanted)
    standstills = Standstills()

    def listen() -> None:
        # Closing the stream ends it with one error or another.
        with suppress(docker.errors.DockerException, OSError, ValueError, AttributeError):
            for event in stream:
                standstills.told(event)

    thread = threading.Thread(target=listen, name="standstills", daemon=True)
    thread.start()
    try:
        yield standstills
    finally:
        stream.close()
        thread.join(timeout=1.0)
