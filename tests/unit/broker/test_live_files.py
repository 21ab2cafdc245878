"""Jobs that read files, from submission to the removal of what was brought for them, over simulated sites."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from emulator.broker.api import application
from emulator.broker.service import Broker
from emulator.model.errors import InvalidInput
from emulator.model.files import FileRegistration
from emulator.model.job import JobState
from emulator.model.views import EventKind, RunRequest
from emulator.policies.decisions import recorded_decision
from tests.unit.broker.simulated_files import BYTES_PER_HOST_S, SimulatedFileServer, file_servers
from tests.unit.broker.test_broker import House

SIZE_BYTES = 1_250_000
"""A second at the 10 Mbit/s that the topology states."""


class HouseWithFiles(House):
    """A broker over two scripted clusters, each with a simulated file server."""

    def make_broker(self, *arguments) -> Broker:
        self.files: dict[str, SimulatedFileServer] = {it.site: it for it in file_servers("east", "west")}
        return Broker(*arguments, list(self.files.values()))

    def register(self, name: str = "input", *sites: str):
        registration = FileRegistration(name=name, size_bytes=SIZE_BYTES, sites=sites or ("east",))
        return self.broker.files.register(registration)

    def replicas(self, name: str = "input") -> dict[str, int]:
        return {it.site: it.users for it in self.broker.files.file(name).replicas}

    def begin(self, **request) -> int:
        run = self.broker.begin_run(RunRequest(name="files", **request)).id
        self.broker.start_run(run)
        return run


@pytest.fixture
def house(tmp_path):
    house = HouseWithFiles(tmp_path)
    yield house
    house.broker.close()
    house.journal.close()


def test_close_to_files_runs_a_job_where_its_file_is_and_moves_nothing(house):
    house.register()
    job = house.submit(4, run=house.begin(policy="cf"), file="input")
    house.started(job, house.east)
    view = house.broker.job(job)
    assert [part.cluster for part in view.components] == ["east"]
    assert view.estimated_transfer_s == 0
    assert house.replicas() == {"east": 1}
    house.east.programs[-1].finish()
    house.until_state(job, JobState.FINISHED)
    assert house.replicas() == {"east": 0}


def test_a_component_that_runs_elsewhere_waits_for_its_file_and_takes_it_away_again(house):
    house.register()
    house.files["west"].holds_back = True
    job = house.submit(8, 8, run=house.begin(policy="cf", dilation=0.01), file="input")
    house.until_state(job, JobState.STARTING)
    view = house.broker.job(job)
    assert view.estimated_transfer_s == pytest.approx(1.0)
    assert view.planned_start_s == pytest.approx(view.placed_s + 1.0)
    assert not house.east.scripts
    house.files["west"].transfers[0].go_on()
    house.started(job, house.east)
    assert house.replicas() == {"east": 1, "west": 1}
    assert house.files["west"].files == house.files["east"].files
    (arrival,) = [event for event in house.journal.read(view.run, 0) if event.kind is EventKind.FILE_ARRIVED]
    told = {"file": "input", "source": "east", "target": "west", "size_bytes": SIZE_BYTES}
    assert told.items() <= arrival.detail.items()
    emulated_s = SIZE_BYTES / BYTES_PER_HOST_S / 0.01
    assert arrival.detail["arrived_s"] - arrival.detail["began_s"] == pytest.approx(emulated_s, rel=1e-3)
    assert arrival.detail["rate_mbit"] == pytest.approx(SIZE_BYTES * 8e-6 / emulated_s, rel=1e-3)
    house.east.programs[-1].finish()
    house.until_state(job, JobState.FINISHED)
    house.until(lambda: not house.files["west"].files)
    assert house.replicas() == {"east": 0}


@pytest.mark.parametrize("policy", ["wf", "wf-distinct", "cm", "fcm", "by-kind"])
def test_under_a_policy_that_is_blind_to_files_each_component_is_brought_the_nearest_replica(house, policy):
    house.register()
    run = house.begin(policy=policy, dilation=0.01)
    kind = {"wf-distinct": "unordered", "fcm": "flexible"}.get(policy, "non-fixed")
    job = house.submit(*((16,) if kind == "flexible" else (8, 8)), run=run, request=kind, file="input")
    house.started(job, house.east)
    assert house.replicas() == {"east": 1, "west": 1}


def test_a_fixed_request_is_brought_its_file_too(house):
    house.register()
    job = house.submit(4, request="fixed", clusters=("west",), file="input")
    house.started(job, house.west)
    assert house.replicas() == {"east": 1, "west": 1}


def test_a_job_that_is_cancelled_while_its_file_comes_leaves_neither_processors_nor_bytes(house):
    house.register()
    house.files["west"].holds_back = True
    job = house.submit(8, 8, run=house.begin(policy="cf", dilation=0.01), file="input")
    house.until_state(job, JobState.STARTING)
    house.broker.cancel(job)
    house.until_state(job, JobState.CANCELLED)
    assert house.nothing_is_held
    house.until(lambda: not house.broker.files.file("input").transfers)
    assert house.files["west"].files == {}
    assert house.replicas() == {"east": 0}


def test_a_job_whose_file_does_not_come_fails_for_that_reason(house):
    house.register()
    house.files["east"].files.clear()
    job = house.submit(8, 8, run=house.begin(policy="cf", dilation=0.01), file="input")
    house.until_state(job, JobState.FAILED)
    assert "'input' did not come to 'west'" in house.broker.job(job).reason
    assert house.nothing_is_held


def test_a_decision_records_the_files_and_bandwidths_it_was_made_on(house):
    house.register()
    run = house.begin(policy="cf")
    job = house.submit(8, run=run, file="input")
    house.started(job, house.east)
    records = [event.detail for event in house.journal.read(run, 0) if event.kind is EventKind.DECISION]
    surroundings = recorded_decision(records[0]).surroundings
    assert surroundings.files["input"].sites == (0,)
    assert surroundings.bandwidth_bytes_per_s == {(0, 1): 1_250_000.0, (1, 0): 1_250_000.0}
    assert surroundings.history == {(cluster, site) for cluster in (0, 1) for site in (0, 1)}
    assert records[0]["answers"][0]["file_sites"] == [0]


def test_a_file_that_nobody_knows_is_refused_at_submission(house):
    with pytest.raises(InvalidInput, match="file: there is no file 'nothing'"):
        house.submit(4, file="nothing")
    assert house.broker.jobs(None) == []


def test_a_job_whose_file_is_lost_while_it_waits_fails_and_the_queue_goes_on(house):
    house.register()
    house.east.holds_back = house.west.holds_back = True
    first = house.submit(8, 8)
    house.until_state(first, JobState.CLAIMING)
    waiting, other = house.submit(8, file="input"), house.submit(8)
    house.files["east"].files.clear()
    house.east.fall_silent()
    house.east.silent = False
    house.east.watch(house.east._on_event, house.east._on_reachable)
    house.until_state(waiting, JobState.FAILED)
    assert "'input' is at no site any more" in house.broker.job(waiting).reason
    assert house.broker.job(other).state in (JobState.QUEUED, JobState.CLAIMING)


@pytest.fixture
def api(house):
    return TestClient(application(house.broker, house.journal, "right"), headers={"authorization": "Bearer right"})


def test_files_are_registered_listed_and_removed_over_http(api, house):
    made = api.post("/v1/files", json={"name": "input", "size_bytes": 1000, "sites": ["east", "west"]})
    assert made.status_code == 201
    assert made.json()["replicas"] == [{"site": site, "kept": True, "users": 0} for site in ("east", "west")]
    assert api.get("/v1/files").json() == [made.json()]
    assert api.get("/v1/files/input").json() == made.json()
    assert {row["origin"] for row in api.get("/v1/bandwidths").json()} == {"stated"}
    assert api.delete("/v1/files/input").status_code == 204
    assert api.get("/v1/files").json() == []
    assert house.files["east"].files == {}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"name": "../input"}, "name"),
        ({"name": "input\n"}, "name"),
        ({"size_bytes": -1}, "size_bytes"),
        ({"size_bytes": 10**15}, "size_bytes"),
        ({"sites": ["paris"]}, "sites: there is no cluster 'paris'"),
        ({"sites": []}, "sites"),
        ({"mode": "0777"}, "unknown key 'mode'"),
    ],
)
def test_a_registration_that_cannot_be_meant_gets_one_sentence_naming_the_field(api, house, body, said):
    answer = api.post("/v1/files", json={"name": "input", "size_bytes": 10, "sites": ["east"], **body})
    assert answer.status_code == 422
    assert said in answer.json()["error"]
    assert "\n" not in answer.json()["error"]
    assert house.files["east"].files == {}


def test_unknown_and_needed_files_are_told_apart(api, house):
    assert api.get("/v1/files/nothing").status_code == 404
    assert api.delete("/v1/files/nothing").status_code == 404
    assert api.delete("/v1/files/..%2fjournal").status_code in (404, 422)
    house.register()
    job = house.submit(4, file="input")
    answer = api.delete("/v1/files/input")
    assert (answer.status_code, answer.json()["kind"]) == (409, "TestbedBusy")
    house.broker.cancel(job)
    unknown = {"specification": {"application": "poisson", "components": [4], "file": "nothing"}}
    assert api.post("/v1/jobs", json=unknown).status_code == 422
    climbing = {"specification": {"application": "poisson", "components": [4], "file": "../journal"}}
    assert "specification.file" in api.post("/v1/jobs", json=climbing).json()["error"]


def test_files_need_the_token_as_well(api):
    api.headers.pop("authorization")
    assert api.get("/v1/files").status_code == 401
    assert api.post("/v1/files", json={}).status_code in (401, 422)
