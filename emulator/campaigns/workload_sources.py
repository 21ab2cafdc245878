"""What a user may name to be simulated: a campaign, a job list, a log, or the stream of a published study.

A campaign has a topology, a discipline and middleware of its own. A file has jobs only, and is simulated without
middleware by default, as in the published simulations.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from emulator.campaigns.modelled_jobs import timed_jobs
from emulator.campaigns.simulated_background import controlled_background
from emulator.campaigns.simulated_workload import (
    NO_OVERHEAD,
    SimulatedWorkload,
    SimulationOptions,
    with_own_processors,
)
from emulator.model.catalogue import GENERATED_FROM, equal_clusters, topology_named
from emulator.model.errors import InvalidInput, UnknownName, nearest
from emulator.model.names import spelled
from emulator.model.project import CAMPAIGNS, DOCUMENT_SUFFIXES, names_in
from emulator.model.stream import StreamJob
from emulator.model.topology import Middleware, Topology
from emulator.policies.factory import check_nodes
from emulator.policies.names import SINGLE_CLUSTER, policy_name, queue_name
from emulator.policies.registry import chooses_nodes, default_policy, default_scanning, queue_discipline
from emulator.policies.traits import traits_of_queue
from emulator.runs.input_files import stated_surroundings
from emulator.runs.seeds import FILE_KIND, LIST, LOG
from emulator.simulator.runtime import FactorTable, OneFactor
from emulator.simulator.runtime_tables import joined_factors
from emulator.simulator.simulation import admission
from emulator.simulator.study_streams import StudyWorkload, study_workload, study_workloads
from emulator.simulator.transfers import Transfers
from workloads.campaign import campaign_named
from workloads.home_queues import rehomed
from workloads.job_lists import Check, read_job_list
from workloads.job_mix import Extension
from workloads.schedule import scaled_run_time_limit_s
from workloads.stated_jobs import is_list, is_log
from workloads.swf import Remark, read_swf
from workloads.swf_stream import swf_jobs

DEFAULT_TOPOLOGY: Final = "mini"
DEFAULT_QUEUE: Final = "placement"
DEFAULT_STREAM_JOBS: Final = 100_000

_OF_A_CAMPAIGN: Final = ("band", "replicas", "interarrival_factor", "time_scale")
"""The options that mean something for a campaign only."""


def prepared(source: str, options: SimulationOptions) -> SimulatedWorkload:
    """Prepare the workload `source`: a job list (``.jsonl``), a log (``.swf``, ``.swf.gz``), a campaign or a stream.

    Raises:
        InvalidInput: if it cannot be read, or an option contradicts it.
        UnknownName: if nothing has that name.
    """
    _check(options)
    options = _as_spelled(options)
    path = Path(source)
    if is_list(path):
        subject = _from_job_list(path, options)
    elif is_log(path):
        subject = _from_log(path, options)
    elif path.suffix.lower() in DOCUMENT_SUFFIXES or spelled(source, names_in(CAMPAIGNS)):
        subject = _from_campaign(source, options)
    else:
        subject = _from_study(_stream(source), options)
    policy = subject.policy or default_policy(subject.queue)
    check_nodes(subject.queue, policy, subject.topology, chooses=chooses_nodes(policy, subject.sources))
    return subject


def factors_named(stated: Sequence[str], grid: int | None) -> FactorTable | float | None:
    """Return the factor, or the factors of all tables, that ``--extension-factors`` names; None if it is left out.

    Raises:
        InvalidInput: if a table cannot be used, two tables contradict each other, a factor is named beside others, or
            `grid` is given without a table.
    """
    tables = factor_tables(stated)
    if tables:
        return joined_factors(tables, grid)
    if grid is not None:
        raise InvalidInput("--grid: goes with a table of --extension-factors, which a single factor is not.")
    return float(stated[0]) if stated else None


def factor_tables(stated: Sequence[str]) -> tuple[Path, ...]:
    """Return the tables that ``--extension-factors`` names; none if it names a factor, or nothing.

    Raises:
        InvalidInput: if it names a factor and something beside it.
    """
    factors = [text for text in stated if _is_number(text)]
    if factors and len(stated) > 1:
        raise InvalidInput(f"--extension-factors: {factors[0]} is one factor for all jobs; leave the others out.")
    return () if factors else tuple(Path(text) for text in stated)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _as_spelled(options: SimulationOptions) -> SimulationOptions:
    """Return `options` with the names of the testbed's own policies and disciplines as they are spelled."""
    policy = None if options.policy is None else policy_name(options.policy)
    return replace(options, policy=policy, queue=None if options.queue is None else queue_name(options.queue))


