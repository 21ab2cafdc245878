"""A local resource manager for tests of the broker, which grants claims and can be set to misbehave."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Iterator, Sequence

from emulator.clusters.protocol import AllocationEvent, AllocationEventKind, Occupancy, Part
from emulator.model.errors import ClaimFailed, ClusterUnreachable

END = object()
FIND_AGAIN_HOST_S = 0.01


class ScriptedProgram:
    """A program whose output lines come from the test."""

    def __init__(self) -> None:
        self.said: queue.SimpleQueue[object] = queue.SimpleQueue()
        self.heard: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.code = 0
        self.error = ""
        self.has_begun = self.has_ended = False

    def say(self, **message: object) -> None:
        self.has_begun = True
        self.said.put(json.dumps(message))

    def finish(self) -> None:
        self.say(event="finished", host_moment_s=time.time())
        self.say(event="result", record={"runtime_s": 1.0})
        self.end(0)

    def end(self, code: int, error: str = "") -> None:
        if not self.has_ended:
            self.has_ended, self.code, self.error = True, code, error
        self.said.put(END)

    def lines(self) -> Iterator[str]:
        while (line := self.said.get()) is not END:
            yield str(line)

    def send(self, text: str) -> None:
        self.heard.put(text)

    def host_start_timestamp_s(self) -> float:
        """The start that is announced to it; 0 if it is at once."""
        return float(self.heard.get(timeout=10).split()[0])

    def error_text(self) -> str:
        return self.error

    def exit_code(self) -> int:
        return self.code

    def close(self) -> None:
        self.end(-1)


class ScriptedCluster:
    """A cluster that grants fitting claims at once, unless it `holds_back`, `refuses` or is `silent`.

    Other users hold `others` processors, and precede the next `others_quicker` claims, which stay pending. The next
    calls of `release_all` raise the errors in `sweeps_failing`, and the next `releases_failing` releases and
    `listings_failing` listings of allocations fail. Between `hang` and `answer` no reading ends. `on_claim` is called
    at each claim. The release of an allocation ends the programs inside it, and no program starts in a released
    allocation. Its clock is ahead by `clock_ahead_s`.
    """

    def __init__(self, cluster: str, processors: int) -> None:
        self.cluster = cluster
        self.address = cluster
        self.processors = processors
        self.held: dict[str, tuple[str, int]] = {}
        self.steps: dict[str, ScriptedProgram] = {}
        self.others = 0
        self.holds_back = self.refuses = self.silent = False
        self.clock_ahead_s = 0.0
        self.others_quicker = 0
        self.releases_failing = self.listings_failing = 0
        self.malformed_events = 0
        self.forgotten: list[str] = []
        self.admitted: dict[str, str] = {}
        self.on_claim = lambda claim, allocation: None
        self.sweeps_failing: list[Exception] = []
        self.claims: list[str] = []
        self.unusable = frozenset[str]()
        self.nodes_claimed: list[list[str]] = []
        self.memory_claimed_mb: list[float] = []
        self.programs: list[ScriptedProgram] = []
        self.scripts: list[str] = []
        self.released: list[str] = []
        self._on_event = self._on_reachable = None
        self._lock = threading.Lock()
        self._next = 0
        self._closed = False
        self._answering = threading.Event()
        self._answering.set()

    def hang(self) -> None:
        self._answering.clear()

    def answer(self) -> None:
        self._answering.set()

    def occupancy(self) -> Occupancy:
        self._answering.wait()
        self._check_speaking()
        idle = self.processors - self.others - sum(size for _, size in self.held.values())
        return Occupancy(1, self.processors, idle, self.unusable)

    def claim(self, claim: str, processors: int, nodes: Sequence[str] = (), memory_mb: float = 0.0) -> str:
        self._check_speaking()
        self.nodes_claimed.append(list(nodes))
        self.memory_claimed_mb.append(memory_mb)
        if self.refuses:
            raise ClaimFailed(f"Cluster {self.cluster!r} refused {processors} processors.")
        with self._lock:
            self._next += 1
            allocation = f"{self.cluster}{self._next}"
            self.held[allocation] = (claim, processors)
            self.claims.append(claim)
        self.on_claim(claim, allocation)
        if self.others_quicker:
            self.others_quicker -= 1
        elif not self.holds_back:
            self._report(AllocationEventKind.CLAIMED, claim, allocation)
        return allocation

    def part(self, allocation: str, processors: int) -> Part:
        self._check_speaking()
        return Part(self.address, allocation, processors)

    def release(self, allocation: str) -> None:
        self._check_speaking()
        if self.releases_failing:
            self.releases_failing -= 1
            raise ClusterUnreachable(f"Cluster {self.cluster!r}: scancel failed: it timed out.")
        with self._lock:
            claim, _ = self.held.pop(allocation, ("", 0))
            step = self.steps.pop(allocation, None)
        if step is not None:
            step.end(143)
        if claim:
            self.released.append(allocation)
            self._report(AllocationEventKind.ENDED, claim, allocation)

    def report_all(self) -> None:
        """Stop holding back, and report all allocations as claimed."""
        self.holds_back = False
        for allocation, (claim, _) in list(self.held.items()):
            self._report(AllocationEventKind.CLAIMED, claim, allocation)

    def forget(self, claim: str) -> None:
        self._check_speaking()
        self.forgotten.append(claim)

    def release_all(self) -> None:
        if self.sweeps_failing:
            raise self.sweeps_failing.pop()
        for allocation in list(self.held):
            self.release(allocation)

    def allocations(self) -> dict[str, str]:
        self._check_speaking()
        if self.listings_failing:
            self.listings_failing -= 1
            raise ClusterUnreachable(f"Cluster {self.cluster!r}: squeue failed: it timed out.")
        return {allocation: claim for allocation, (claim, _) in self.held.items()}

    def admit(self, use: str, public_key: str) -> None:
        self._check_speaking()
        self.admitted[use] = public_key

    def dismiss(self, use: str) -> None:
        self._check_speaking()
        del self.admitted[use]

    def start(self, script: str, allocation: str, label: str, processes: int = 0) -> ScriptedProgram:
        self._check_speaking()
        program = ScriptedProgram()
        with self._lock:
            if allocation in self.held:
                self.steps[allocation] = program
            else:
                program.end(1)
        self.scripts.append(script)
        self.programs.append(program)
        return program

    def watch(self, on_event, on_reachable) -> None:
        self._on_event, self._on_reachable = on_event, on_reachable
        self._find()

    def _find(self) -> None:
        """Report that the cluster was found, and repeat the report until the listener succeeds."""
        try:
            self._on_reachable(True, "")
        except Exception:
            again = threading.Timer(FIND_AGAIN_HOST_S, self._find)
            again.daemon = True
            if not self._closed:
                again.start()

    def fall_silent(self) -> None:
        self.silent = True
        self._on_reachable(False, f"Cluster {self.cluster!r} stopped answering.")

    def close(self) -> None:
        self._closed = True
        self.answer()

    def report(self, kind: AllocationEventKind, claim: str, allocation: str) -> None:
        """Report an event, as if it came from the cluster now."""
        self._report(kind, claim, allocation)

    def _report(self, kind: AllocationEventKind, claim: str, allocation: str) -> None:
        self._on_event(AllocationEvent(kind, claim, allocation, time.time() + self.clock_ahead_s))

    def _check_speaking(self) -> None:
        if self.silent:
            raise ClusterUnreachable(f"Cluster {self.cluster!r} stopped answering.")
