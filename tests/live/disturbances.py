"""Thirty-three disturbances of a running testbed, of several kinds and strengths, which are undone afterwards.

Each states words, of which the verdict must contain one if it noticed the disturbance. The live tests and the bench use
this module; how a testbed is disturbed is in ``disturbing``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial

from emulator.runs.progress import ProgressReport
from tests.live.disturbing import (
    Scene,
    busy_loops,
    delay_line,
    echoes,
    flood,
    guest_stopped,
    memory_hog,
    paused,
    quota,
    ranks_stopped,
    streams,
    thrashing,
    uplink,
    writers,
)

HOST_LEAD_S = 0.5
"""How long a job runs before it is disturbed."""

HOST_HELD_S = 4.0
"""How long a disturbance lasts."""

Disturbing = Callable[[Scene], AbstractContextManager[None]]


@dataclass(frozen=True)
class Disturbance:
    """A disturbance: its kind, its strength in words, and words of which the reasons of a verdict must contain one."""

    kind: str
    strength: str
    disturbing: Disturbing
    named: tuple[str, ...]

    @property
    def shown(self) -> str:
        """The disturbance in words."""
        return f"{self.kind}: {self.strength}"

    def is_named_in(self, reasons: Iterable[str]) -> bool:
        """Return whether one of the reasons of a verdict names the disturbance."""
        return any(words in reason for reason in reasons for words in self.named)


@dataclass
class Disturber:
    """A listener that disturbs jobs that run one after another; `plan` holds a disturbance, or None, for each job."""

    scene: Scene
    plan: Sequence[Disturbance | None]
    begun: set[int] = field(default_factory=set)
    threads: list[threading.Thread] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)

    def disturb(self, progress: ProgressReport) -> None:
        """Disturb the running job once; a run calls this method to report its progress."""
        job = progress.finished + progress.failed
        if progress.running == 0 or job in self.begun or job >= len(self.plan):
            return
        self.begun.add(job)
        disturbance = self.plan[job]
        if disturbance is not None:
            self.threads.append(threading.Thread(target=self._disturb, args=(disturbance,)))
            self.threads[-1].start()

    def _disturb(self, disturbance: Disturbance) -> None:
        time.sleep(HOST_LEAD_S)
        try:
            with disturbance.disturbing(self.scene):
                time.sleep(HOST_HELD_S)
        except Exception as error:
            self.errors.append(error)

    def finish(self) -> None:
        """Wait until all disturbances are undone.

        Raises:
            ExceptionGroup: if a disturbance could not be made or undone.
        """
        for thread in self.threads:
            thread.join()
        if self.errors:
            raise ExceptionGroup("disturbances", [error for error in self.errors if isinstance(error, Exception)])


CHANGED = ("a link was programmed anew",)
CPU = ("other work took", "waited for a processor")
MEMORY = ("of the host's memory available", "waited for memory", "killed for want of memory")
DISK = ("waited for a disk", "to reach the disk")
THROTTLED = ("throttled by its CPU quota",)
STILL = ("stood still",)
OTHERS = ("datagrams of others",)
STRANGERS = ("traffic of others",)
STOOD = ("ranks stood still", "late by")

DISTURBANCES = (
    Disturbance("busy loops", "one on every core", partial(busy_loops, 1.0), CPU),
    Disturbance("busy loops", "two on every core", partial(busy_loops, 2.0), CPU),
    Disturbance("busy loops", "four on every core", partial(busy_loops, 4.0), CPU),
    Disturbance("link's delay", "four times as long", partial(delay_line, factor=4.0), CHANGED),
    Disturbance("link's delay", "a tenth longer", partial(delay_line, factor=1.1), CHANGED),
    Disturbance("link's rate", "half", partial(uplink, factor=0.5), CHANGED),
    Disturbance("link's rate", "nine tenths", partial(uplink, factor=0.9), CHANGED),
    Disturbance("link's loss", "5%", partial(delay_line, loss=0.05), CHANGED),
    Disturbance("link's loss", "0.5%", partial(delay_line, loss=0.005), CHANGED),
    Disturbance("datagrams over the link", "twice its rate", partial(flood, 2.0), OTHERS),
    Disturbance("cluster's CPU quota", "a hundredth of a core", partial(quota, "cluster", 0.01), THROTTLED),
    Disturbance("cluster's CPU quota", "a two-hundredth of a core", partial(quota, "cluster", 0.005), THROTTLED),
    Disturbance("router's CPU quota", "a two-hundredth of a core", partial(quota, "router", 0.005), THROTTLED),
    Disturbance("cluster stands still", "1 s", partial(paused, "cluster", 1.0), STILL),
    Disturbance("cluster stands still", "0.4 s", partial(paused, "cluster", 0.4), STILL),
    Disturbance("router stands still", "1 s", partial(paused, "router", 1.0), STILL),
    Disturbance("memory hog", "more than its container may have", partial(memory_hog, "64m"), MEMORY),
    Disturbance("memory thrashing", "in a container of 32 MB", partial(thrashing, "32m"), (*MEMORY, *CPU, *DISK)),
    Disturbance("slow disk", "four writers that sync", partial(writers, 4), DISK),
    Disturbance("slow disk", "one writer that syncs", partial(writers, 1), DISK),
    Disturbance("ranks stand still", "all, 1.5 s", partial(ranks_stopped, 1.5, "both"), STOOD),
    Disturbance("ranks stand still", "all, 0.7 s", partial(ranks_stopped, 0.7, "both"), STOOD),
    Disturbance("ranks stand still", "those of a cluster, 1.5 s", partial(ranks_stopped, 1.5, "first"), STOOD),
    Disturbance("ranks stand still", "one of them, 1.5 s", partial(ranks_stopped, 1.5, "one"), STOOD),
    Disturbance("stranger's stream", "as fast as it can", partial(streams, 10.0, 1), STRANGERS),
    Disturbance("stranger's stream", "half of the rate", partial(streams, 0.5, 1), STRANGERS),
    Disturbance("stranger's stream", "a tenth of the rate", partial(streams, 0.1, 1), STRANGERS),
    Disturbance("stranger's stream", "four at once", partial(streams, 10.0, 4), STRANGERS),
    Disturbance("stranger's stream", "the other way", partial(streams, 10.0, 1, back=True), STRANGERS),
    Disturbance("datagrams over the link", "half of its rate", partial(flood, 0.5), (*OTHERS, *STRANGERS)),
    Disturbance("echoes over the link", "as many as it takes", echoes, STRANGERS),
    Disturbance("router stands still", "0.4 s", partial(paused, "router", 0.4), STILL),
    Disturbance("router's guest stands still", "1.5 s", partial(guest_stopped, 1.5), STILL),
)