def _stream(source: str) -> StudyWorkload:
    """Return the stream of a study called `source`.

    Raises:
        UnknownName: if nothing that can be simulated has that name.
    """
    try:
        return study_workload(source)
    except UnknownName as error:
        campaigns = names_in(CAMPAIGNS)
        near = nearest(source, [*campaigns, *study_workloads()])
        suggested = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise UnknownName(
            f"There is no workload {source!r} (give a .jsonl or .swf file, a campaign - {', '.join(campaigns)} -, "
            f"or the stream of a study such as 25-25-25-25 with --load{suggested})."
        ) from error


def _check(options: SimulationOptions) -> None:
    for option, value in (("--jobs", options.jobs), ("--component-limit", options.component_limit)):
        if value is not None and value < 1:
            raise InvalidInput(f"{option}: must be at least 1, not {value}.")
    for option, value in (("--warm-up", options.warm_up_jobs), ("--seed", options.seed)):
        if value < 0:
            raise InvalidInput(f"{option}: must be 0 or more, not {value}.")
    if options.quota is not None and not 0 < options.quota <= 1:
        raise InvalidInput(f"--quota: must lie above 0 and be at most 1, not {options.quota}.")


def _refuse(options: SimulationOptions, kind: str, *names: str) -> None:
    """Refuse options that mean nothing for a workload of this `kind`, rather than ignore them."""
    for option in names:
        if getattr(options, option) is not None:
            raise InvalidInput(f"--{option.replace('_', '-')}: means nothing for {kind}; leave it out.")


def _topology(options: SimulationOptions, default: str) -> Topology:
    """Return the topology that the options name or state the clusters of, or the one named `default`."""
    if options.clusters is None:
        return with_own_processors(topology_named(options.topology or default))
    if options.topology is not None:
        raise InvalidInput("--clusters: generates a topology, so --topology means nothing; leave one of the two out.")
    return equal_clusters(options.clusters)


def _from_job_list(path: Path, options: SimulationOptions) -> SimulatedWorkload:
    _refuse(options, "a job list", *_OF_A_CAMPAIGN, "jobs", "load", "component_limit")
    topology, queue = _topology(options, DEFAULT_TOPOLOGY), options.queue or DEFAULT_QUEUE
    jobs = read_job_list(path, _admission(topology, queue, options))
    return _of_file(path, jobs, topology, queue, options)


def _from_log(path: Path, options: SimulationOptions) -> SimulatedWorkload:
    _refuse(options, "a log", *_OF_A_CAMPAIGN, "jobs", "load")
    topology, queue = _topology(options, DEFAULT_TOPOLOGY), options.queue or DEFAULT_QUEUE
    log = read_swf(path)
    found = swf_jobs(
        log,
        path,
        clusters=[cluster.processors for cluster in topology.clusters],
        component_limit=options.component_limit,
        seed=options.seed,
        quota=options.quota,
        check=_admission(topology, queue, options),
    )
    return _of_file(path, found.jobs, topology, queue, options, found.left_out, log.remarks)


def _of_file(
    path: Path,
    jobs: Iterable[StreamJob],
    topology: Topology,
    queue: str,
    options: SimulationOptions,
    left_out: tuple[Remark, ...] = (),
    doubts: tuple[Remark, ...] = (),
) -> SimulatedWorkload:
    """Return the jobs of the file at `path` as a workload, with remarks on its records, the `left_out` ones first."""
    kind = LOG if is_log(path) else LIST
    return SimulatedWorkload(
        path.name,
        jobs,
        topology,
        options.policy,
        queue,
        options.quota,
        scanning=default_scanning(queue),
        middleware=_middleware(topology, options, by_default=False),
        runtime=1.0 if options.runtime is None else options.runtime,
        remarks=left_out + doubts,
        record={"digest": _digest(path), FILE_KIND: kind, "left_out": len(left_out)},
    )


