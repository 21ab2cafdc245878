"""GS, a global scheduler, and SC, a single cluster for comparison with co-allocation.

"Scheduling Policies for Processor Coallocation in Multicluster Systems", section 2 (GS) and section 4 (SC).
"""

from __future__ import annotations

from emulator.policies.queues.visiting import VisitingDiscipline


class GlobalScheduler(VisitingDiscipline):
    """GS: one queue in order of arrival; all jobs wait until the head of the queue fits.

    The placement policy chooses every cluster.
    """


class SingleCluster(GlobalScheduler):
    """SC: GS for total requests on one cluster that is as large as all clusters together.

    The simulator provides the single cluster and the total requests.
    """
