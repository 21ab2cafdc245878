"""LP-LF: local priority, local queues first in each round."""

from __future__ import annotations

from emulator.policies.queues.local_priority import LocalPriority


class LocalPriorityLocalFirst(LocalPriority):
    """Local queues, then the global one."""
