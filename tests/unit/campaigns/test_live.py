"""A campaign from its schedule to its run directory, with a double of the broker.

A thread submits the jobs; `test_load_generator.py` has locust submit them.
"""

from __future__ import annotations

import errno
import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
import requests.exceptions

from apps.grid import ProcessGrid
from emulator.broker.jobs.rank_command import command_line
from emulator.campaigns.live import planned, run_campaign
from emulator.containers.stopped_parts import StoppedParts
from emulator.model.catalogue import topology_named
from emulator.model.clock import REAL_TIME
from emulator.model.errors import ImpossibleRequest, InvalidInput, RunFailed, TestbedBusy, UnknownName
from emulator.model.files import FileRegistration
from emulator.model.project import TOPOLOGIES
from emulator.model.records import RunProgress
from emulator.model.shared_nodes import TimeSharing
from emulator.model.views import EventKind, RunRequest
from emulator.runs.holding import Testbed
from emulator.runs.run_directory import read_run
from tests.unit.scripted_users import ScriptedUsers
from tests.unit.submitting_thread import SubmittingThread
from workloads.campaign import campaign_named
from workloads.campaign_stream import campaign_files, campaign_jobs
from workloads.schedule import file_name, schedule

pytestmark = pytest.mark.usefixtures("submitted_by_a_thread")

CAMPAIGN = campaign_named("first").changed(jobs=6, dilation=0.02)


def run(testbed, path, campaign=CAMPAIGN):
    return run_campaign(testbed, campaign, seed=1, path=path, report_progress=lambda progress: None)


def test_a_time_scale_with_days_between_scans_is_refused_in_a_sentence(testbed, broker, tmp_path):
    with pytest.raises(InvalidInput, match=r"^campaign first at time scale 1e-05: scan_interval_s: .*\.$"):
        run(testbed, tmp_path / "run", CAMPAIGN.changed(time_scale=1e-5))
    assert not broker.held
    assert not (tmp_path / "run").exists()


def test_a_lost_cluster_ends_the_campaign_and_keeps_what_had_finished(testbed, broker, wide_area, stopped, tmp_path):
    def finish_two_then_lose(job):
        if job.id <= 2:
            broker.finish(job)
        else:
            with broker.changed:  # who sees the container stopped finds the broker's word on it, too
                stopped[:] = ["double-delft"]
                broker.append(EventKind.CLUSTER_LOST, job.submitted_s, cluster="delft", reason="It does not answer.")

    broker.on_submit = finish_two_then_lose
    with pytest.raises(RunFailed) as raised:
        run(testbed, tmp_path / "run")
    assert str(raised.value) == (
        "The run ended early because cluster 'delft' was lost (container double-delft does not run); "
        f"2 finished records are in {tmp_path / 'run'}."
    )
    records = read_run(tmp_path / "run")
    assert [job.state for job in records.jobs].count("finished") == 2
    assert [job.state for job in records.jobs].count("cancelled") >= 1
    assert (records.manifest.progress, records.manifest.verdict) == (RunProgress.INCOMPLETE, "void")
    assert wide_area.programmed[-1] == 1.0
    assert not broker.held


def test_a_policy_that_fails_ends_the_campaign_with_what_it_raised(testbed, broker, tmp_path):
    said = "mine.py:Mine: place raised KeyError: 7 (mine.py, line 9)."
    broker.on_submit = lambda job: broker.append(EventKind.POLICY_FAILED, job.submitted_s, reason=said)
    with pytest.raises(RunFailed) as raised:
        run(testbed, tmp_path / "run")
    assert str(raised.value) == (
        f"The run ended early because its policy failed ({said[:-1]}); 0 finished records are in {tmp_path / 'run'}."
    )
    manifest = read_run(tmp_path / "run").manifest
    assert (manifest.progress, manifest.verdict_reasons) == (RunProgress.INCOMPLETE, (str(raised.value),))
    assert not broker.held


def test_a_policy_that_fails_while_the_last_jobs_are_submitted_ends_the_campaign_too(
    testbed, broker, stopped, tmp_path, monkeypatch
):
    """The load generator has ended before the first look: what is read then is acted upon like any other event."""

    class Quick(SubmittingThread):
        def __enter__(self):
            super().__enter__().wait()
            stopped.append("double-wan")  # would be named instead, after a look without an event
            return self

    monkeypatch.setattr("emulator.campaigns.live.LoadGenerator", Quick)
    broker.on_submit = lambda job: broker.append(EventKind.POLICY_FAILED, job.submitted_s, reason="mine.py failed.")
    with pytest.raises(RunFailed, match="its policy failed"):
        run(testbed, tmp_path / "run")


