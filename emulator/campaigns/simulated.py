"""A workload through the simulator; the outcome of each job, and a run's directory, where they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TextIO

from emulator.campaigns.simulated_run import OUTCOMES, SimulatedRun, write_simulated_run
from emulator.campaigns.simulated_workload import SimulatedWorkload, SimulationOptions
from emulator.campaigns.workload_sources import DEFAULT_STREAM_JOBS, prepared
from emulator.model.counts import number_of
from emulator.model.errors import InvalidInput
from emulator.model.records import RunKind, RunProgress, TransferRow
from emulator.model.stream import StreamJob
from emulator.model.units import rate_mbit
from emulator.model.whole_files import written_whole
from emulator.policies.factory import discipline_scanned
from emulator.policies.names import SINGLE_CLUSTER, plain_name
from emulator.policies.protocols import PlacementPolicy, QueueDiscipline
from emulator.policies.registry import default_policy, placement_policy
from emulator.runs.run_directory import check_free, read_manifest
from emulator.simulator.parallel_simulations import OUTCOMES_VERSION
from emulator.simulator.runtime import FactorTable
from emulator.simulator.shared_links import SharedLinks
from emulator.simulator.simulated_job import FinishedJob
from emulator.simulator.simulation import SimulationResult, simulate
from workloads.custom_sources import sources_of
from workloads.estimates import with_estimates
from workloads.job_lists import JobOutcome, outcome_line

TABLE: Final = "table"
"""Stands in a record before the digest of a table of extension factors; the run's rows hold what it says of jobs."""

_SOURCES: Final = "jobs_by_source"
"""The key of a record that says how many jobs got their times from which source: known when all have been simulated."""


def simulate_workload(
    source: str, options: SimulationOptions, jobs_out: Path | None = None, out: Path | None = None
) -> tuple[SimulatedWorkload, SimulationResult]:
    """Simulate the workload that `source` names; each job's outcome goes to `jobs_out`, written whole or not at all.

    With `out` the simulation leaves a run's directory there, and all its jobs are held in memory.

    Raises:
        InvalidInput: if an input is wrong; one sentence names the file, the line and the field.
    """
    subject = prepared(source, options)
    return subject, simulate_prepared(subject, options, jobs_out, out)


def simulate_prepared(
    subject: SimulatedWorkload, options: SimulationOptions, jobs_out: Path | None = None, out: Path | None = None
) -> SimulationResult:
    """Simulate a workload that was prepared, as `simulate_workload` does."""
    if out is not None:
        check_free(out)
        if subject.queue == SINGLE_CLUSTER:
            raise InvalidInput(
                f"--out: under {SINGLE_CLUSTER} there is one cluster that the topology lacks; leave it out."
            )
        if subject.background is not None:
            subject.background.keep_changes()
    recorded = subject if out is None else _carrying_sources(subject)
    seed = options.seed if subject.seed is None else subject.seed
    check_warm_up(subject.jobs, options)
    jobs = estimated(subject.jobs, options, seed)
    subject = replace(subject, jobs=jobs if out is None else tuple(jobs))
    with nullcontext() if jobs_out is None else written_whole(jobs_out) as lines:
        result = simulate(
            subject.jobs,
            clusters=subject.topology,
            queue=_queue(subject),
            policy=_policy(subject),
            quota=subject.quota,
            runtime=subject.runtime,
            contention=None if options.jobs_per_link is None else SharedLinks(options.jobs_per_link),
            seed=seed,
            warm_up_jobs=options.warm_up_jobs,
            on_finished=None if lines is None else _recorder(lines),
            keep_jobs=out is not None,
            scanning=subject.scanning,
            middleware=subject.middleware,
            surroundings=subject.surroundings,
            background=subject.background,
            claiming=subject.claiming,
            failed_claims=subject.failed_claims,
            transfers=subject.transfers,
            release_s=subject.release_s,
            run_time_limit_s=subject.run_time_limit_s,
            time_scale=float(subject.record.get("time_scale", 1.0)),
        )
    if out is not None:
        _write(out, replace(recorded, jobs=subject.jobs), options, seed, result)
    return result


def is_recorded(path: Path, subject: SimulatedWorkload, options: SimulationOptions) -> bool:
    """Return whether `path` holds the whole record of this simulation of what a live run did, by this simulator.

    Raises:
        InvalidInput: if there is no run's directory.
    """
    manifest = read_manifest(path)
    found = {name: value for name, value in (manifest.simulated or {}).items() if name != _SOURCES}
    return (
        manifest.kind is RunKind.SIMULATION
        and manifest.progress is RunProgress.COMPLETE
        and manifest.seed == subject.seed
        and manifest.topology == subject.topology
        and manifest.workload == dict(subject.record)
        and found == _provenance(subject, options)
        and manifest.versions.get(OUTCOMES) == str(OUTCOMES_VERSION)
    )


