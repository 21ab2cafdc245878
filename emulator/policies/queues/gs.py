"""GS, a global scheduler: one queue for all jobs, and the placement policy chooses every cluster.

"Scheduling Policies for Processor Coallocation in Multicluster Systems", section 2.
"""

from __future__ import annotations

from emulator.policies.queues.visiting import VisitingDiscipline


class GlobalScheduler(VisitingDiscipline):
    """One queue in order of arrival; its head waits until it fits, and all others behind it."""
