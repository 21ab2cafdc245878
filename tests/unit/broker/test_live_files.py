"""Jobs that read files, from submission to the removal of what was brought for them, over simulated sites."""

from __future__ import annotations

import pytest

from emulator.model.errors import InvalidInput
from emulator.model.job import JobState
from emulator.model.views import EventKind
from emulator.policies.decisions import recorded_decision
from tests.unit.broker.broker_setup import SIZE_BYTES, BrokerSetupWithFiles, recorded_decisions
from tests.unit.broker.simulated_file_servers import BYTES_PER_HOST_S


@pytest.fixture
def setup(tmp_path):
    setup = BrokerSetupWithFiles(tmp_path)
    yield setup
    setup.close()


def test_close_to_files_runs_a_job_where_its_file_is_and_moves_nothing(setup):
    setup.register()
    job = setup.submit(4, run=setup.begin(policy="cf"), file="input")
    setup.started(job, setup.east)
    view = setup.broker.job(job)
    assert [part.cluster for part in view.components] == ["east"]
    assert view.estimated_transfer_s == 0
    assert setup.replicas() == {"east": 1}
    setup.east.programs[-1].finish()
    setup.until_state(job, JobState.FINISHED)
    assert setup.replicas() == {"east": 0}


def test_a_component_that_runs_elsewhere_waits_for_its_file_and_takes_it_away_again(setup):
    setup.register()
    setup.files["west"].holds_back = True
    job = setup.submit(8, 8, run=setup.begin(policy="cf", dilation=0.01), file="input")
    setup.until_state(job, JobState.STARTING)
    view = setup.broker.job(job)
    assert view.estimated_transfer_s == pytest.approx(1.0)
    assert view.planned_start_s == pytest.approx(view.placed_s + 1.0)
    setup.until(lambda: setup.east.programs)
    assert setup.east.programs[-1].heard.empty(), "its processes wait"
    setup.files["west"].transfers[0].go_on()
    assert setup.east.programs[-1].host_start_timestamp_s() > 0
    setup.started(job, setup.east)
    assert setup.replicas() == {"east": 1, "west": 1}
    assert setup.files["west"].files == setup.files["east"].files
    (arrival,) = [event for event in setup.journal.read(view.run, 0) if event.kind is EventKind.FILE_ARRIVED]
    expected = {"file": "input", "source": "east", "target": "west", "size_bytes": SIZE_BYTES}
    assert expected.items() <= arrival.detail.items()
    emulated_s = SIZE_BYTES / BYTES_PER_HOST_S / 0.01
    assert arrival.detail["arrived_s"] - arrival.detail["began_s"] == pytest.approx(emulated_s, rel=1e-3)
    assert arrival.detail["rate_mbit"] == pytest.approx(SIZE_BYTES * 8e-6 / emulated_s, rel=1e-3)
    setup.east.programs[-1].finish()
    setup.until_state(job, JobState.FINISHED)
    setup.until(lambda: not setup.files["west"].files)
    assert setup.replicas() == {"east": 0}


@pytest.mark.parametrize("policy", ["wf", "wf-distinct", "cm", "fcm", "by-kind"])
def test_under_a_policy_that_is_blind_to_files_each_component_is_brought_the_nearest_replica(setup, policy):
    setup.register()
    run = setup.begin(policy=policy, dilation=0.01)
    kind = {"wf-distinct": "unordered", "fcm": "flexible"}.get(policy, "non-fixed")
    job = setup.submit(*((16,) if kind == "flexible" else (8, 8)), run=run, request=kind, file="input")
    setup.started(job, setup.east)
    assert setup.replicas() == {"east": 1, "west": 1}


def test_a_fixed_request_is_brought_its_file_too(setup):
    setup.register()
    job = setup.submit(4, request="fixed", clusters=("west",), file="input")
    setup.started(job, setup.west)
    assert setup.replicas() == {"east": 1, "west": 1}


def test_a_job_that_is_cancelled_while_its_file_comes_leaves_neither_processors_nor_bytes(setup):
    setup.register()
    setup.files["west"].holds_back = True
    job = setup.submit(8, 8, run=setup.begin(policy="cf", dilation=0.01), file="input")
    setup.until_state(job, JobState.STARTING)
    setup.broker.cancel(job)
    setup.until_state(job, JobState.CANCELLED)
    assert setup.nothing_is_held
    setup.until(lambda: not setup.broker.files.file("input").transfers)
    assert setup.files["west"].files == {}
    assert setup.replicas() == {"east": 0}


