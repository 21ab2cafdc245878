"""The background load of a simulated campaign, held in its band by the controller of live runs."""

from __future__ import annotations

from emulator.fidelity.background import SETTLING_S
from emulator.model.topology import Topology
from emulator.policies.names import SINGLE_CLUSTER
from emulator.simulator.background import SimulatedBackground
from workloads.campaign import Campaign
from workloads.distributions import stream
from workloads.local_jobs import DUMMY_JOBS, local_jobs


def controlled_background(campaign: Campaign, topology: Topology, seed: int) -> SimulatedBackground | None:
    """Return the background load of `campaign` as the controller holds it; None if it has none."""
    background = campaign.scaled_background
    if background is None:
        return None
    local = local_jobs(background, topology, seed, time_scale=campaign.time_scale)
    processors = [cluster.processors for cluster in topology.clusters]
    if campaign.queue == SINGLE_CLUSTER:
        processors, local = [sum(processors)], (job._replace(cluster=0) for job in local)
    settling_s = SETTLING_S / campaign.time_scale
    together = topology.processors_taken_together
    return SimulatedBackground(background, local, processors, stream(seed, DUMMY_JOBS), settling_s, together)
