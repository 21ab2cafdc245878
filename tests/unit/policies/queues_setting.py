"""Jobs, states and filled queues for the tests of queue disciplines."""

from __future__ import annotations

import numpy

from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.model.scheduling import Scanning
from emulator.policies.placement.fixed import AcceptingFixed
from emulator.policies.placement.worst_fit_distinct import WorstFitDistinct
from emulator.policies.protocols import Arrival, Departure, QueueDiscipline, Start, WaitingJob
from emulator.policies.registry import queue_discipline
from emulator.policies.state import SystemState

POLICY = AcceptingFixed(WorstFitDistinct())
FULL = (0, 0, 0, 0)


def state_with(*idle: int) -> SystemState:
    """Return clusters of 32 processors with these numbers of idle ones."""
    return SystemState((32,) * len(idle), tuple(idle))


def job(number: int, queue: int, *components: int) -> WaitingJob:
    """Return a job with unordered components that is submitted to `queue`."""
    return WaitingJob(number, JobRequest(RequestKind.UNORDERED, components, estimate_s=1.0), queue)


def placement_on(*parts: tuple[int, int]) -> Placement:
    """Return a placement of (cluster, processors) pairs."""
    return Placement(tuple(Component(cluster, size) for cluster, size in parts))


class Scene:
    """A discipline whose started jobs, by number, are returned at each event."""

    def __init__(self, name: str, seed: int = 0) -> None:
        self.discipline: QueueDiscipline = queue_discipline(name, Scanning())
        self.rng = numpy.random.default_rng(seed)

    def arrive(self, job: WaitingJob, *idle: int) -> list[int]:
        """Return the jobs that start when `job` arrives."""
        return self._started(Arrival(job), idle)

    def hold(self, *jobs: WaitingJob) -> Scene:
        """Let `jobs` arrive, in order, while all clusters are full."""
        for waiting in jobs:
            assert self.arrive(waiting, *FULL) == []
        return self

    def depart(self, *idle: int, placement: Placement | None = None) -> list[int]:
        """Return the jobs that start when another departs and leaves `idle` processors."""
        return self._started(Departure(0, placement or placement_on((0, 1))), idle)

    def _started(self, event: Arrival | Departure, idle: tuple[int, ...]) -> list[int]:
        answers = self.discipline.decide(event, state_with(*idle), POLICY, self.rng)
        assert all(isinstance(answer, Start) for answer in answers)
        return [answer.job_id for answer in answers]
