"""A campaign on a standing testbed: its schedule submitted by the load generator, its records in a run directory.

Everything that can be known to be wrong is said before anything is touched. From then on the testbed is held, and given
back on every way out; what was recorded until then stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from emulator.campaigns.conduct import (
    Progress,
    Tell,
    begun_manifest,
    checked_links,
    conclude,
    jobs_progress,
    recorded,
)
from emulator.campaigns.following import follow_until, record_rest
from emulator.campaigns.holding import Testbed, held
from emulator.campaigns.input_files import registered, stated_surroundings
from emulator.campaigns.load import LoadGenerator
from emulator.campaigns.recording import Recorder
from emulator.campaigns.run_directory import check_free
from emulator.fidelity.verdict import Verdict
from emulator.model.applications import check_program
from emulator.model.errors import InvalidInput, RunFailed
from emulator.model.job import JobSpecification
from emulator.model.records import SCHEDULE_FILE, RunKind
from emulator.model.topology import Topology
from emulator.model.views import RunRequest, RunView
from emulator.policies.adaptation import as_taken
from emulator.policies.admitting import Admitting
from emulator.policies.deciding import check_live, discipline_scanned
from emulator.policies.protocols import PlacementPolicy
from emulator.policies.registry import placement_policy
from workloads.campaign import Campaign
from workloads.campaign_stream import InputFile, campaign_files
from workloads.schedule import Arrival, admitted, home_queues, schedule, write_schedule


def planned(testbed: Testbed, campaign: Campaign, seed: int) -> list[Arrival]:
    """The schedule of `campaign`, each of its jobs possible on `testbed` and of a kind that its policy places.

    Raises:
        InvalidInput: if the campaign is for another topology, one of its jobs could never run, or its policy takes none
            of their kind.
        UnknownName: if there is no such policy, or no such application.
    """
    if campaign.topology != testbed.topology.name:
        raise InvalidInput(
            f"Campaign {campaign.name!r} is for topology {campaign.topology!r}, but {testbed.topology.name!r} stands "
            f"(take it down with `testbed down`, then `testbed up --topology {campaign.topology}`)."
        )
    return arrivals_on(testbed.topology, campaign, seed)


def arrivals_on(topology: Topology, campaign: Campaign, seed: int) -> list[Arrival]:
    """The schedule of `campaign`, each of its jobs possible on `topology` and as its policy and discipline take it.

    Where the discipline has local queues, each job is submitted at the cluster that the simulator has it submitted at.

    Raises:
        InvalidInput: if one of its jobs could never run, its policy takes none of their kind, its rules admit none of
            them, or its policy or queue is simulated only.
        UnknownName: if there is no such policy or queue, or no such application.
    """
    sources = campaign.sources
    policy = placement_policy(campaign.policy, sources)
    check_live(campaign.queue, campaign.policy, sources)
    discipline_scanned(campaign.queue, campaign.scanning, sources)
    admitting = Admitting(topology, campaign.queue, campaign.policy, campaign.rules, sources)
    arrivals = schedule(campaign, seed)
    homes = home_queues(len(arrivals), len(topology.clusters), seed)
    surroundings = stated_surroundings(topology, campaign_files(campaign, topology, seed))
    may_come = admitted(campaign, [arrival.specification for arrival in arrivals], topology)
    coming: list[Arrival] = []
    for number, (arrival, home, comes) in enumerate(zip(arrivals, homes, may_come, strict=True), start=1):
        if comes:
            queue = topology.cluster_names[home] if admitting.has_local_queues else None
            runnable = _runnable(arrival.specification, topology, policy, queue)
            admitting.admit(number, runnable, surroundings)
            coming.append(arrival.model_copy(update={"specification": runnable}))
    return coming


def _runnable(
    specification: JobSpecification, topology: Topology, policy: PlacementPolicy, queue: str | None
) -> JobSpecification:
    """The job as `policy` takes it: FCM is given the totals of the jobs whose components others place."""
    check_program(specification)
    taken = as_taken(specification.request_in(topology), policy)
    return specification.model_copy(update={"request": taken.kind, "components": taken.components, "queue": queue})


def run_campaign(testbed: Testbed, campaign: Campaign, *, seed: int, path: Path, tell: Tell) -> Verdict:
    """Run `campaign` on `testbed` and record it in the directory `path`; returns the verdict on it.

    Raises:
        InvalidInput: if the campaign cannot run on this testbed, or `path` is taken.
        TestbedBusy: if another run holds the testbed.
        RunFailed: if it ended early; what had finished is recorded.
    """
    check_free(path)
    arrivals = planned(testbed, campaign, seed)
    request = RunRequest(
        name=campaign.name,
        dilation=campaign.dilation,
        policy=campaign.policy,
        queue=campaign.queue,
        scan_interval_s=campaign.scanning.interval_s,
        adaptive_scans=campaign.adaptive_scans,
        tries_threshold=campaign.tries_threshold,
        scans_at_departures=campaign.scans_at_departures,
        rules=campaign.rules,
        claiming=campaign.claiming.divided(campaign.time_scale),
        time_scale=campaign.time_scale,
        seed=seed,
        sources=campaign.sources,
    )
    manifest = begun_manifest(testbed, RunKind.CAMPAIGN, request, campaign.model_dump(mode="json"), len(arrivals))
    files = _files_of(arrivals, campaign_files(campaign, testbed.topology, seed))
    with (
        held(testbed, request) as run,
        registered(testbed.client, testbed.topology, files, seed),
        recorded(testbed, run, manifest, path) as recorder,
    ):
        write_schedule(arrivals, path / SCHEDULE_FILE)
        with checked_links(testbed, recorder, tell) as checks:
            _carry_out(testbed, run, recorder, len(arrivals), tell)
        return conclude(testbed, run, recorder, checks, len(arrivals))


def _files_of(arrivals: Sequence[Arrival], files: Mapping[str, InputFile]) -> dict[str, InputFile]:
    """Those of `files` that a job reads that comes."""
    return {name: files[name] for arrival in arrivals if (name := arrival.specification.file) is not None}


def _carry_out(testbed: Testbed, run: RunView, recorder: Recorder, expected: int, tell: Tell) -> None:
    """Have the schedule submitted, and follow its jobs until the last has ended."""
    with LoadGenerator(testbed.client, run.id, recorder.directory.path / SCHEDULE_FILE, expected) as load:

        def done() -> bool:
            if load.has_ended() and recorder.submitted < expected:
                record_rest(testbed, run.id, recorder)
                if recorder.submitted < expected:
                    raise RunFailed(f"Only {recorder.submitted} of {expected} jobs reached the broker.")
            return len(recorder.ended) == expected

        tell(Progress("starting the load generator", expected))
        follow_until(
            done,
            testbed,
            run.id,
            recorder,
            lambda event: tell(jobs_progress(recorder, "running", expected, event.time_s)),
        )
        load.wait()
