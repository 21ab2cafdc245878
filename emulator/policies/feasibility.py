"""Whether a system could ever run a job: whether the job would start if it were the only job.

A job that can never fit would wait forever and, in most disciplines, block all jobs behind it. The broker therefore
refuses such a job when it is submitted, and the simulator when it arrives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from emulator.model.errors import ImpossibleRequest
from emulator.model.request import JobRequest
from emulator.model.units import BYTES_PER_MEGABYTE
from emulator.policies.placement.exclusive_nodes import ExclusiveNodes
from emulator.policies.placement.fixed import place_where_named
from emulator.policies.placement.quota import Quota
from emulator.policies.protocols import PlacementPolicy, WaitingJob
from emulator.policies.state import NOTHING_ELSE, Surroundings, SystemState
from emulator.policies.traits import traits_of_placement, traits_of_queue


@final
class Feasibility:
    """The feasibility check of jobs on idle clusters with `processors` each, under a discipline and a policy.

    A discipline that restricts where its jobs may run implements a method `could_start`. `discipline` must not be used
    for scheduling, because a check may change its state.
    """

    def __init__(
        self,
        processors: Sequence[int],
        discipline: Any,
        policy: PlacementPolicy,
        surroundings: Surroundings = NOTHING_ELSE,
    ) -> None:
        self._idle = SystemState(tuple(processors), tuple(processors), 0.0, surroundings)
        self._discipline = discipline
        self._traits = traits_of_queue(discipline)
        self._policy = policy

    def could_start(self, job: WaitingJob, surroundings: Surroundings | None = None) -> bool:
        """Return whether `job` would start on the idle system; `surroundings`, if given, replace the default ones.

        Raises:
            InvalidInput: if the job lacks the queue that the discipline needs.
        """
        idle = self._idle
        if surroundings is not None:
            idle = SystemState(idle.processors, idle.idle, 0.0, surroundings)
        if self._traits.has_could_start:
            return bool(self._discipline.could_start(job, idle, self._policy))
        request = job.request
        if request.clusters:
            return place_where_named(request, idle, self._policy) is not None
        return self._policy.place(request, idle) is not None

    def check(self, job: WaitingJob, components: Sequence[int], surroundings: Surroundings | None = None) -> None:
        """Check that a job could start; the error message names `components`, the sizes that the user asked for.

        Raises:
            InvalidInput: if the job lacks the queue that the discipline needs.
            ImpossibleRequest: if it could not start even if the system were idle.
        """
        if not self.could_start(job, surroundings):
            within = self._limits(job.request)
            names_queue = self._traits.has_queue_per_cluster and job.queue is not None
            queue = f" from queue {job.queue}" if names_queue else ""
            raise ImpossibleRequest(
                f"Job {job.id}: components: {list(components)} can never be placed on clusters of "
                f"{list(self._idle.idle)} processors{within}{queue}."
            )

    def _limits(self, request: JobRequest) -> str:
        """Return the words for what limits the policy."""
        policy, words = self._policy, ""
        if traits_of_placement(policy).chooses_nodes:
            memory_mb = request.memory_bytes / BYTES_PER_MEGABYTE
            return f", each task on a node of its own that may give jobs {memory_mb:g} MB"
        if isinstance(policy, Quota):
            words = f" within a quota of {policy.share:g}"
            policy = policy.policy
        if isinstance(policy, ExclusiveNodes):
            words = f" in whole nodes of {policy.processors_per_node}{words}"
        return words
