"""Claims in a simulation: a placed job whose file is under way claims its processors later, as the paper's jobs do.

Until then the processors are promised: no other job of the grid is placed on them, but other users' jobs may take them.
A claim then fails, and is tried again by the procedure of live runs (`emulator.policies.claiming_procedure`).
"""

from __future__ import annotations

from collections.abc import Sequence

from emulator.model.placement import Placement
from emulator.model.scheduling import StatedClaiming
from emulator.policies.claiming_procedure import ClaimingProcedure


class Claims:
    """The claims that are still to be made, of a simulated multicluster with that number of `clusters`."""

    def __init__(self, stated: StatedClaiming, clusters: int) -> None:
        self._stated = stated
        self._promised: list[int] = [0] * clusters
        self._procedures: dict[int, ClaimingProcedure] = {}

    def left(self, idle: Sequence[int]) -> list[int]:
        """Return the `idle` processors per cluster that are not promised: those on which jobs may be placed."""
        return [max(0, free - promised) for free, promised in zip(idle, self._promised, strict=True)]

    def awaits(self, job: int) -> bool:
        """Return whether job number `job` is placed and has not claimed its processors."""
        return job in self._procedures

    def promise(self, job: int, placement: Placement, time_s: float) -> ClaimingProcedure:
        """Promise the processors of a job that is placed at `time_s`; return its first claiming try."""
        for component in placement.components:
            self._promised[component.cluster] += component.processors
        procedure = ClaimingProcedure.begun(self._stated, time_s, placement.transfer_s)
        self._procedures[job] = procedure
        return procedure

    def claim(self, placement: Placement, idle: list[int]) -> bool:
        """Take the processors of `placement` from `idle`, if all of them are there; return whether they are."""
        needed = placement.by_cluster()
        if any(idle[cluster] < processors for cluster, processors in needed.items()):
            return False
        for cluster, processors in needed.items():
            idle[cluster] -= processors
        return True

    def next_try(self, job: int, time_s: float) -> ClaimingProcedure | None:
        """Return the try after one that failed at `time_s`; None if the job may not postpone its start any more."""
        following = self._procedures[job].after_failure(time_s)
        if following is not None:
            self._procedures[job] = following
        return following

    def end(self, job: int, placement: Placement) -> ClaimingProcedure:
        """Promise nothing more to a job, because it has claimed or failed; return its last try."""
        for component in placement.components:
            self._promised[component.cluster] -= component.processors
        return self._procedures.pop(job)
