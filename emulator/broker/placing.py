"""One scheduling decision: the clusters' occupancy becomes the policy's state, the discipline answers, all is recorded.

What is recorded suffices to make the decision again: the event, the idle processors it was made on, the answers, and
now and then everything the discipline remembers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from emulator.broker.runs import LiveJob, Run
from emulator.clusters.protocol import LocalResourceManager, Occupancy
from emulator.model.errors import ClusterUnreachable
from emulator.model.topology import Topology
from emulator.policies.protocols import Arrival, Departure, Reject, SchedulingEvent, Start, Withdrawal
from emulator.policies.state import ClusterState, SystemState

SNAPSHOT_EVERY = 1_000


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


def system_state(
    occupancies: Sequence[Occupancy | None], jobs: Sequence[LiveJob], topology: Topology, time_s: float
) -> SystemState:
    """The state that a policy decides on: what the local managers call idle, less what was asked for but not given."""
    idle = [occupancy.idle if occupancy else 0 for occupancy in occupancies]
    for job in jobs:
        for cluster, size in job.unclaimed(topology).items():
            idle[cluster] = max(0, idle[cluster] - size)
    clusters = zip(topology.clusters, idle, strict=True)
    return SystemState(tuple(ClusterState(cluster.processors, free) for cluster, free in clusters), time_s)


def decide(run: Run, event: SchedulingEvent, state: SystemState) -> tuple[Sequence[Start | Reject], dict[str, Any]]:
    """The discipline's answers to `event`, and the record of the decision."""
    answers = run.discipline.decide(event, state, run.policy, run.rng)
    detail: dict[str, Any] = {
        "event": _described(event),
        "idle": list(state.idle),
        "answers": [_answer(answer) for answer in answers],
        "waiting": len(run.discipline.waiting()),
    }
    if run.decisions % SNAPSHOT_EVERY == 0:
        detail["snapshot"] = {"discipline": run.discipline.snapshot(), "rng": run.rng.bit_generator.state}
    run.decisions += 1
    return answers, detail


def _occupancy(manager: LocalResourceManager) -> Occupancy | None:
    try:
        return manager.occupancy()
    except ClusterUnreachable:
        return None


def _described(event: SchedulingEvent) -> dict[str, Any]:
    match event:
        case Arrival(job):
            return {"kind": "arrival", "job": job.id}
        case Departure(job_id, _):
            return {"kind": "departure", "job": job_id}
        case Withdrawal(job_id):
            return {"kind": "withdrawal", "job": job_id}
        case _:
            return {"kind": "scan"}


def _answer(answer: Start | Reject) -> dict[str, Any]:
    if isinstance(answer, Reject):
        return {"kind": "reject", "job": answer.job_id, "tries": answer.tries, "reason": answer.reason}
    placement = [[component.cluster, component.processors] for component in answer.placement.components]
    return {"kind": "start", "job": answer.job_id, "tries": answer.tries, "placement": placement}
