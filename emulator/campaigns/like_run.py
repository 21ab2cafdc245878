"""A simulation of what a live run did: its schedule, system, scheduler and background load, from its directory.

Execution times come from measured factors where they are given, else from the model; or from the live run itself; the
remaining difference is then that of the schedulers. Everything else is read from the run's records. What other users
did is repeated: their load, and the claims of jobs without files that failed because such users came first. Live a
cluster takes a moment to release a job's processors, and a transfer to log in at its source and to check what came; so
they do here: for as long as in the mean, or as drawn from what the run recorded. Draws show how much of a difference
between a live run and its simulation is chance.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from emulator.campaigns.chance import Chance
from emulator.campaigns.job_times import JobTimes, measured_times
from emulator.campaigns.simulated_background import controlled_background
from emulator.campaigns.simulated_run import NamedJob
from emulator.campaigns.simulated_workload import NO_OVERHEAD, SimulatedWorkload, with_own_processors
from emulator.fidelity.background import SETTLING_S, BandWatch
from emulator.model.background import Scope
from emulator.model.counts import number_of
from emulator.model.errors import InvalidInput
from emulator.model.records import MANIFEST_FILE, ROW_FILES, SCHEDULE_FILE, BackgroundRow, JobRow, RunKind
from emulator.model.stream import StreamJob
from emulator.model.times import Times
from emulator.model.topology import Middleware, Topology
from emulator.runs.input_files import stated_surroundings
from emulator.runs.run_directory import RunRecords, check_not_cut_short, read_run
from emulator.simulator.background import BackgroundChange, OtherUsers
from emulator.simulator.replayed_background import ReplayedBackground
from emulator.simulator.runtime import FactorTable, OneFactor
from emulator.simulator.transfers import Transfers
from workloads.campaign import Campaign, recorded_campaign
from workloads.campaign_stream import campaign_files
from workloads.schedule import (
    Arrival,
    read_schedule,
    scaled_run_time_limit_s,
    specifications_by_number,
    stream_job,
)

AS_STATED: Final = "as the topology states"
AS_RECORDED: Final = "the mean of the live run, whose topology states none"


def like_run(
    path: Path, times: Times = Times.MODEL, factors: FactorTable | float | None = None, draw: int | None = None
) -> SimulatedWorkload:
    """Return what the live run in `path` did, ready to be simulated.

    With `factors` the time in one cluster is the model's, and the extension factors are these; for what a table lacks,
    the model's. With `times` of the run, measured execution times go before both. `draw` is the seed of draws.

    Raises:
        InvalidInput: if there is no campaign's directory, it was cut short, or the times of its jobs are unknown.
    """
    run = read_run(path)
    campaign, arrivals = campaign_of(run), arrivals_of(run)
    topology, scale = with_own_processors(run.manifest.topology), campaign.time_scale
    if times is Times.RUN:
        _check_measured(run)
    known = _times(run, arrivals, times, factors)
    middleware = topology.middleware.divided(scale) if topology.middleware else _recorded_middleware(run)
    files = campaign_files(campaign, topology, run.manifest.seed)
    names = {arrival.specification.file for arrival in arrivals}
    files = {name: file for name, file in files.items() if name in names}
    background, background_from = _background(run, campaign)
    failed_claims = _failed_claims(run)
    chance = Chance.of(run, draw)
    return SimulatedWorkload(
        run.manifest.name,
        [_job(number, arrival, topology, known) for number, arrival in enumerate(arrivals, start=1)],
        topology,
        campaign.policy,
        campaign.queue,
        campaign.quota,
        scanning=campaign.scanning,
        middleware=middleware,
        runtime=known,
        surroundings=stated_surroundings(topology, files) if files else None,
        background=background,
        claiming=campaign.claiming.divided(scale) if files or failed_claims else None,
        failed_claims=failed_claims,
        transfers=Transfers.over(topology, chance.logins_s, chance.checks_s) if files else None,
        release_s=chance.releases_s,
        run_time_limit_s=scaled_run_time_limit_s(campaign),
        record=run.manifest.workload,
        seed=run.manifest.seed,
        sources=campaign.sources,
        named={number: NamedJob.of(job) for number, job in specifications_by_number(arrivals).items()},
        provenance={
            "like": path.resolve().name,
            "times": times.value,
            "middleware": AS_STATED if topology.middleware else AS_RECORDED,
            **({} if background is None else {"background": background_from}),
            **({"failed_claims": "as recorded"} if failed_claims else {}),
            **chance.record(files=bool(files)),
            **({} if draw is None else {"draw": draw}),
        },
    )


def campaign_of(run: RunRecords) -> Campaign:
    """Return the campaign that a run was of.

    Raises:
        InvalidInput: if it was no live campaign, or is not whole.
    """
    manifest = run.manifest
    if manifest.kind is not RunKind.CAMPAIGN:
        raise InvalidInput(f"{run.path}: is a {manifest.kind.value}; only a live campaign can be simulated again.")
    check_not_cut_short(run)
    return recorded_campaign(manifest.workload, source=f"{run.path / MANIFEST_FILE}: workload")


def arrivals_of(run: RunRecords) -> list[Arrival]:
    """Return the schedule that a live run submitted.

    Raises:
        InvalidInput: as `recorded_arrivals`.
    """
    return recorded_arrivals(run.path, run.manifest.jobs)


def recorded_arrivals(path: Path, jobs: int) -> list[Arrival]:
    """Return the schedule in the directory of a live run of a number of `jobs`.

    Raises:
        InvalidInput: if it cannot be read, is not in order of arrival, or has another number of jobs than the run.
    """
    arrivals = read_schedule(path / SCHEDULE_FILE)
    if len(arrivals) != jobs:
        raise InvalidInput(
            f"{path / SCHEDULE_FILE}: holds {number_of(len(arrivals), 'job')}, but the run had {jobs}: one of the "
            "two is not of this run."
        )
    latest_s = 0.0
    for number, arrival in enumerate(arrivals, start=1):
        if arrival.arrival_s < latest_s:
            raise InvalidInput(
                f"{path / SCHEDULE_FILE}, line {number}: arrival_s: {arrival.arrival_s!r} lies before "
                f"{latest_s!r}, the arrival of the job before it."
            )
        latest_s = arrival.arrival_s
    return arrivals


def _check_measured(run: RunRecords) -> None:
    """Raise `InvalidInput` if a job has an execution time that cannot be."""
    for job in run.jobs:
        if job.execution_time_s is not None and job.execution_time_s < 0:
            raise InvalidInput(
                f"{run.path / ROW_FILES[JobRow]}: job {job.job}: execution_time_s: must be zero or more, not "
                f"{job.execution_time_s!r} (take --times model, which does not read it)."
            )


def _times(run: RunRecords, arrivals: Sequence[Arrival], times: Times, factors: FactorTable | float | None) -> JobTimes:
    """Return the execution times of the jobs that arrive: by the model, and if `times` says so first by the run."""
    specifications = specifications_by_number(arrivals)
    if times is Times.RUN:
        _check_distinct(run, [specification.name for specification in specifications.values()])
    by_name = {specification.name: specification for specification in specifications.values()}
    return JobTimes(
        run.manifest.topology,
        specifications,
        table=factors if isinstance(factors, FactorTable) else None,
        factor=OneFactor(factors) if isinstance(factors, int | float) else None,
        measured_s=measured_times(run.jobs, run.components, by_name, run.manifest.topology)
        if times is Times.RUN
        else {},
    )


def _failed_claims(run: RunRecords) -> dict[int, int]:
    """Return how many claims of jobs without files failed, by the number of the job in the order of arrival."""
    in_order = sorted(run.jobs, key=lambda job: (job.intended_arrival_s or job.submitted_s, job.job))
    return {
        number: job.claiming_tries - 1
        for number, job in enumerate(in_order, start=1)
        if not job.file and job.claiming_tries > 1
    }


def _check_distinct(run: RunRecords, names: Sequence[str]) -> None:
    """Raise `InvalidInput` if two jobs have one name, since their measured times then cannot be told apart."""
    for name, times in Counter(names).items():
        if times > 1:
            raise InvalidInput(
                f"{run.path}: {times} jobs are called {name!r}, so that their execution times cannot be told apart "
                "(take --times model, which does not read them)."
            )


def _job(number: int, arrival: Arrival, topology: Topology, times: JobTimes) -> StreamJob:
    specification = arrival.specification
    return stream_job(number, arrival, topology, times.service_s(specification), specification.queue_in(topology))


def _recorded_middleware(run: RunRecords) -> Middleware:
    """Return the mean overhead of the run's jobs, whose topology states none; the simulator adds file transfers."""
    overheads_s = [
        max(0.0, job.overhead_s - (job.estimated_transfer_s or 0.0)) for job in run.jobs if job.overhead_s is not None
    ]
    return Middleware(base_s=statistics.fmean(overheads_s)) if overheads_s else NO_OVERHEAD


