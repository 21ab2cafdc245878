"""The load that jobs offer: their work in one cluster, over what all processors can do while they arrive.

They arrive from the first arrival to the last. The load depends on the jobs and on the number of processors only, not
on who schedules them, so a live campaign and a simulation of it have the same one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from emulator.campaigns.modelled_jobs import timed_jobs
from emulator.model.errors import InvalidInput
from emulator.model.records import Manifest, RunKind
from emulator.model.stream import StreamJob
from emulator.model.topology import Topology
from workloads.campaign import Campaign, recorded_campaign

SAME_LOAD: Final = 1e-5
"""The relative difference up to which a load is the jobs' own: one that is printed with six digits differs by less."""


def load_of(jobs: Sequence[StreamJob], processors: int) -> float | None:
    """Return the load that `jobs` offer; None if all of them arrive at once or take no time."""
    work_s, period_s = _work_and_period_s(jobs)
    return work_s / (processors * period_s) if work_s > 0.0 and period_s > 0.0 else None


def at_load(jobs: Sequence[StreamJob], processors: int, load: float) -> tuple[StreamJob, ...]:
    """Return `jobs` at other arrivals, at which their work is that share of what `processors` can do.

    At the load that they have already they stay as they are.

    Raises:
        InvalidInput: if the load is not positive, or all jobs arrive at once.
    """
    if not (math.isfinite(load) and load > 0):
        raise InvalidInput(f"--loads: must be positive numbers, not {load!r}.")
    work_s, period_s = _work_and_period_s(jobs)
    if period_s <= 0.0 or work_s <= 0.0:
        raise InvalidInput("--loads: all jobs arrive at once or take no time, so that no load can be made of them.")
    factor = work_s / (load * processors * period_s)
    if math.isclose(factor, 1.0, rel_tol=SAME_LOAD):
        return tuple(jobs)
    first_s = jobs[0].arrival_s
    return tuple(
        StreamJob(
            job.id, first_s + (job.arrival_s - first_s) * factor, job.service_s, job.request, job.queue, job.application
        )
        for job in jobs
    )  # fmt: skip


def campaign_load(campaign: Campaign, topology: Topology, seed: int) -> float | None:
    """Return the load that the jobs of `campaign` under `seed` offer on `topology`.

    It is None if nobody knows how long the jobs take in one cluster, and where nodes are shared in time.
    """
    if topology.time_sharing is not None:
        return None
    # Who places the jobs changes nothing, and a policy of the user's own would have to be executed.
    scheduled = campaign.model_copy(update={"policy": "wf", "queue": "placement", "sources": {}})
    try:
        return load_of(timed_jobs(scheduled, topology, seed, 1.0).jobs, topology.processors)
    except InvalidInput:
        return None


def recorded_load(manifest: Manifest) -> float | None:
    """Return the load that the jobs of a recorded run offered; None as `campaign_load`, and if it was no campaign."""
    if manifest.kind is RunKind.MEASUREMENT:
        return None
    try:
        campaign = recorded_campaign(manifest.workload, source=manifest.name)
    except InvalidInput:
        return None
    return campaign_load(campaign, manifest.topology, manifest.seed)


def _work_and_period_s(jobs: Sequence[StreamJob]) -> tuple[float, float]:
    """Return the processor-seconds of all `jobs` in one cluster, and the time from the first arrival to the last."""
    period_s = jobs[-1].arrival_s - jobs[0].arrival_s if jobs else 0.0
    return math.fsum(job.request.processors * job.service_s for job in jobs), period_s
