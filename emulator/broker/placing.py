"""One scheduling decision: the clusters' occupancy becomes the policy's state, and the discipline answers.

What comes of it is a `Decision`, which suffices to make the same decision again.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from emulator.broker.runs import LiveJob, Run
from emulator.clusters.protocol import LocalResourceManager, Occupancy
from emulator.model.errors import ClusterUnreachable
from emulator.model.topology import Topology
from emulator.policies.answers import check_answers
from emulator.policies.decisions import SNAPSHOT_EVERY, Decision
from emulator.policies.protocols import SchedulingEvent
from emulator.policies.state import NOTHING_ELSE, ClusterState, Surroundings, SystemState

VIEW_HOST_S: Final = 1.0
"""For how long a reading is good enough for those who look."""


class Occupancies:
    """Asks all clusters at once how full they are."""

    def __init__(self, managers: Sequence[LocalResourceManager]) -> None:
        self._managers = managers
        self._pool = ThreadPoolExecutor(max_workers=len(managers), thread_name_prefix="occupancy")

    def read(self, lost: Collection[str] = ()) -> list[Occupancy | None]:
        """Occupancy per cluster, in order; None for one that does not answer. Clusters called `lost` are not asked."""
        asked = [
            None if manager.cluster in lost else self._pool.submit(_occupancy, manager) for manager in self._managers
        ]
        return [future.result() if future else None for future in asked]

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False)


class ViewedOccupancies:
    """Occupancies for those who only look: however many ask, the clusters are read about once a host second.

    It asks on threads of its own, so that a cluster slow to answer somebody who looks holds up no decision.
    """

    def __init__(self, managers: Sequence[LocalResourceManager]) -> None:
        self._occupancies = Occupancies(managers)
        self._lock = threading.Lock()
        self._read: list[Occupancy | None] = []
        self._lost: frozenset[str] = frozenset()
        self._read_host_s = -math.inf

    def read(self, lost: Collection[str] = ()) -> list[Occupancy | None]:
        """Occupancy per cluster, in order, as it was at most `VIEW_HOST_S` ago, if the same clusters were lost then."""
        with self._lock:
            is_recent = time.monotonic() - self._read_host_s < VIEW_HOST_S
            if not is_recent or self._lost != frozenset(lost):
                self._read, self._lost = self._occupancies.read(lost), frozenset(lost)
                self._read_host_s = time.monotonic()
            return self._read

    def close(self) -> None:
        """End the threads."""
        self._occupancies.close()


def system_state(
    occupancies: Sequence[Occupancy | None],
    placed: Sequence[LiveJob],
    topology: Topology,
    time_s: float,
    surroundings: Surroundings = NOTHING_ELSE,
) -> SystemState:
    """The state that a policy decides on: what the local managers call idle, less what was asked for but not given.

    It calls no processor idle that was not when the local managers were asked, but may miss some: those of an
    allocation that was given, but whose event is still under way, are missing twice. `Looking` notices them later.
    """
    idle = [occupancy.idle if occupancy else 0 for occupancy in occupancies]
    for job in placed:
        for cluster, size in job.unclaimed(topology).items():
            idle[cluster] = max(0, idle[cluster] - size)
    clusters = zip(topology.clusters, idle, strict=True)
    sizes = tuple(ClusterState(cluster.processors, min(free, cluster.processors)) for cluster, free in clusters)
    return SystemState(sizes, time_s, surroundings)


def nothing_idle(topology: Topology, time_s: float) -> SystemState:
    """A state in which no processor of any cluster is idle, so that a discipline can place nothing."""
    return SystemState(tuple(ClusterState(cluster.processors, 0) for cluster in topology.clusters), time_s)


def decide(run: Run, event: SchedulingEvent, state: SystemState) -> Decision:
    """Have the run's discipline decide on `event`, and note what it decided on.

    Raises:
        InvalidInput: if an own discipline or policy fails, or one answers with what cannot be done.
    """
    snapshot = run.deciders.snapshot() if run.decisions % SNAPSHOT_EVERY == 0 else None
    answers = run.deciders.decide(event, state)
    check_answers(answers, state.idle, run.asked_by_waiting)
    waiting = len(run.discipline.waiting())
    decision = Decision(
        run.decisions, state.time_s, event, state.idle, tuple(answers), waiting, state.surroundings, snapshot
    )
    run.note(decision)
    for answer in answers:
        run.jobs[answer.job_id].answered = True
    return decision


def _occupancy(manager: LocalResourceManager) -> Occupancy | None:
    try:
        return manager.occupancy()
    except ClusterUnreachable:
        return None