def test_a_job_whose_file_does_not_come_fails_for_that_reason(setup):
    setup.register()
    setup.files["east"].files.clear()
    job = setup.submit(8, 8, run=setup.begin(policy="cf", dilation=0.01), file="input")
    setup.until_state(job, JobState.FAILED)
    assert "'input' did not come to 'west'" in setup.broker.job(job).reason
    assert setup.nothing_is_held


def test_a_decision_records_the_files_and_bandwidths_it_was_made_on(setup):
    setup.register()
    run = setup.begin(policy="cf")
    job = setup.submit(8, run=run, file="input")
    setup.started(job, setup.east)
    records = [event.detail for event in setup.journal.read(run, 0) if event.kind is EventKind.DECISION]
    surroundings = recorded_decision(records[0]).surroundings
    assert surroundings.files["input"].sites == (0,)
    assert surroundings.bandwidth_bytes_per_s == {(0, 1): 1_250_000.0, (1, 0): 1_250_000.0}
    assert surroundings.history == {(cluster, site) for cluster in (0, 1) for site in (0, 1)}
    assert records[0]["answers"][0]["file_sites"] == [0]


def test_a_run_begins_with_stated_bandwidths_whatever_was_transferred_before_it(setup):
    setup.register()
    first = setup.begin(policy="cf", dilation=0.01)
    job = setup.submit(8, 8, run=first, file="input")
    setup.started(job, setup.east)
    setup.east.programs[-1].finish()
    setup.until_state(job, JobState.FINISHED)
    assert {view.origin for view in setup.broker.files.bandwidths()} == {"measured", "stated"}
    setup.broker.end_run(first)
    setup.begin(policy="cf")
    assert {view.origin for view in setup.broker.files.bandwidths()} == {"stated"}


def test_the_history_of_a_run_with_files_stays_complete(setup):
    setup.register()
    run = setup.begin(policy="cf")
    setup.started(setup.submit(4, run=run, file="input"), setup.east)
    setup.until_state(setup.submit(4, run=run), JobState.STARTING)
    last = recorded_decisions(setup, run)[-1].surroundings
    assert last.files == {}
    assert last.history == {(cluster, site) for cluster in (0, 1) for site in (0, 1)}


def test_a_file_that_nobody_knows_is_refused_at_submission(setup):
    with pytest.raises(InvalidInput, match="file: there is no file 'nothing'"):
        setup.submit(4, file="nothing")
    assert setup.broker.jobs(None) == []


def test_a_job_whose_file_is_lost_while_it_waits_fails_and_the_queue_goes_on(setup):
    setup.register()
    setup.east.holds_back = setup.west.holds_back = True
    first = setup.submit(8, 8)
    setup.until_state(first, JobState.CLAIMING)
    waiting, other = setup.submit(8, file="input"), setup.submit(8)
    setup.files["east"].files.clear()
    setup.east.fall_silent()
    setup.east.silent = False
    setup.east.watch(setup.east._on_event, setup.east._on_reachable)
    setup.until_state(waiting, JobState.FAILED)
    assert "'input' is at no site any more" in setup.broker.job(waiting).reason
    assert setup.broker.job(other).state in (JobState.QUEUED, JobState.CLAIMING)


def test_files_are_registered_listed_and_removed_over_http(api, setup):
    made = api.post("/v1/files", json={"name": "input", "size_bytes": 1000, "sites": ["east", "west"]})
    assert made.status_code == 201
    assert made.json()["replicas"] == [{"site": site, "kept": True, "users": 0} for site in ("east", "west")]
    assert api.get("/v1/files").json() == [made.json()]
    assert api.get("/v1/files/input").json() == made.json()
    assert {row["origin"] for row in api.get("/v1/bandwidths").json()} == {"stated"}
    assert api.delete("/v1/files/input").status_code == 204
    assert api.get("/v1/files").json() == []
    assert setup.files["east"].files == {}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"name": "../input"}, "name"),
        ({"name": "input\n"}, "name"),
        ({"size_bytes": -1}, "size_bytes"),
        ({"size_bytes": 10**15}, "size_bytes"),
        ({"sites": []}, "sites"),
        ({"mode": "0777"}, "unknown key 'mode'"),
    ],
)
def test_a_registration_that_cannot_be_meant_gets_one_sentence_naming_the_field(api, setup, body, said):
    answer = api.post("/v1/files", json={"name": "input", "size_bytes": 10, "sites": ["east"], **body})
    assert answer.status_code == 422
    assert said in answer.json()["error"]
    assert "\n" not in answer.json()["error"]
    assert setup.files["east"].files == {}


