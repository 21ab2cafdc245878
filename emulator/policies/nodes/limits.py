"""Limits on the tasks that a node may run, which every node selection keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from emulator.model.errors import InvalidInput
from emulator.model.request import JobRequest
from emulator.model.time_sharing.rules import SocialContract
from emulator.policies.state import NodeState

COMMUNICATION_BELOW: Final = 0.785
"""A job is communication-bound if its tasks use less of a processor than this; midway between CG (71%) and MG (86%)."""


@dataclass(frozen=True, slots=True)
class NodeLimits:
    """Limits on what one node runs.

    `most_jobs` is the multiprogramming level (MPL) of parallel jobs. On nodes of local users, parallel jobs may hold
    the share of the memory that `contract` gives them, but never memory that the users hold. `most_processor_share`
    limits the sum of the shares of the processor that the tasks use when alone; without it, the multiprogramming level
    is the limit.

    Raises:
        InvalidInput: if a limit is out of range.
    """

    most_jobs: int = 4
    contract: SocialContract = field(default_factory=SocialContract)
    most_processor_share: float | None = None
    communication_below: float = COMMUNICATION_BELOW

    def __post_init__(self) -> None:
        if self.most_jobs < 1:
            raise InvalidInput(f"most_jobs: a multiprogramming level must be at least 1, not {self.most_jobs}.")
        if self.most_processor_share is not None and not self.most_processor_share > 0.0:
            raise InvalidInput(f"most_processor_share: must be positive, not {self.most_processor_share!r}.")
        if not 0.0 <= self.communication_below <= 1.0:
            raise InvalidInput(f"communication_below: must lie from 0 to 1, not {self.communication_below!r}.")

    def memory_for_jobs(self, node: NodeState) -> float:
        """Return the memory that all parallel tasks of `node` together may hold."""
        if not node.has_local_users:
            return node.memory_bytes
        return self.contract.memory_for_jobs(node.memory_bytes, node.local_memory_bytes)

    def allow(self, node: NodeState, request: JobRequest) -> bool:
        """Return whether `node` may run a task of `request` beside what it runs."""
        if len(node.tasks) >= self.most_jobs or (node.most_tasks is not None and len(node.tasks) >= node.most_tasks):
            return False
        if node.parallel_memory_bytes + request.memory_bytes > self.memory_for_jobs(node):
            return False
        most = self.most_processor_share
        return most is None or node.parallel_share + request.processor_share <= most

    def is_communication_bound(self, processor_share: float) -> bool:
        """Return the orientation of a job whose tasks use that share of a processor when alone."""
        return processor_share < self.communication_below