def test_a_stopped_router_ends_the_campaign(testbed, broker, stopped, tmp_path):
    broker.on_submit = lambda job: stopped.append("double-wan")
    with pytest.raises(RunFailed, match=r"container double-wan.* does not run; 0 finished records are in"):
        run(testbed, tmp_path / "run")
    assert not broker.held


class SilentEngine:
    """An engine that leaves a number of questions unanswered, as while it is restarted; its containers run."""

    def __init__(self, unanswered: float) -> None:
        self.unanswered = unanswered
        self.asked = 0

    @property
    def containers(self):
        return self

    def get(self, name):
        self.asked += 1
        if self.asked <= self.unanswered:
            raise requests.exceptions.ConnectionError("connection refused")
        return SimpleNamespace(status="running")


def test_a_campaign_goes_on_while_the_engine_is_restarted(testbed, broker, tmp_path):
    engine, last = SilentEngine(2), []

    def found():
        stopped = looks.found()
        if last and engine.asked > 3:
            broker.finish(last.pop())
        return stopped

    looks = StoppedParts(engine, ["double-wan"], host_patience_s=30.0)
    broker.on_submit = lambda job: last.append(job) if job.id == CAMPAIGN.jobs else broker.finish(job)
    run(replace(testbed, stopped_containers=found), tmp_path / "run")
    assert engine.asked >= 4
    assert read_run(tmp_path / "run").manifest.progress is RunProgress.COMPLETE


def test_an_engine_that_stays_silent_ends_the_campaign_and_is_named(testbed, broker, tmp_path):
    looks = StoppedParts(SilentEngine(math.inf), ["double-wan"], host_patience_s=0.01)
    broker.on_submit = lambda job: None
    with pytest.raises(RunFailed, match=r"early: The Docker engine has not answered for \d+ s when .* double-wan"):
        run(replace(testbed, stopped_containers=looks.found), tmp_path / "run")
    assert not broker.held


def test_what_can_be_known_to_be_wrong_is_said_before_anything_is_touched(testbed, broker, wide_area, tmp_path):
    with pytest.raises(InvalidInput, match="is for topology 'das2', but 'mini' runs"):
        run(testbed, tmp_path / "run", CAMPAIGN.changed(topology="das2"))
    with pytest.raises(
        InvalidInput, match=r"up --topology das2`; or run the campaign on another one with --topology\)"
    ):
        run(testbed, tmp_path / "run", CAMPAIGN.changed(topology="das2"))
    with pytest.raises(ImpossibleRequest, match="component of 17 processors, but the largest cluster"):
        run(testbed, tmp_path / "run", CAMPAIGN.changed(component_sizes=(17,), component_counts=(1,)))
    (tmp_path / "mine").write_text("")
    with pytest.raises(InvalidInput, match="is not empty"):
        run(testbed, tmp_path)
    assert broker.runs == []
    assert wide_area.programmed == []
    assert not (tmp_path / "run").exists()


def test_a_campaign_may_state_its_topology_by_the_path_of_the_file_as_in_a_simulation(testbed, tmp_path):
    stated = CAMPAIGN.changed(topology=str(TOPOLOGIES / "mini.yaml"))
    assert len(planned(testbed, stated, 1)) == len(planned(testbed, CAMPAIGN, 1))
    with pytest.raises(InvalidInput, match="but 'mini' runs"):
        planned(testbed, CAMPAIGN.changed(topology=str(TOPOLOGIES / "das2.yaml")), 1)


def test_a_policy_that_chooses_nodes_runs_beside_no_background_load_since_it_would_not_see_it(
    testbed, wide_area, tmp_path, monkeypatch
):
    shared = replace(testbed, topology=topology_named("cisne-shared"))
    campaign = campaign_named("SIT").scheduled(None, "3dbf-light")
    with pytest.raises(InvalidInput, match=r"^background: policy 'uniform-light' chooses nodes, and does not see "):
        planned(shared, campaign.under_band("10-30"), 1)
    assert planned(shared, campaign, 1)
    assert planned(shared, campaign.scheduled("gs", "wf").under_band("10-30"), 1)
    monkeypatch.setattr("emulator.containers.local_users.holder", lambda name: 7)
    with pytest.raises(TestbedBusy, match=r"'double', and policy 'uniform-light'.*`testbed background stop` ends it"):
        run(shared, tmp_path / "run", campaign)
    assert wide_area.programmed == []