def estimated(jobs: Iterable[StreamJob], options: SimulationOptions, seed: int) -> Iterable[StreamJob]:
    """Return `jobs` with the estimates that the options say are drawn from `seed`; else as they are.

    Raises:
        InvalidInput: if the factor of the estimates is below 1 or not finite.
    """
    return jobs if options.estimate_factor is None else with_estimates(jobs, options.estimate_factor, seed)


def check_warm_up(jobs: Iterable[StreamJob], options: SimulationOptions) -> None:
    """Raise `InvalidInput` if the warm-up leaves no job to be counted."""
    number = len(jobs) if isinstance(jobs, Sized) else options.jobs or DEFAULT_STREAM_JOBS
    if 0 < number <= options.warm_up_jobs:
        raise InvalidInput(f"--warm-up: must be less than the {number_of(number, 'job')}, not {options.warm_up_jobs}.")


def _carrying_sources(subject: SimulatedWorkload) -> SimulatedWorkload:
    """Return `subject` with the files of its own policies, in its record too, as a live campaign carries them.

    What was made from a record has them already.

    Raises:
        InvalidInput: as `sources_of`.
    """
    policy = subject.policy or default_policy(subject.queue)
    sources = sources_of(policy, subject.queue) if subject.sources is None else None
    if not sources:
        return subject
    policy, queue = plain_name(policy), plain_name(subject.queue)
    record = {**subject.record, "policy": policy, "queue": queue, "sources": sources}
    return replace(subject, policy=policy, queue=queue, sources=sources, record=record)


def _write(
    out: Path, subject: SimulatedWorkload, options: SimulationOptions, seed: int, result: SimulationResult
) -> None:
    times, provenance = subject.times, _provenance(subject, options)
    if times is not None:
        provenance[_SOURCES] = times.jobs_by_source()
    run = SimulatedRun(
        subject.name,
        subject.topology,
        subject.policy,
        subject.queue,
        seed,
        tuple(subject.jobs),
        result,
        workload=subject.record,
        provenance=provenance,
        named=subject.named,
        rows=[*(() if times is None else times.rows()), *_transfer_rows(subject)],
    )
    write_simulated_run(out, run)


def _provenance(subject: SimulatedWorkload, options: SimulationOptions) -> dict[str, Any]:
    """Return what a record says of the simulation, as far as it is known before."""
    provenance = dict(subject.provenance)
    if options.jobs_per_link is not None:
        provenance["jobs_per_link"] = options.jobs_per_link
    if stated := _stated(options):
        provenance["options"] = stated
    return provenance


def _stated(options: SimulationOptions) -> dict[str, Any]:
    """Return the options of a simulation that decide its times, as far as no other part of a record says them."""
    table = options.runtime if isinstance(options.runtime, FactorTable) else None
    factors = options.runtime if table is None else f"{TABLE} {table.digest}"
    stated = {
        "extension_factors": factors, "estimate_factor": options.estimate_factor,
        "component_limit": options.component_limit, "quota": options.quota, "middleware": options.middleware,
        "load": options.load, "warm_up_jobs": options.warm_up_jobs or None,
    }  # fmt: skip
    return {name: value for name, value in stated.items() if value is not None}


def _transfer_rows(subject: SimulatedWorkload) -> Iterator[TransferRow]:
    if subject.transfers is None:
        return
    files = {job.id: job.request.file for job in subject.jobs}
    names = subject.topology.cluster_names
    for transfer in subject.transfers.ended:
        lasted_s = transfer.ends_s - transfer.began_s
        yield TransferRow(
            job=transfer.job, file=files[transfer.job] or "", source=names[transfer.source],
            target=names[transfer.target], size_bytes=transfer.size_bytes, began_s=transfer.began_s,
            arrived_s=transfer.ends_s, rate_mbit=rate_mbit(transfer.size_bytes, lasted_s) if lasted_s else None,
        )  # fmt: skip


def _queue(subject: SimulatedWorkload) -> str | Callable[[], QueueDiscipline]:
    """Return the discipline: by its name, or made from the recorded files of its run."""
    if not subject.sources:
        return subject.queue
    return partial(discipline_scanned, subject.queue, subject.scanning, subject.sources)


def _policy(subject: SimulatedWorkload) -> str | PlacementPolicy | None:
    if not subject.sources or subject.policy is None:
        return subject.policy
    return placement_policy(subject.policy, subject.sources)


def _recorder(lines: TextIO) -> Callable[[FinishedJob], None]:
    def record(job: FinishedJob) -> None:
        if not job.reached_limit:
            lines.write(outcome_line(JobOutcome(job.id, job.start_s, job.finish_s, job.clusters)))

    return record
