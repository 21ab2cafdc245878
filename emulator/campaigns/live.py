"""A campaign on a running testbed: its schedule submitted by the load generator, its records in a run directory.

All errors that can be found beforehand are raised before the testbed is held. From then on the testbed is given back
however the campaign ends; the records so far are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from apps.registry import check_program
from emulator.campaigns.background import (
    BackgroundAboveBand,
    background_held,
    check_background_seen,
    check_local_users,
    check_no_unseen_load,
)
from emulator.campaigns.dilation import CampaignDilation, chosen_dilation
from emulator.campaigns.load_generator import LoadGenerator, check_page_port
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.counts import number_of
from emulator.model.documents import validate
from emulator.model.errors import InvalidInput, RunFailed
from emulator.model.job import JobSpecification
from emulator.model.project import DOCUMENT_SUFFIXES
from emulator.model.records import SCHEDULE_FILE, RunKind
from emulator.model.topology import Topology
from emulator.model.traffic import flows_of
from emulator.model.views import EventView, RunRequest, RunView
from emulator.policies.admission import Admitting
from emulator.policies.factory import check_live, discipline_scanned
from emulator.policies.names import SINGLE_CLUSTER
from emulator.policies.protocols import PlacementPolicy
from emulator.policies.registry import placement_policy
from emulator.policies.request_kinds import as_taken, as_total
from emulator.runs.following import follow_now, follow_until
from emulator.runs.holding import Testbed, held, real_time_if_failed
from emulator.runs.input_files import FileKeeper, kept_files, stated_surroundings
from emulator.runs.local_bursts import bursts_recorded
from emulator.runs.progress import ProgressReport, ReportProgress, jobs_progress
from emulator.runs.recorded_run import begun_manifest, carried_traffic, checked_links, conclude, recorded
from emulator.runs.recording import Recorder
from emulator.runs.run_directory import PILOTS_FOLDER, check_free
from workloads.campaign import Campaign
from workloads.campaign_stream import campaign_files
from workloads.job_lengths import with_lengths
from workloads.local_jobs import local_jobs
from workloads.schedule import Arrival, admitted, home_queues, schedule, write_schedule


def planned(testbed: Testbed, campaign: Campaign, seed: int) -> list[Arrival]:
    """Return the schedule of `campaign`, after checking that each job is possible on `testbed` and fits the policy.

    Raises:
        InvalidInput: if the campaign is for another topology, one of its jobs could never run, or its policy takes none
            of their kind.
        UnknownName: if there is no such policy, or no such application.
    """
    if _stated_topology(campaign) != testbed.topology.name:
        raise InvalidInput(
            f"Campaign {campaign.name!r} is for topology {campaign.topology!r}, but {testbed.topology.name!r} runs "
            f"(take it down with `testbed down`, then `testbed up --topology {campaign.topology}`; "
            f"or run the campaign on another one with --topology)."
        )
    return arrivals_on(testbed.topology, campaign, seed)


def _stated_topology(campaign: Campaign) -> str:
    """Return the name of the topology that `campaign` states by its name or by the path of its file."""
    if Path(campaign.topology).suffix.lower() in DOCUMENT_SUFFIXES:
        return topology_named(campaign.topology).name
    return campaign.topology.lower()


def arrivals_on(topology: Topology, campaign: Campaign, seed: int) -> list[Arrival]:
    """Return the schedule of `campaign`, after checking that each job is possible on `topology`.

    Jobs have the form that the policy and the discipline of the campaign take.
    """
    policy = placement_policy(campaign.policy, campaign.sources)
    admitting = admitting_on(topology, campaign, seed)
    arrivals = schedule(campaign, seed)
    homes = home_queues(campaign, arrivals, topology, seed)
    surroundings = stated_surroundings(topology, campaign_files(campaign, topology, seed))
    may_come = admitted(campaign, [arrival.specification for arrival in arrivals], topology)
    arrivals = with_lengths(arrivals, campaign, topology, seed)
    traits = admitting.traits
    coming: list[Arrival] = []
    for number, (arrival, home, comes) in enumerate(zip(arrivals, homes, may_come, strict=True), start=1):
        if comes:
            queue = _queue_name(topology, number, home) if traits.has_queue_per_cluster else None
            taken = _taken(arrival.specification, topology, policy, campaign.queue, traits.places_singles_at_home)
            runnable = arrival.specification.model_copy(update={**taken, "queue": queue})
            admitting.admit(number, runnable, surroundings)
            coming.append(arrival.model_copy(update={"specification": runnable}))
    return coming


def admitting_on(topology: Topology, campaign: Campaign, seed: int) -> Admitting:
    """Return what admits jobs of `campaign` to `topology`, after checking what it states beside its jobs.

    Raises:
        InvalidInput: if it is not possible on `topology`.
        UnknownName: if there is no such policy.
    """
    flows_of(topology, {})  # refuses links that local users alone would fill
    sources = campaign.sources
    check_live(campaign.queue, campaign.policy, sources, topology)
    discipline_scanned(campaign.queue, campaign.scanning, sources)
    admitting = Admitting(topology, campaign.queue, campaign.policy, campaign.rules, sources, campaign.quota)
    check_background_seen(campaign)
    if campaign.scaled_background is not None:
        local_jobs(campaign.scaled_background, topology, seed)
    return admitting


def _queue_name(topology: Topology, number: int, home: int) -> str:
    """Return the name of the queue of the job with that `number`.

    Raises:
        InvalidInput: if its list states a queue that there is not.
    """
    names = topology.cluster_names
    if home >= len(names):
        raise InvalidInput(f"Job {number}: queue: must be from 0 to {len(names) - 1} on {topology.name!r}, not {home}.")
    return names[home]


def _taken(
    specification: JobSpecification, topology: Topology, policy: PlacementPolicy, queue: str, singles_stay: bool
) -> dict[str, object]:
    """Return what the job asks for, as `policy` takes it: FCM gets the totals of jobs whose components others place.

    On a single cluster every request becomes one for a total. If `singles_stay`, the queue places single-component
    jobs, which stay as they are.
    """
    if not specification.command:
        check_program(specification.application, specification.arguments, specification.processor_speed)
    request = specification.request_in(topology)
    taken = as_total(request) if queue == SINGLE_CLUSTER else as_taken(request, policy, singles_stay=singles_stay)
    return {"request": taken.kind, "components": taken.components}


@dataclass(frozen=True, slots=True)
class RecordedSchedule:
    """The jobs that another run submitted, which are possible here, and the name of its directory."""

    run: str
    arrivals: Sequence[Arrival]


def run_campaign(
    testbed: Testbed,
    campaign: Campaign,
    *,
    seed: int,
    path: Path,
    report_progress: ReportProgress,
    tried: bool = False,
    even_if_hopeless: bool = False,
    repeat_void: int = 0,
    locust_port: int | None = None,
    like: RecordedSchedule | None = None,
) -> Path:
    """Run `campaign` on `testbed`, record it in the directory `path`, and return the directory of what counts.

    If its dilation is to be `tried`, pilots of its most demanding jobs choose it. If its background load makes it void,
    it is ended and repeated with other local jobs up to `repeat_void` times, in directories `path-2`, `path-3`, ...
    The load generator shows its own page at `locust_port` of the loopback, if that is given. Jobs are those of the run
    that it is to be `like`, else those that `campaign` has under `seed`.

    Raises:
        InvalidInput: if the campaign cannot run on this testbed, or `path` or the port is taken.
        Hopeless: if this host cannot hold it, unless it is to run `even_if_hopeless`.
        TestbedBusy: if another run holds the testbed, or a background load that the policy does not see runs there.
        RunFailed: if it ended early; what had finished is recorded.
    """
    paths = repetition_paths(path, repeat_void)
    for each in paths:
        check_free(each)
    if locust_port is not None:
        check_page_port(locust_port)
    arrivals: Sequence[Arrival] = planned(testbed, campaign, seed) if like is None else like.arrivals
    _run_request(campaign, seed)
    if campaign.background is not None:
        check_local_users(testbed)
    check_no_unseen_load(testbed, campaign)
    with real_time_if_failed(testbed):
        choice = chosen_dilation(
            testbed, campaign, arrivals, seed, path / PILOTS_FOLDER, report_progress,
            tried=tried, even_if_hopeless=even_if_hopeless,
        )  # fmt: skip
        chosen = campaign.changed(dilation=choice.dilation)
        for number, each in enumerate(paths, start=1):
            attempt = _Attempt(
                testbed=testbed, campaign=chosen, arrivals=arrivals, seed=seed, path=each, choice=choice, number=number,
                repeats_left=len(paths) - number, locust_port=locust_port, report_progress=report_progress,
                like=None if like is None else like.run,
            )  # fmt: skip
            try:
                _run(attempt)
                break
            except BackgroundAboveBand as void:
                report_progress(ProgressReport("repeating the campaign", remark=str(void)))
    return each


def repetition_paths(path: Path, repeats: int) -> list[Path]:
    """Return the directories of a campaign: its own, and those of its repetitions, `path-2`, `path-3`, ..."""
    return [path, *(path.with_name(f"{path.name}-{number}") for number in range(2, repeats + 2))]


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One attempt at a campaign: all that its run on the testbed needs.

    `choice` says how the dilation of `campaign` was found. Attempts have the numbers 1, 2, ... While `repeats_left` is
    not 0, a background load that makes this one void ends it. `like` names the run whose schedule it repeats.
    """

    testbed: Testbed
    campaign: Campaign
    arrivals: Sequence[Arrival]
    seed: int
    path: Path
    choice: CampaignDilation
    number: int
    repeats_left: int
    locust_port: int | None
    report_progress: ReportProgress
    like: str | None

    @property
    def jobs(self) -> int:
        """The number of jobs that arrive."""
        return len(self.arrivals)