def test_a_registration_at_an_unknown_cluster_is_not_found(api, setup):
    answer = api.post("/v1/files", json={"name": "input", "size_bytes": 10, "sites": ["east", "paris"]})
    said = "sites: there is no cluster 'paris' (known: east, west)."
    assert (answer.status_code, answer.json()) == (404, {"error": said, "kind": "UnknownName"})
    assert setup.files["east"].files == {}


def test_unknown_and_needed_files_are_told_apart(api, setup):
    assert api.get("/v1/files/nothing").status_code == 404
    assert api.delete("/v1/files/nothing").status_code == 404
    assert api.delete("/v1/files/..%2fjournal").status_code in (404, 422)
    setup.register()
    job = setup.submit(4, file="input")
    answer = api.delete("/v1/files/input")
    assert (answer.status_code, answer.json()["kind"]) == (409, "TestbedBusy")
    setup.broker.cancel(job)
    unknown = {"specification": {"application": "poisson", "components": [4], "file": "nothing"}}
    assert api.post("/v1/jobs", json=unknown).status_code == 422
    climbing = {"specification": {"application": "poisson", "components": [4], "file": "../journal"}}
    assert "specification.file" in api.post("/v1/jobs", json=climbing).json()["error"]


def test_files_need_the_token_as_well(api):
    api.headers.pop("authorization")
    assert api.get("/v1/files").status_code == 401
    assert api.post("/v1/files", json={}).status_code in (401, 422)


@pytest.mark.parametrize("policy", ["cf", "wf"])
def test_a_job_whose_file_is_gone_from_the_catalogue_fails_alone(setup, policy):
    setup.register()
    setup.register("other")
    setup.east.others = setup.west.others = 8
    run = setup.begin(policy=policy, queue="gs")
    lost, kept = setup.submit(4, run=run, file="input"), setup.submit(4, run=run, file="other")
    setup.until(lambda: len(setup.broker.queue()) == 2)
    setup.broker._loop.call(lambda: setup.broker._replicas.catalogue.remove("input"))
    setup.east.others = 0
    setup.until_state(lost, JobState.FAILED)
    assert "'input' is at no site any more" in setup.broker.job(lost).reason
    setup.until_state(kept, JobState.STARTING)
    assert EventKind.POLICY_FAILED not in setup.kinds(run)
    assert setup.broker.queue() == []


def test_a_job_that_arrives_when_its_file_is_gone_is_not_shown_to_the_policy(setup):
    setup.register()
    run = setup.begin(policy="cf", queue="gs")
    live = setup.broker._registry.run(run)
    job = setup.submit(4, run=run, file="input")
    setup.until_state(job, JobState.STARTING)

    def arrive_again() -> None:
        again = setup.broker._registry.find_job(job)
        again.state, again.answered = JobState.QUEUED, False
        live.waiting_files[job] = "gone"
        setup.broker._scheduling.decide_arrivals(live, [again])

    setup.broker._loop.call(arrive_again)
    setup.until_state(job, JobState.FAILED)
    assert live.failure == ""


def test_a_file_that_vanishes_while_it_is_brought_fails_every_job_that_waits_for_it(setup):
    setup.register()
    setup.files["west"].holds_back = True
    run = setup.begin(policy="cf", dilation=0.01)
    jobs = [setup.submit(4, run=run, file="input", request="fixed", clusters=("west",)) for _ in range(2)]
    setup.until(lambda: len(setup.west.claims) == 2 and setup.files["west"].transfers)
    setup.broker._loop.call(lambda: setup.broker._replicas.catalogue.remove("input"))
    setup.files["west"].transfers[0].go_on()
    for job in jobs:
        setup.until_state(job, JobState.FAILED)
        assert "'input'" in setup.broker.job(job).reason
    setup.until(lambda: setup.nothing_is_held)
    setup.until(lambda: not setup.files["west"].files)
