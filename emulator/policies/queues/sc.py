"""SC, a single cluster: total requests in order of arrival on one cluster as large as all others together.

"Scheduling Policies for Processor Coallocation in Multicluster Systems", section 4: what co-allocation is compared
with. As a discipline it is GS; the driver that runs it sees to the single cluster and the total requests.
"""

from __future__ import annotations

from emulator.policies.queues.gs import GlobalScheduler


class SingleCluster(GlobalScheduler):
    """GS on a system of one cluster."""