def _run(attempt: _Attempt) -> None:
    """Hold the testbed for the attempt, run its schedule, and record it.

    Raises:
        BackgroundAboveBand: if its background load made it void, and it may be repeated.
    """
    testbed, campaign, seed = attempt.testbed, attempt.campaign, attempt.seed
    request = _run_request(campaign, seed)
    manifest = begun_manifest(testbed, RunKind.CAMPAIGN, request, campaign.model_dump(mode="json"), attempt.jobs)
    manifest = manifest.model_copy(update={"plan": attempt.choice.record(), "like": attempt.like})
    files_kept = _files_kept(attempt)
    with (
        held(testbed, request) as run,
        files_kept as input_files,
        recorded(testbed, run, manifest, attempt.path) as recorder,
    ):
        recorder.files = input_files
        write_schedule(attempt.arrivals, attempt.path / SCHEDULE_FILE)
        ends_if_void = attempt.repeats_left > 0
        with (
            checked_links(testbed, recorder, attempt.report_progress) as checks,
            background_held(testbed, campaign, seed, recorder, attempt.number, ends_if_void) as check_background,
            bursts_recorded(testbed, recorder, run.request.host_clocks_ahead_s) as check_bursts,
            carried_traffic(testbed, {}, recorder),
        ):
            _run_schedule(attempt, run, recorder, (check_background, input_files.check, check_bursts))
        conclude(testbed, run, recorder, checks, attempt.jobs)


