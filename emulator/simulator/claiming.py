"""Claims in a simulation: a placed job whose file is under way claims its processors later, as the paper's jobs do.

Until then the processors are promised: no other job of the grid is placed on them, but other users' jobs may take them.
A claim then fails, and is tried again by the procedure of live runs (`emulator.policies.claiming_procedure`).

A job without a file claims its processors when it is placed, so no other user can take them before. Live a claim takes
a moment, in which that happens now and then. A simulation of a live run repeats such failures as they were recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from emulator.model.placement import Placement
from emulator.model.scheduling import StatedClaiming
from emulator.policies.claiming_procedure import ClaimingProcedure


class Claims:
    """The claims that are still to be made, of a simulated multicluster with that number of `clusters`.

    `failures` says, for a job's number, how many of the job's first claims fail even if its processors are idle.
    """

    def __init__(self, stated: StatedClaiming, clusters: int, failures: Mapping[int, int] | None = None) -> None:
        self._stated = stated
        self._failures: dict[int, int] = dict(failures or {})
        self._promised: list[int] = [0] * clusters
        self._procedures: dict[int, ClaimingProcedure] = {}

    def left(self, idle: Sequence[int]) -> list[int]:
        """Return the `idle` processors per cluster that are not promised: those on which jobs may be placed."""
        return [max(0, free - promised) for free, promised in zip(idle, self._promised, strict=True)]

    def come_later(self, job: int, placement: Placement) -> bool:
        """Return whether a job placed at `placement` does not hold its processors at once."""
        return placement.transfer_s > 0.0 or self._failures.get(job, 0) > 0

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

    def claim(self, job: int, placement: Placement, idle: list[int]) -> bool:
        """Take the processors of `placement` from `idle`; return False if some are missing or the claim must fail."""
        failures = self._failures.get(job, 0)
        if failures > 0:
            self._failures[job] = failures - 1
            return False
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

    @property
    def places_again(self) -> bool:
        """Whether a job that may not postpone its start any more is placed again."""
        return self._stated.place_again

    def end(self, job: int, placement: Placement) -> ClaimingProcedure:
        """Promise nothing more to a job, because it has claimed or failed; return its last try."""
        for component in placement.components:
            self._promised[component.cluster] -= component.processors
        return self._procedures.pop(job)
