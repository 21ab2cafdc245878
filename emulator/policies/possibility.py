"""Whether a system could ever run a job: whether the job would start if it were alone.

A job that can never fit would wait for ever, and in most disciplines all behind it too; so the broker refuses it when
it is submitted and the simulator when it arrives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from emulator.model.errors import ImpossibleRequest
from emulator.policies.protocols import PlacementPolicy, WaitingJob
from emulator.policies.state import NOTHING_ELSE, ClusterState, Surroundings, SystemState


@final
class Possibility:
    """What clusters with `processors` each could run, idle, under a policy and a `discipline` that serves nothing else.

    A discipline that restricts where its jobs may run says so in a method `could_start`.
    """

    def __init__(
        self,
        processors: Sequence[int],
        discipline: Any,
        policy: PlacementPolicy,
        surroundings: Surroundings = NOTHING_ELSE,
    ) -> None:
        self._idle = SystemState(tuple([ClusterState(size, size) for size in processors]), 0.0, surroundings)
        self._discipline = discipline
        self._policy = policy

    def could_start(self, job: WaitingJob, surroundings: Surroundings | None = None) -> bool:
        """Whether `job` would start if nobody else used the system, in other `surroundings` where these are given.

        Raises:
            InvalidInput: if the job lacks the queue that the discipline needs.
        """
        idle = self._idle if surroundings is None else SystemState(self._idle.sizes, 0.0, surroundings)
        if hasattr(self._discipline, "could_start"):
            return bool(self._discipline.could_start(job, idle, self._policy))
        return self._policy.place(job.request, idle) is not None

    def check(self, job: WaitingJob, components: Sequence[int], surroundings: Surroundings | None = None) -> None:
        """Let a job pass that could start; `components` is what its user asked for.

        Raises:
            InvalidInput: if the job lacks the queue that the discipline needs.
            ImpossibleRequest: if it could not start even if the system were idle.
        """
        if not self.could_start(job, surroundings):
            raise ImpossibleRequest(
                f"Job {job.id}: components: {list(components)} can never be placed on clusters of "
                f"{list(self._idle.idle)} processors" + (f" from queue {job.queue}." if job.queue is not None else ".")
            )