def _files_kept(attempt: _Attempt) -> AbstractContextManager[FileKeeper]:
    """Return the context in which the files of jobs that arrive are at their sites."""
    arrivals_s = {
        name: arrival.arrival_s for arrival in attempt.arrivals if (name := arrival.specification.file) is not None
    }
    testbed, campaign, seed = attempt.testbed, attempt.campaign, attempt.seed
    drawn = campaign_files(campaign, testbed.topology, seed)
    files = {name: drawn[name] for name in arrivals_s}
    return kept_files(testbed.client, testbed.topology, files, arrivals_s, Dilation(campaign.dilation), seed)


def _run_request(campaign: Campaign, seed: int) -> RunRequest:
    """Return what the broker is asked for.

    Raises:
        InvalidInput: if the time scale takes one of the campaign's times out of its range.
    """
    stated = {
        "name": campaign.name,
        "dilation": campaign.dilation,
        "policy": campaign.policy,
        "queue": campaign.queue,
        "scan_interval_s": campaign.scanning.interval_s,
        "adaptive_scans": campaign.adaptive_scans,
        "tries_threshold": campaign.tries_threshold,
        "scans_at_departures": campaign.scans_at_departures,
        "quota": campaign.quota,
        "decision_limit_cpu_s": campaign.decision_limit_cpu_s,
        "rules": campaign.rules,
        "claiming": campaign.claiming.divided(campaign.time_scale),
        "time_scale": campaign.time_scale,
        "seed": seed,
        "sources": campaign.sources,
    }
    return validate(stated, RunRequest, source=f"campaign {campaign.name} at time scale {campaign.time_scale:g}")


def _run_schedule(attempt: _Attempt, run: RunView, recorder: Recorder, checks: Sequence[Callable[[], None]]) -> None:
    """Have the schedule submitted, and follow its jobs until the last has ended; make the `checks` meanwhile."""
    testbed, expected = attempt.testbed, attempt.jobs
    schedule_file = recorder.directory.path / SCHEDULE_FILE

    def report(event: EventView) -> None:
        attempt.report_progress(jobs_progress(recorder, "running", expected, event.time_s))

    with LoadGenerator(testbed.client, run.id, schedule_file, expected, attempt.locust_port) as load:

        def done() -> bool:
            for check in checks:
                check()
            if recorder.submitted < expected and load.has_ended():
                follow_now(testbed, run.id, recorder, report)
                if recorder.submitted < expected:
                    load.check()
                    raise RunFailed(f"Only {recorder.submitted} of {number_of(expected, 'job')} reached the broker.")
            return len(recorder.ended) == expected

        attempt.report_progress(ProgressReport("starting the load generator", expected))
        follow_until(done, testbed, run.id, recorder, report)
        load.wait()