def _digest(path: Path) -> str:
    """Return a digest of the file at `path`, which tells lists of one name apart."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()[:16]


def _middleware(topology: Topology, options: SimulationOptions, *, by_default: bool) -> Middleware | None:
    """Return the topology's middleware if its overhead is to be added, else None.

    Raises:
        InvalidInput: if it is asked for, and the topology states none.
    """
    if options.middleware and topology.middleware is None:
        raise InvalidInput(
            f"--middleware: topology {topology.name!r} states none; state `middleware` there, or leave this out."
        )
    added = by_default if options.middleware is None else options.middleware
    return topology.middleware if added else None


def _from_campaign(source: str, options: SimulationOptions) -> SimulatedWorkload:
    _refuse(options, "a campaign", "load", "component_limit")
    elsewhere = _topology(options, DEFAULT_TOPOLOGY) if options.topology or options.clusters is not None else None
    campaign = campaign_named(source, elsewhere, options.seed)
    topology = elsewhere or _topology(options, campaign.topology)
    stated = options.topology or (None if options.clusters is None else topology.name)
    campaign = campaign.changed(jobs=options.jobs, topology=stated, quota=options.quota, time_scale=options.time_scale)
    campaign = campaign.scheduled(options.queue, options.policy).under_band(options.band)
    campaign = campaign.replicated(options.replicas).spaced(options.interarrival_factor)
    found = timed_jobs(campaign, topology, options.seed, options.runtime)
    overhead = _middleware(topology, options, by_default=True) or NO_OVERHEAD
    overhead = overhead.divided(campaign.time_scale)
    files = found.files
    if campaign.queue == SINGLE_CLUSTER:
        files = {name: file._replace(sites=(0,)) for name, file in files.items()}
    return SimulatedWorkload(
        campaign.name,
        found.jobs,
        topology,
        campaign.policy,
        campaign.queue,
        campaign.quota,
        scanning=campaign.scanning,
        middleware=overhead,
        runtime=found.runtime,
        surroundings=stated_surroundings(topology, files) if files else None,
        background=controlled_background(campaign, topology, options.seed),
        claiming=campaign.claiming.divided(campaign.time_scale) if files else None,
        transfers=Transfers.over(topology) if files else None,
        record=campaign.model_dump(mode="json"),
        provenance=found.provenance,
        run_time_limit_s=scaled_run_time_limit_s(campaign),
    )


def _from_study(workload: StudyWorkload, options: SimulationOptions) -> SimulatedWorkload:
    _refuse(options, "the stream of a study", *_OF_A_CAMPAIGN, "component_limit")
    if options.load is None or not 0 < options.load < math.inf:
        instead = "" if options.load is None else f", not {options.load:g}"
        needed = f"the stream {workload.name!r} needs a gross utilization, for instance --load 0.85"
        raise InvalidInput(f"--load: {needed}{instead}.")
    topology, queue = _topology(options, GENERATED_FROM), options.queue or "gs"
    sizes = [cluster.processors for cluster in topology.clusters]
    stream = workload.stream(options.load, queue, sizes, _extension(options.runtime))
    jobs = stream.jobs(options.jobs or DEFAULT_STREAM_JOBS, options.seed)
    if traits_of_queue(queue_discipline(queue, default_scanning(queue))).has_queue_per_cluster:
        jobs = rehomed(jobs, sizes, options.seed, options.quota, topology.processors_taken_together)
    return SimulatedWorkload(
        workload.name,
        jobs,
        topology,
        options.policy,
        queue,
        options.quota,
        scanning=default_scanning(queue),
        middleware=_middleware(topology, options, by_default=False),
        runtime=workload.runtime if options.runtime is None else options.runtime,
    )


def _extension(factors: FactorTable | float | None) -> Extension | None:
    """Return how much longer jobs take that are spread as they ask, by the factors that are given; None without any.

    Raises:
        InvalidInput: if the factor is not a positive number.
    """
    if factors is None:
        return None
    if isinstance(factors, FactorTable):
        stated = factors.stated_factor
        return lambda each: stated(each.application, each.request.processors, len(each.request.components))
    factor = OneFactor(factors)
    return lambda each: factor.of(len(each.request.components))


def _admission(topology: Topology, queue: str, options: SimulationOptions) -> Check:
    check = admission(topology, queue, options.policy, options.quota).check
    if options.estimate_factor is None:
        return check
    # The estimates are drawn when the jobs are simulated; whether a job fits does not depend on them.
    return lambda job: check(replace(job, request=replace(job.request, estimate_s=job.service_s)))
