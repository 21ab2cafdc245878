"""The GS model as a SimPy program, as quick as we can write one: the yardstick of the engine's speed.

One process submits the jobs; a departure is a `Timeout` with a callback, which costs less than a process for each job.
Worst fit is written for four clusters and unordered requests, the job's sizes being sorted beforehand; the mean
response time is all that is kept. There are no policy objects, no other disciplines and no checks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Sequence
from typing import Any

import simpy
from simpy.events import Timeout


class GlobalQueue:
    """One queue over four clusters of 32 processors."""

    def __init__(self, env: simpy.Environment) -> None:
        self.env = env
        self.idle = [32, 32, 32, 32]
        self.waiting: deque[tuple[float, float, tuple[int, ...]]] = deque()
        self.finished = 0
        self.response_s = 0.0

    def start(self, job: tuple[float, float, tuple[int, ...]]) -> bool:
        """Place and start `job` if it fits."""
        idle = self.idle
        sizes = job[2]
        if len(sizes) == 1:
            cluster = idle.index(max(idle))
            if idle[cluster] < sizes[0]:
                return False
            parts = [(cluster, sizes[0])]
        else:
            order = sorted((0, 1, 2, 3), key=idle.__getitem__, reverse=True)
            parts = list(zip(order, sizes, strict=False))
            for cluster, size in parts:
                if idle[cluster] < size:
                    return False
        for cluster, size in parts:
            idle[cluster] -= size
        departure = Timeout(self.env, job[1], (job[0], parts))
        departure.callbacks.append(self.depart)
        return True

    def depart(self, event: Any) -> None:
        """A job leaves; heads start until one does not fit."""
        arrival_s, parts = event._value
        self.finished += 1
        self.response_s += self.env._now - arrival_s
        idle = self.idle
        for cluster, size in parts:
            idle[cluster] += size
        waiting = self.waiting
        while waiting and self.start(waiting[0]):
            waiting.popleft()

    def submit(self, jobs: Sequence[tuple[float, float, tuple[int, ...]]]) -> Generator[Any, None, None]:
        """The process that lets the jobs arrive."""
        env = self.env
        for job in jobs:
            yield Timeout(env, job[0] - env._now)
            if self.waiting or not self.start(job):
                self.waiting.append(job)


def run(jobs: Sequence[tuple[float, float, tuple[int, ...]]]) -> float:
    """Mean response time of `jobs`: (arrival, service, component sizes in decreasing order)."""
    env = simpy.Environment()
    queue = GlobalQueue(env)
    env.process(queue.submit(jobs))
    env.run()
    return queue.response_s / queue.finished