def _background(run: RunRecords, campaign: Campaign) -> tuple[OtherUsers | None, str]:
    """Return the background load as the run recorded it, or held again in its band if it recorded none."""
    background, topology = campaign.scaled_background, run.manifest.topology
    if background is None:
        return None, ""
    if not run.background:
        found = controlled_background(campaign, topology, run.manifest.seed)
        return found, "held in its band again: the run recorded none"
    index = {name: number for number, name in enumerate(topology.cluster_names)}
    unknown = next((row.cluster for row in run.background if row.cluster not in index), None)
    if unknown is not None:
        raise InvalidInput(f"{run.path}: background.csv: there is no cluster {unknown!r} in the run's topology.")
    watch = BandWatch(background.of(topology.processors), background.void_after_s, SETTLING_S / campaign.time_scale)
    processors = [cluster.processors for cluster in topology.clusters]
    together = topology.processors_taken_together if background.scope is Scope.SYSTEM else 0
    return ReplayedBackground(_changes(run.background, index), processors, watch, together), "as recorded"


def _changes(rows: Sequence[BackgroundRow], index: Mapping[str, int]) -> list[BackgroundChange]:
    """Return the changes that `rows` record, in order of time.

    A later row of a cluster replaces the one before it. Reports of clusters take their time, so it may name an earlier
    timestamp: then it holds from that of the row before it.
    """
    latest_s: dict[str, float] = {}
    found: list[BackgroundChange] = []
    for row in rows:
        time_s = latest_s[row.cluster] = max(row.time_s, latest_s.get(row.cluster, row.time_s))
        found.append(BackgroundChange(time_s, index[row.cluster], row.dummy_processors, row.local_processors))
    return sorted(found, key=lambda change: change.time_s)
