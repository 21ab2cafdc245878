"""A local resource manager for tests of the broker: it keeps processors, grants claims and can be told to misbehave."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Iterator

from emulator.clusters.protocol import AllocationEvent, AllocationEventKind, Occupancy, Part
from emulator.model.errors import ClaimFailed, ClusterUnreachable

END = object()


class ScriptedProgram:
    """Says what the test feeds it."""

    def __init__(self) -> None:
        self.said: queue.SimpleQueue[object] = queue.SimpleQueue()
        self.code = 0
        self.error = ""

    def say(self, **message: object) -> None:
        self.said.put(json.dumps(message))

    def finish(self) -> None:
        self.say(event="finished", host_moment_s=time.time())
        self.say(event="result", record={"runtime_s": 1.0})
        self.end(0)

    def end(self, code: int, error: str = "") -> None:
        self.code, self.error = code, error
        self.said.put(END)

    def lines(self) -> Iterator[str]:
        while (line := self.said.get()) is not END:
            yield str(line)

    def error_text(self) -> str:
        return self.error

    def exit_code(self) -> int:
        return self.code

    def close(self) -> None:
        self.end(-1)


class ScriptedCluster:
    """Grants what fits at once, unless `holds_back`, `refuses` or `silent`."""

    def __init__(self, cluster: str, processors: int) -> None:
        self.cluster = cluster
        self.address = cluster
        self.processors = processors
        self.held: dict[str, tuple[str, int]] = {}
        self.holds_back = self.refuses = self.silent = False
        self.programs: list[ScriptedProgram] = []
        self.scripts: list[str] = []
        self.released: list[str] = []
        self._on_event = self._on_reachable = None
        self._lock = threading.Lock()
        self._next = 0

    def occupancy(self) -> Occupancy:
        self._check_speaking()
        return Occupancy(1, self.processors, self.processors - sum(size for _, size in self.held.values()))

    def claim(self, claim: str, processors: int) -> str:
        self._check_speaking()
        if self.refuses:
            raise ClaimFailed(f"Cluster {self.cluster!r} refused {processors} processors.")
        with self._lock:
            self._next += 1
            allocation = f"{self.cluster}{self._next}"
            self.held[allocation] = (claim, processors)
        if not self.holds_back:
            self._tell(AllocationEventKind.CLAIMED, claim, allocation)
        return allocation

    def part(self, allocation: str, processors: int) -> Part:
        self._check_speaking()
        return Part(self.address, allocation, processors)

    def release(self, allocation: str) -> None:
        self._check_speaking()
        with self._lock:
            claim, _ = self.held.pop(allocation, ("", 0))
        if claim:
            self.released.append(allocation)
            self._tell(AllocationEventKind.ENDED, claim, allocation)

    def release_all(self) -> None:
        for allocation in list(self.held):
            self.release(allocation)

    def start(self, script: str, allocation: str, label: str) -> ScriptedProgram:
        self._check_speaking()
        self.scripts.append(script)
        self.programs.append(ScriptedProgram())
        return self.programs[-1]

    def watch(self, on_event, on_reachable) -> None:
        self._on_event, self._on_reachable = on_event, on_reachable
        on_reachable(True, "")

    def fall_silent(self) -> None:
        self.silent = True
        self._on_reachable(False, f"Cluster {self.cluster!r} stopped answering.")

    def close(self) -> None:
        pass

    def _tell(self, kind: AllocationEventKind, claim: str, allocation: str) -> None:
        self._on_event(AllocationEvent(kind, claim, allocation, time.time()))

    def _check_speaking(self) -> None:
        if self.silent:
            raise ClusterUnreachable(f"Cluster {self.cluster!r} stopped answering.")
