"""Schedules of campaigns: every job with its arrival time, for a seed.

The same campaign and seed give the same schedule, byte for byte. A schedule is written to a file of one JSON object per
line, which the load generator reads.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, ValidationError

from emulator.model.documents import DocumentModel
from emulator.model.errors import InvalidInput
from emulator.model.faults import first_fault
from emulator.model.job import DEFAULT_RUN_TIME_LIMIT_S, JobSpecification
from emulator.model.request import JobRequest, RequestKind
from emulator.model.rules import SystemRules
from emulator.model.stream import StreamJob
from emulator.model.topology import Topology
from emulator.policies.names import SINGLE_CLUSTER
from emulator.policies.registry import placement_policy, places_singles_at_home
from emulator.policies.request_kinds import as_taken
from workloads.campaign import Campaign
from workloads.distributions import stream, uniform_choices
from workloads.home_queues import drawn_homes
from workloads.job_choices import Arguments, ChosenJob, chosen_jobs
from workloads.json_lines import parsed_line, placed_lines
from workloads.stated_jobs import StatedJob

_FILE: Final = "-file-"


class Arrival(DocumentModel):
    """A job that arrives `arrival_s` emulated seconds after the origin of its run."""

    arrival_s: Annotated[float, Field(ge=0)]
    specification: JobSpecification


def schedule(campaign: Campaign, seed: int) -> list[Arrival]:
    """Return the jobs of `campaign` in order of arrival, the first after one interarrival time.

    Their arguments are those that the campaign states; `job_lengths` makes them as long as they are to be.

    Raises:
        InvalidInput: if the campaign describes an invalid job or has read no job list, or the seed is negative.
    """
    if seed < 0:
        raise InvalidInput(f"seed: must be 0 or more, not {seed}.")
    if campaign.has_list_per_seed and not campaign.listed:
        raise InvalidInput(f"campaign {campaign.name!r}: job_list: each seed has its own, and none has been read.")
    if campaign.interarrival is None:
        return [_stated_arrival(campaign, number, job) for number, job in
                enumerate(campaign.listed[: campaign.jobs], start=1)]  # fmt: skip
    gaps_s = campaign.interarrival.draw_s(campaign.jobs, stream(seed, "interarrival"))
    arrivals_s = itertools.accumulate(gaps_s)
    return [
        _arrival(campaign, number, arrival_s / campaign.time_scale, chosen)
        for number, (arrival_s, chosen) in enumerate(
            zip(arrivals_s, _chosen_jobs(campaign, seed), strict=True), start=1
        )
    ]


def home_queues(campaign: Campaign, arrivals: Sequence[Arrival], topology: Topology, seed: int) -> list[int]:
    """Return the index of the local queue of each arrival, for disciplines with local queues.

    It is the one that the campaign's list states, else it is drawn (`drawn_homes`).
    """
    requests = [arrival.specification.request_in(topology) for arrival in arrivals]
    at_home = [request.processors if request.single_component else 0 for request in requests]
    clusters, together = [cluster.processors for cluster in topology.clusters], topology.processors_taken_together
    drawn = drawn_homes(at_home, clusters, seed, campaign.quota, together)
    stated = [job.queue for job in campaign.listed[: len(arrivals)]] or [None] * len(arrivals)
    return [home if queue is None else queue for home, queue in zip(drawn, stated, strict=True)]


def admitted(campaign: Campaign, specifications: Sequence[JobSpecification], topology: Topology) -> list[bool]:
    """Return for each job whether the rules of `campaign` admit it on `topology`; other jobs are never submitted.

    Raises:
        InvalidInput: if the rules admit no job, or the policy would not keep them.
    """
    rules = campaign.rules.on(topology)
    requests = [specification.request_in(topology) for specification in specifications]
    violations = [rules.request_violation(request) for request in requests]
    if violations and None not in violations:
        raise InvalidInput(f"campaign {campaign.name!r}: rules: they admit no job, the first because {violations[0]}.")
    may_come = [violation is None for violation in violations]
    _check_kept(campaign, rules, [request for request, comes in zip(requests, may_come, strict=True) if comes])
    return may_come


def _check_kept(campaign: Campaign, rules: SystemRules, requests: Sequence[JobRequest]) -> None:
    """Check that the policy keeps the rules with jobs of these requests, which it may get as totals to split."""
    if campaign.queue == SINGLE_CLUSTER:
        return
    with_components = [
        request
        for request in requests
        if request.kind in (RequestKind.UNORDERED, RequestKind.NON_FIXED)
        and rules.request_violation(JobRequest(RequestKind.FLEXIBLE, (request.processors,))) is not None
    ]
    if not with_components:
        return
    sources = campaign.sources or None
    policy = placement_policy(campaign.policy, sources)
    stays = places_singles_at_home(campaign.queue, sources)
    if any(as_taken(each, policy, singles_stay=stays).kind is RequestKind.FLEXIBLE for each in with_components):
        raise InvalidInput(
            f"campaign {campaign.name!r}: rules: policy {campaign.policy!r} splits jobs itself, and does not keep "
            "limits on components; use a policy that takes the components of a job (wf), or state no rule but "
            "total_limit."
        )


def specifications_by_number(arrivals: Sequence[Arrival]) -> dict[int, JobSpecification]:
    """Return what arrives by the number of the job, from 1."""
    return {number: arrival.specification for number, arrival in enumerate(arrivals, start=1)}


def stream_job(
    number: int,
    arrival: Arrival,
    topology: Topology,
    service_s: float,
    queue: int | None,
    request: JobRequest | None = None,
) -> StreamJob:
    """Return what arrives as a job to simulate on `topology`, `service_s` long in one cluster, for the queue `queue`.

    `request` is what it asks for, where jobs that ask for the same share it.
    """
    asked = arrival.specification.request_in(topology) if request is None else request
    return StreamJob(number, arrival.arrival_s, service_s, asked, queue, arrival.specification.application)


def _chosen_jobs(campaign: Campaign, seed: int) -> list[ChosenJob]:
    if campaign.choices:
        return chosen_jobs(campaign.choices, campaign.jobs, seed)
    counts = uniform_choices(campaign.component_counts, campaign.jobs, stream(seed, "component counts"))
    sizes = uniform_choices(campaign.component_sizes, campaign.jobs, stream(seed, "component sizes"))
    return [
        ChosenJob(campaign.application, campaign.arguments, (size,) * count)
        for count, size in zip(counts, sizes, strict=True)
    ]


def stated_program(campaign: Campaign, job: StatedJob) -> tuple[str, Arguments]:
    """Return the application that a job of the list of `campaign` runs, and its arguments."""
    return job.application or campaign.application, {**campaign.arguments, **(job.arguments or {})}


def _stated_arrival(campaign: Campaign, number: int, job: StatedJob) -> Arrival:
    chosen = ChosenJob(*stated_program(campaign, job), job.components)
    estimate = {"time_alone_s": job.estimate_s / campaign.time_scale} if job.estimate_s else {}
    return _arrival(campaign, number, job.arrival_s / campaign.time_scale, chosen, estimate)


def _arrival(
    campaign: Campaign, number: int, arrival_s: float, chosen: ChosenJob, needs: Mapping[str, float] | None = None
) -> Arrival:
    stated = {} if chosen.choice is None else chosen.choice.needs(campaign.time_scale)
    takes_a_total = campaign.request in (RequestKind.FLEXIBLE, RequestKind.TOTAL)
    program = {"application": chosen.application, "arguments": dict(chosen.arguments)}
    try:
        specification = JobSpecification(
            name=f"{campaign.name}-{number}",
            **({"command": campaign.command} if campaign.command else program),
            components=(sum(chosen.components),) if takes_a_total else chosen.components,
            request=campaign.request,
            run_time_limit_s=scaled_run_time_limit_s(campaign),
            numerics=campaign.numerics,
            file=None if campaign.input_files is None else file_name(campaign, number),
            **stated,
            **(needs or {}),
        )
    except ValidationError as error:
        raise InvalidInput(f"campaign {campaign.name!r}: {first_fault(error)}") from error
    return Arrival(arrival_s=arrival_s, specification=specification)


def scaled_run_time_limit_s(campaign: Campaign) -> float:
    """Return its jobs' limit, divided by the time scale; the default one, which is no estimate, stays as it is."""
    stated_s = campaign.run_time_limit_s
    return stated_s if stated_s == DEFAULT_RUN_TIME_LIMIT_S else stated_s / campaign.time_scale


def file_name(campaign: Campaign, number: int) -> str:
    """Return the logical name of the input file of the job with that number, from 1."""
    return f"{campaign.name}{_FILE}{number}"


def is_file_of(name: str, campaign: str) -> bool:
    """Return whether the logical name of a file is one that `file_name` gives files of the campaign so called."""
    begins, made, number = name.rpartition(_FILE)
    return bool(made) and begins == campaign and number.isdecimal()


def write_schedule(arrivals: Sequence[Arrival], path: Path) -> None:
    """Write `arrivals` to `path`, one JSON object per line."""
    path.write_text("".join(f"{arrival.model_dump_json()}\n" for arrival in arrivals), encoding="utf-8")


def read_schedule(path: Path) -> list[Arrival]:
    """Read the arrivals that `write_schedule` wrote to `path`.

    Raises:
        InvalidInput: if the file cannot be read or a line is not an arrival.
    """
    return [parsed_line(line, Arrival, place) for _, place, line in placed_lines(path)]
