"""The jobs of a campaign with their execution times: drawn where the campaign states them, else by the model.

Either way arrivals and requests are those that a live run with the same seed submits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from emulator.campaigns.job_times import JobTimes, is_modelled
from emulator.model.stream import StreamJob
from emulator.model.topology import Topology
from emulator.planning.planned_jobs import UNSTATED_ITERATIONS
from emulator.simulator.runtime import FactorTable, OneFactor, RuntimeModel, RuntimeOfJobs
from workloads.campaign import Campaign
from workloads.campaign_stream import InputFile, campaign_files, campaign_jobs
from workloads.job_lengths import check_programs, with_lengths, with_once_divided
from workloads.schedule import Arrival, admitted, home_queues, schedule, specifications_by_number, stream_job

STATED: Final = "stated"
MODEL: Final = "model"
NO_EXTENSION: Final = "none"


@dataclass(frozen=True)
class TimedJobs:
    """The jobs of a campaign in order of arrival, the files that they read, and what tells their execution times."""

    jobs: tuple[StreamJob, ...]
    files: Mapping[str, InputFile]
    runtime: RuntimeModel | RuntimeOfJobs | float
    provenance: Mapping[str, Any] = field(default_factory=dict)


def timed_jobs(campaign: Campaign, topology: Topology, seed: int, factors: FactorTable | float | None) -> TimedJobs:
    """Return the jobs of `campaign` under `seed` with extension `factors`: one, a table, or none.

    Factors that are not given, or that a table lacks, come from the model, and so do times that the campaign does not
    state. If it states them, and the model knows nothing of its jobs, they are not extended.

    Raises:
        InvalidInput: if the model knows nothing of the jobs, or the campaign contains an invalid job or arguments that
            its applications do not have.
        ImpossibleRequest: if a job does not fit the system.
    """
    check_programs(campaign)
    table = factors if isinstance(factors, FactorTable) else None
    if campaign.states_services:
        drawn = campaign_jobs(campaign, topology, seed)
        if isinstance(factors, int | float):
            return TimedJobs(drawn.jobs, drawn.files, factors)
        if table is None and not all(is_modelled(job.application, topology) for job in drawn.jobs):
            return TimedJobs(drawn.jobs, drawn.files, 1.0, {"times": STATED, "factors": NO_EXTENSION})
        specifications = specifications_by_number(with_once_divided(schedule(campaign, seed), campaign))
        stated = JobTimes(topology, specifications, stated=True, table=table)
        return TimedJobs(drawn.jobs, drawn.files, stated, {"times": STATED})
    # As long as those of a live run.
    arrivals = with_lengths(schedule(campaign, seed), campaign, topology, seed)
    times = JobTimes(
        topology,
        specifications_by_number(arrivals),
        table=table,
        factor=OneFactor(factors) if isinstance(factors, int | float) else None,
    )
    files = campaign_files(campaign, topology, seed)
    provenance: dict[str, Any] = {"times": MODEL}
    assumed = dict.fromkeys(times.assumed_lengths(), UNSTATED_ITERATIONS)
    if assumed:
        provenance["assumed_iterations"] = assumed
    return TimedJobs(_jobs(campaign, arrivals, topology, seed, times), files, times, provenance)


def _jobs(
    campaign: Campaign, arrivals: Sequence[Arrival], topology: Topology, seed: int, times: JobTimes
) -> tuple[StreamJob, ...]:
    queues = home_queues(campaign, arrivals, topology, seed)
    may_come = admitted(campaign, [arrival.specification for arrival in arrivals], topology)
    found: list[StreamJob] = []
    for number, (arrival, queue, comes) in enumerate(zip(arrivals, queues, may_come, strict=True), start=1):
        if comes:
            found.append(stream_job(number, arrival, topology, times.service_s(arrival.specification), queue))
    return tuple(found)