def test_only_one_run_holds_the_testbed(testbed, broker, wide_area, tmp_path):
    testbed.client.take_run(RunRequest(name="another"))
    with pytest.raises(TestbedBusy):
        run(testbed, tmp_path / "run")
    assert broker.held
    assert wide_area.programmed == []


@pytest.fixture
def das2(testbed) -> Testbed:
    """The double of a testbed of the topology that W1 and W2 are for."""
    return Testbed("double", testbed.client, topology_named("das2-2006"), testbed.wide_area, lambda: [])


@pytest.mark.parametrize("name", ["W30", "W50"])
def test_a_job_of_the_close_to_files_campaigns_reads_the_file_that_is_drawn_for_it(testbed, name):
    """Sites and sizes are those of the simulated run of the same seed."""
    das2 = Testbed("double", testbed.client, topology_named("das2"), testbed.wide_area, lambda: [])
    campaign = campaign_named(name).changed(policy="cf")
    arrivals = planned(das2, campaign, seed=1)
    simulated = campaign_jobs(campaign, das2.topology, seed=1)
    assert [arrival.specification.file for arrival in arrivals] == [job.request.file for job in simulated.jobs]
    assert set(simulated.files) == {arrival.specification.file for arrival in arrivals}


FILES = CAMPAIGN.changed(input_files={"sizes_bytes": [4000], "replicas": [2]}, policy="cf", time_scale=4)


def test_the_files_of_a_campaign_are_made_at_the_sites_of_its_seed_and_removed_when_it_has_ended(
    testbed, broker, tmp_path
):
    seen = []

    def look_and_finish(job):
        seen.append(job.specification.file in broker.files)
        broker.finish(job)

    broker.on_submit = look_and_finish
    run(testbed, tmp_path / "run", FILES)
    assert seen == [True] * FILES.jobs
    drawn = campaign_files(FILES, testbed.topology, seed=1)
    names = testbed.topology.cluster_names
    assert {file.name: (file.size_bytes, list(file.sites)) for file in broker.registered} == {
        name: (1000, [names[site] for site in file.sites]) for name, file in drawn.items()
    }
    assert broker.files == {}


def test_a_file_that_cannot_be_made_ends_the_campaign_and_what_was_made_is_removed(testbed, broker, tmp_path):
    taken = FileRegistration(name=file_name(FILES, 3), size_bytes=1, sites=("delft",))
    broker.files[taken.name] = taken
    with pytest.raises(InvalidInput, match="'first-file-3' is there already"):
        run(testbed, tmp_path / "run", FILES)
    assert list(broker.files) == [taken.name]
    assert not broker.held


@pytest.mark.parametrize(("missing_share", "is_told"), [(0.0, False), (0.05, True)])
def test_what_users_at_nodes_send_is_sent_while_jobs_run_and_a_run_without_it_is_suspect(
    testbed, wide_area, tmp_path, missing_share, is_told
):
    wide_area.missing_share = missing_share
    first, *others = testbed.topology.clusters
    clusters = (first.model_copy(update={"local_users": {"n1": "internet"}}), *others)
    topology = testbed.topology.model_copy(update={"time_sharing": TimeSharing(), "clusters": clusters})
    run(replace(testbed, topology=topology), tmp_path / "run")
    ((flows, dilation),) = wide_area.traffic
    assert [(flow.source, flow.target) for flow in flows] == [(first.name, other.name) for other in others]
    assert dilation == CAMPAIGN.dilation
    manifest = read_run(tmp_path / "run").manifest
    assert manifest.missing_traffic_share == missing_share
    assert ("5.0% of the background traffic could not be sent" in manifest.verdict_reasons) is is_told


def test_a_campaign_without_users_at_nodes_records_no_traffic(testbed, wide_area, tmp_path):
    run(testbed, tmp_path / "run")
    assert wide_area.traffic == [((), CAMPAIGN.dilation)]
    assert read_run(tmp_path / "run").manifest.missing_traffic_share is None


