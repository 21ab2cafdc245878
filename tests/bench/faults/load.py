"""A constant load: jobs of several kinds, each of whose processes writes down in its cluster that it began.

A thread keeps so many jobs unfinished while it may. Each has a key, so an answer that was lost is asked for again; and
the events are read by their numbers, so none is missed however often the broker dies.
"""

from __future__ import annotations

import contextlib
import random
import threading

from emulator.client import BrokerClient
from emulator.model.errors import AlreadyEnded, JournalFailed, TestbedError, Unanswered
from emulator.model.job import JobSpecification
from emulator.model.views import EventView, Submission
from tests.bench.faults.books import ENDINGS

RAN = ".fault-load"
"""The file in each cluster's home into which processes write."""
MARK = "fault-load"
"""A word of the command of every process of a plain job."""
FILE = "fault-input"
PROCESS = 'echo "$TESTBED_JOB $SLURM_PROCID" >> "$HOME"/{ran}; sleep {host_s:.2f}; true'
CANCELLED = 0.05
"""The share of jobs that are cancelled at some time."""
PATIENCE_HOST_S = 600.0
PAUSE_HOST_S = 0.2
LONGEST_HOST_S = 8.0


def specification(rng: random.Random, clusters: dict[str, int]) -> JobSpecification:
    """Draw a job; `clusters` holds the processors of each."""
    kind = rng.choices(("one", "two", "there", "ranks", "file"), (4, 4, 2, 2, 1))[0]
    host_s = rng.uniform(0.5, LONGEST_HOST_S)
    plain = {
        "kind": "plain",
        "command": ("bash", "-c", PROCESS.format(ran=RAN, host_s=host_s), MARK),
    }
    most = max(1, min(clusters.values()) // 4)
    sizes = tuple(rng.randint(1, most) for _ in range(1 if kind in ("one", "file") else 2))
    stated: dict[str, object] = {"components": sizes}
    match kind:
        case "two":
            stated |= plain | {"request": "unordered"}
        case "there":
            stated |= plain | {"request": "fixed", "clusters": tuple(rng.sample(sorted(clusters), 2))}
        case "ranks":
            stated |= {"application": "poisson", "arguments": {"grid": 100, "iterations": rng.randint(20, 400)}}
        case "file":
            stated |= plain | {"file": FILE}
        case _:
            stated |= plain
    return JobSpecification.model_validate(stated)


class Load:
    """Keeps `most` jobs unfinished on the broker of `client` until it is told to stop."""

    def __init__(self, client: BrokerClient, clusters: dict[str, int], seed: int, most: int) -> None:
        self._client = client
        self._clusters = clusters
        self._rng = random.Random(seed)
        self._seed = seed
        self._most = most
        self._may_submit = threading.Event()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)
        self._cancelled: list[int] = []
        self.accepted: dict[str, int] = {}
        self.events: list[EventView] = []
        self.ended: set[int] = set()
        self.failure: BaseException | None = None

    def begin(self) -> None:
        """Start the thread."""
        self._may_submit.set()
        self._thread.start()

    def pause(self) -> None:
        """Submit no more jobs for now; what becomes of those that there are is read on."""
        self._may_submit.clear()

    def go_on(self) -> None:
        """Submit jobs again."""
        self._may_submit.set()

    def close(self) -> None:
        """End the thread."""
        self._is_over.set()
        self._thread.join()

    @property
    def unfinished(self) -> set[int]:
        """The jobs whose end was not read yet."""
        return set(self.accepted.values()) - self.ended

    def _run(self) -> None:
        try:
            while not self._is_over.wait(PAUSE_HOST_S):
                # While the broker is away, or its disk is full, all is asked again later.
                with contextlib.suppress(Unanswered, JournalFailed):
                    self._turn()
        except BaseException as error:
            self.failure = error

    def _turn(self) -> None:
        self._read_events()
        while self._may_submit.is_set() and len(self.unfinished) < self._most and not self._is_over.is_set():
            self._submit()
        while self._cancelled and self._rng.random() < 0.1:
            with contextlib.suppress(AlreadyEnded):
                self._client.cancel(self._cancelled[-1])
            self._cancelled.pop()

    def _submit(self) -> None:
        key = f"fault-{self._seed}-{len(self.accepted)}"
        submission = Submission(specification=specification(self._rng, self._clusters), key=key)
        job = self._client.submit_surely(submission, PATIENCE_HOST_S).id
        self.accepted[key] = job
        if self._rng.random() < CANCELLED:
            self._cancelled.insert(0, job)

    def _read_events(self) -> None:
        while page := self._client.events(after=self.events[-1].sequence if self.events else 0, host_wait_s=0.0):
            self.events += page
            self.ended |= {event.job.id for event in page if event.job is not None and event.kind in ENDINGS}

    def check(self) -> None:
        """Raise what ended the thread, if anything did.

        Raises:
            TestbedError: if the load could not go on.
        """
        if self.failure is not None:
            raise TestbedError(f"The load ended: {self.failure!r}.") from self.failure