def test_a_time_scale_divides_times_and_files_and_is_named_in_the_manifest(testbed, broker, tmp_path):
    campaign = CAMPAIGN.changed(time_scale=10, scan_interval_s=60)
    plain, scaled = schedule(CAMPAIGN, 1), planned(testbed, campaign, seed=1)
    assert [arrival.arrival_s for arrival in scaled] == pytest.approx([arrival.arrival_s / 10 for arrival in plain])
    assert {arrival.specification.arguments["iterations"] for arrival in scaled} == {3}
    assert {arrival.specification.processor_speed for arrival in scaled} == {1}
    limited = planned(testbed, campaign.changed(run_time_limit_s=900), seed=1)
    assert {arrival.specification.run_time_limit_s for arrival in limited} == {90}
    assert {arrival.specification.estimate_s for arrival in scaled} == {None}
    run(testbed, tmp_path / "run", campaign)
    request = broker.runs[-1].request
    assert (request.time_scale, request.scan_interval_s, request.claiming.postponement_s) == (10, 6, 24)
    assert read_run(tmp_path / "run").manifest.time_scale == 10


def test_a_campaigns_quota_is_in_the_request_of_its_run_and_in_its_manifest(testbed, broker, tmp_path):
    run(testbed, tmp_path / "run", CAMPAIGN.changed(quota=0.75))
    assert broker.runs[-1].request.quota == 0.75
    assert read_run(tmp_path / "run").manifest.workload["quota"] == 0.75


def test_a_job_that_the_quota_can_never_hold_is_said_before_anything_is_touched(testbed, broker, tmp_path):
    with pytest.raises(ImpossibleRequest, match=r"can never be placed on clusters of .* within a quota of 0\.4"):
        run(testbed, tmp_path / "run", CAMPAIGN.changed(quota=0.4))
    assert broker.runs == []


LOADED = CAMPAIGN.changed(background={"band": [0.25, 0.5]})


@pytest.fixture
def users(testbed) -> ScriptedUsers:
    return ScriptedUsers({cluster.name: cluster.processors for cluster in testbed.topology.clusters})


@pytest.fixture
def loaded(testbed, users) -> Testbed:
    """The testbed with local users."""
    return replace(testbed, local_users=users)


def test_a_background_load_is_held_while_jobs_run_and_leaves_no_job_behind(loaded, users, tmp_path):
    run(loaded, tmp_path / "run", LOADED)
    records = read_run(tmp_path / "run")
    assert not users.is_open
    assert sum(users.most_held.values()) >= 16
    last = {row.cluster: row.dummy_processors + row.local_processors for row in records.background}
    assert 16 <= sum(last.values()) <= 32
    assert records.manifest.background["void_after_s"] == 60
    assert records.manifest.background["longest_above_s"] == 0
    assert {row.background_processors for row in records.utilization} - {None, 0}
    assert records.manifest.workload["background"]["band"] == [0.25, 0.5]


def test_the_use_of_the_grid_is_recorded_beside_the_background(loaded, users, broker, tmp_path):
    broker.on_submit = lambda job: broker.finish(job)
    run(loaded, tmp_path / "run", LOADED)
    records = read_run(tmp_path / "run")
    grid = {row.grid_processors for row in records.background}
    assert grid >= {row.claimed_processors for row in records.utilization}
    assert max(grid) >= 4
    assert max(row.gained_processors for row in records.utilization) >= 4
    assert max(row.wasted_processors for row in records.utilization) >= 4


def test_an_interrupted_campaign_leaves_no_job_of_its_background_behind(loaded, users, broker, tmp_path):
    def interrupt(progress):
        if progress.submitted:
            raise KeyboardInterrupt

    broker.on_submit = lambda job: None
    with pytest.raises(KeyboardInterrupt):
        run_campaign(loaded, LOADED, seed=1, path=tmp_path / "run", report_progress=interrupt)
    assert not users.is_open
    assert users.running == {cluster: {} for cluster in users.processors}


def test_local_users_whom_slurm_refuses_a_job_end_the_campaign_with_the_reason(loaded, users, broker, tmp_path):
    users.refusal = "sbatch: error: Invalid account."
    broker.on_submit = lambda job: None
    with pytest.raises(RunFailed, match=r"refused the background job 'background-.*sbatch: error: Invalid account\)"):
        run(loaded, tmp_path / "run", LOADED)
    assert not broker.held
    assert not users.is_open


def test_a_background_load_whose_thread_fails_ends_the_campaign(loaded, users, broker, monkeypatch, tmp_path):
    def no_space(*words: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(users, "submit", no_space)
    broker.on_submit = lambda job: None
    with pytest.raises(RunFailed, match=r"The background load can no longer be held: OSError\(28"):
        run(loaded, tmp_path / "run", LOADED)
    assert not users.is_open


HEAVY = {"interarrival": {"mean_s": 0.1}, "sizes": [16], "lengths": {"low_s": 1e6, "high_s": 1e6}}


def test_a_load_above_its_band_makes_the_run_void_and_it_is_repeated_if_asked(loaded, users, broker, tmp_path):
    """The scripted jobs never end, so the last attempt is void, too, and ends when its jobs have."""
    campaign = LOADED.changed(
        background={"band": [0.25, 0.5], "local_jobs": HEAVY, "void_after_s": 1}, dilation=0.05, jobs=2
    )
    hold, broker.on_submit = [], lambda job: hold.append(job) if len(broker.runs) == 1 else broker.finish(job)
    counted = run_campaign(
        loaded, campaign, seed=1, path=tmp_path / "run", report_progress=lambda progress: None, repeat_void=1
    )
    assert counted == tmp_path / "run-2"
    first, second = (read_run(tmp_path / name).manifest for name in ("run", "run-2"))
    assert first.progress is RunProgress.INCOMPLETE
    assert first.verdict_reasons[0].startswith("The background load was above its band for")
    assert second.progress is RunProgress.COMPLETE
    assert len(broker.runs) == 2
    assert not users.is_open


def test_a_campaign_with_a_background_load_needs_local_users(testbed, loaded, broker, tmp_path):
    with pytest.raises(InvalidInput, match="background: there are no accounts for local users' jobs on double"):
        run(testbed, tmp_path / "run", LOADED)
    with pytest.raises(InvalidInput, match=r"gone\.swf: cannot be read"):
        run(loaded, tmp_path / "run", LOADED.changed(background={"band": [0.1, 0.2], "local_jobs": "gone.swf"}))
    assert broker.runs == []


@pytest.mark.parametrize("name", ["W1", "W2"])
def test_w1_and_w2_are_jobs_of_laplace_and_heat_that_their_ranks_can_run(das2, name):
    campaign = campaign_named(name)
    arrivals = planned(das2, campaign, seed=1)
    assert len(arrivals) == 200
    assert {arrival.specification.application for arrival in arrivals} == {"laplace", "heat"}
    for arrival in arrivals:
        job = arrival.specification
        assert job.run_time_limit_s == 900
        assert max(job.components) <= 24
        assert set(job.arguments) == ({"grid", "iterations"} if job.application == "laplace" else {"grid", "steps"})
        line = command_line(job, job.components, das2.topology, REAL_TIME, None)
        assert any(word.startswith("--interconnect=") for word in line)
        if job.application == "laplace":
            assert ProcessGrid.square_of_processes(sum(job.components)).columns in (6, 8)


def test_fcm_is_given_the_totals_of_the_jobs_whose_components_others_place(das2):
    """ "Communication-Aware Job Placement Policies", section 5: the same jobs, flexible for FCM."""
    campaign = campaign_named("W1")
    as_components, as_totals = (planned(das2, campaign.changed(policy=policy), seed=1) for policy in ("wf", "fcm"))
    assert [(sum(arrival.specification.components),) for arrival in as_components] == [
        arrival.specification.components for arrival in as_totals
    ]
    assert {arrival.specification.request.value for arrival in as_totals} == {"flexible"}
    assert [arrival.arrival_s for arrival in as_components] == [arrival.arrival_s for arrival in as_totals]


def test_where_there_are_local_queues_jobs_are_submitted_where_the_simulator_has_them_submitted(testbed):
    campaign = CAMPAIGN.changed(queue="ls-do", service_s={"low_s": 1, "high_s": 2}, jobs=20)
    simulated = campaign_jobs(campaign, testbed.topology, seed=3).jobs
    live = [arrival.specification for arrival in planned(testbed, campaign, seed=3)]
    assert [job.queue_in(testbed.topology) for job in live] == [job.queue for job in simulated]
    assert len({job.queue for job in live}) == len(testbed.topology.clusters)
    assert [job.request_in(testbed.topology) for job in live] == [job.request for job in simulated]
    without = planned(testbed, campaign.changed(queue="gs"), seed=3)
    assert {arrival.specification.queue for arrival in without} == {None}


def test_jobs_that_the_rules_forbid_are_never_submitted_live_or_simulated(testbed):
    campaign = CAMPAIGN.changed(rules={"coallocation": "no"}, service_s={"low_s": 1, "high_s": 2}, jobs=30)
    live = planned(testbed, campaign, seed=1)
    simulated = campaign_jobs(campaign, testbed.topology, seed=1).jobs
    everything = planned(testbed, campaign.changed(rules={}), seed=1)
    assert [arrival for arrival in everything if len(arrival.specification.components) == 1] == live
    assert [job.arrival_s for job in simulated] == [arrival.arrival_s for arrival in live]
    with pytest.raises(InvalidInput, match=r"rules: they admit no job, the first because .* exceed the limit of 3"):
        planned(testbed, campaign.changed(rules={"total_limit": 3}), seed=1)


@pytest.mark.parametrize("rules", [{"coallocation": "no"}, {"component_limit": 4}, {"most_components": 4}])
def test_limits_on_components_are_refused_live_and_simulated_where_the_policy_splits_jobs_itself(testbed, rules):
    campaign = CAMPAIGN.changed(policy="fcm", rules=rules, service_s={"low_s": 1, "high_s": 2}, jobs=30)
    refused = r"rules: policy 'fcm' splits jobs itself, .* \(wf\), or state no rule but total_limit"
    with pytest.raises(InvalidInput, match=refused):
        planned(testbed, campaign, seed=1)
    with pytest.raises(InvalidInput, match=refused):
        campaign_jobs(campaign, testbed.topology, seed=1)


def test_a_limit_on_the_total_holds_live_and_simulated_where_the_policy_splits_jobs_itself(testbed):
    campaign = CAMPAIGN.changed(policy="fcm", rules={"total_limit": 8}, service_s={"low_s": 1, "high_s": 2}, jobs=30)
    live = planned(testbed, campaign, seed=1)
    simulated = campaign_jobs(campaign, testbed.topology, seed=1).jobs
    assert {arrival.specification.components for arrival in live} == {(4,), (8,)}
    assert [job.arrival_s for job in simulated] == [arrival.arrival_s for arrival in live]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"queue": "sc"}, "queue: 'sc' is live only on a topology of one cluster, and here are 4"),
        ({"queue": "gs", "scans_at_departures": True}, "scans_at_departures: queue 'gs' is never scanned"),
        (
            {"queue": "gs", "policy": "wf-distinct", "component_counts": (5,), "component_sizes": (4,)},
            r"Job 1: components: \[4, 4, 4, 4, 4\] can never be placed on clusters of",
        ),
    ],
)
def test_what_does_not_run_live_is_refused_before_anything_is_touched(testbed, broker, changes, said):
    with pytest.raises(InvalidInput, match=said):
        planned(testbed, CAMPAIGN.changed(**changes), seed=1)
    assert broker.runs == []


def test_an_unknown_application_or_policy_is_refused_before_anything_is_touched(testbed, broker, tmp_path):
    with pytest.raises(UnknownName, match="no application 'quake'"):
        run(testbed, tmp_path / "run", CAMPAIGN.changed(application="quake"))
    with pytest.raises(UnknownName, match="no policy 'best'"):
        run(testbed, tmp_path / "run", CAMPAIGN.changed(policy="best"))
    assert broker.runs == []
    assert not (tmp_path / "run").exists()


def test_on_a_topology_of_one_cluster_sc_gets_every_job_as_a_total(testbed):
    one = testbed.topology.clusters[0].model_copy(update={"nodes": 32})
    topology = testbed.topology.model_copy(update={"clusters": (one,), "links": ()})
    alone = replace(testbed, topology=topology)
    arrivals = planned(alone, CAMPAIGN.scheduled("sc", None), seed=1)
    drawn = schedule(CAMPAIGN, 1)
    assert {arrival.specification.request.value for arrival in arrivals} == {"total"}
    assert [arrival.specification.components for arrival in arrivals] == [
        (sum(arrival.specification.components),) for arrival in drawn
    ]
