"""The live page at the broker: its files, its sessions, its status, and notes on a run."""

import pytest
from fastapi.testclient import TestClient

from emulator.broker.http.api import create_app
from emulator.broker.http.page import LivePage
from emulator.broker.http.page_notes import MOST_HELD, WATCHED_HOST_S, PageNotes
from emulator.model.page_views import MOST_NOTES, RunNote
from emulator.page import ASSETS
from tests.unit.broker.broker_setup import begin_fast_run


@pytest.fixture
def app(setup):
    return create_app(setup.broker, setup.journal, "right", LivePage.of(ASSETS), "testing")


@pytest.fixture
def owner(app):
    return TestClient(app, headers={"authorization": "Bearer right"})


@pytest.fixture
def browser(app):
    return TestClient(app)


@pytest.fixture
def visitor(app, owner, browser):
    code = owner.post("/v1/page/codes").json()["code"]
    opened = browser.post("/v1/page/sessions", json={"code": code}).json()
    assert opened["shows"] == "testbed"
    return TestClient(app, headers={"authorization": f"Bearer {opened['session']}"})


def test_the_files_are_open_and_say_what_they_may_load(browser):
    first = browser.get("/")
    assert first.status_code == 200
    assert "default-src 'none'" in first.headers["content-security-policy"]
    assert browser.get("/page/main.js").status_code == 200
    assert browser.get("/page/nothing.js").status_code == 401


def test_a_broker_without_a_page_serves_none(api):
    assert api.get("/").status_code == 404


def test_only_the_token_gets_a_code(browser, visitor):
    assert browser.post("/v1/page/codes").status_code == 401
    assert visitor.post("/v1/page/codes").status_code == 401


def test_a_code_opens_one_session(owner, browser):
    code = owner.post("/v1/page/codes").json()["code"]
    assert browser.post("/v1/page/sessions", json={"code": code}).status_code == 201
    refused = browser.post("/v1/page/sessions", json={"code": code})
    assert (refused.status_code, refused.json()["kind"]) == (401, "Unauthorized")


@pytest.mark.parametrize(
    "path", ["/v1/page/system", "/v1/page/now", "/v1/page/notes?run=0", "/v1/jobs?run=0", "/v1/events?run=0&after=0"]
)
def test_a_session_reads_what_the_page_shows(browser, visitor, path):
    assert browser.get(path).status_code == 401
    assert visitor.get(path).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/jobs"), ("DELETE", "/v1/jobs/1"), ("POST", "/v1/runs"), ("POST", "/v1/runs/0/end"),
     ("GET", "/v1/files"), ("POST", "/v1/files"), ("DELETE", "/v1/files/x"), ("POST", "/v1/runs/0/notes"),
     ("GET", "/v1/jobs/1/output/%2e%2e/x")],
)  # fmt: skip
def test_a_session_does_nothing_else(setup, visitor, method, path):
    job = setup.submit(8)
    assert job == 1
    assert visitor.request(method, path, json={} if method == "POST" else None).status_code == 401
    assert not setup.broker.job(job).state.final
    assert setup.broker.current_run() is None


def test_the_system_is_that_of_the_topology(visitor):
    system = visitor.get("/v1/page/system").json()
    assert system["testbed"] == "testing"
    assert [(cluster["name"], cluster["processors"]) for cluster in system["clusters"]] == [("east", 8), ("west", 8)]
    assert system["paths"][0]["rate_mbit"] == 10


def test_the_status_shows_queue_clusters_and_where_to_begin(setup, visitor):
    held = setup.submit(8, 8)
    waiting = setup.submit(8, 8)
    setup.until(lambda: [entry["job"] for entry in visitor.get("/v1/page/now").json()["queue"]] == [waiting])
    now = visitor.get("/v1/page/now").json()
    assert (now["run"]["id"], now["queue_length"], now["last_job"]) == (0, 1, waiting)
    assert now["last_event"] == setup.journal.read(0, 0)[-1].sequence
    assert {cluster["name"] for cluster in now["clusters"]} == {"east", "west"}
    assert held < waiting


def test_the_status_follows_the_run_that_holds_the_testbed(setup, visitor):
    run = begin_fast_run(setup)
    assert visitor.get("/v1/page/now").json()["run"]["id"] == run
    setup.broker.end_run(run)
    assert visitor.get("/v1/page/now").json()["run"]["id"] == 0


def test_notes_come_to_the_page_in_their_order(setup, owner, visitor):
    run = begin_fast_run(setup)
    path = f"/v1/runs/{run}/notes"
    assert owner.post(path, json={}).json() == {"held": 0, "is_watched": False}
    visitor.get("/v1/page/now")
    verdict = {"job": 1, "verdict": "suspect", "reasons": [{"topic": "host", "sentence": "<b>busy</b>"}]}
    sent = {"first": 0, "notes": [{"jobs": 20, "band": [0.15, 0.2]}, {"verdict": verdict}]}
    assert owner.post(path, json=sent).json() == {"held": 2, "is_watched": True}
    assert owner.post(path, json=sent).json()["held"] == 2
    page = visitor.get("/v1/page/notes", params={"run": run, "after": 1}).json()
    assert (page["next"], [note["verdict"] for note in page["notes"]]) == (2, [verdict])
    assert visitor.get("/v1/page/notes", params={"run": run, "after": 2}).json() == {"notes": [], "next": 2}


def test_notes_on_no_run_are_refused(owner):
    assert owner.post("/v1/runs/9/notes", json={}).status_code == 404


def test_notes_of_another_run_make_room():
    notes = PageNotes()
    assert notes.take(1, 0, [RunNote(jobs=1)], 0.0).held == 1
    assert notes.take(2, 0, [], 0.0).held == 0
    assert notes.take(1, 0, [RunNote(jobs=1)], 0.0).held == 0
    assert notes.read(1, 0).notes == ()


def test_notes_with_a_gap_are_not_taken():
    notes = PageNotes()
    assert notes.take(1, 3, [RunNote(jobs=4)], 0.0).held == 0


def test_notes_are_read_by_the_page_and_are_not_endless():
    notes = PageNotes()
    for first in range(0, MOST_HELD + MOST_NOTES, MOST_NOTES):
        held = notes.take(1, first, [RunNote(jobs=number) for number in range(first, first + MOST_NOTES)], 0.0).held
    assert held == MOST_HELD
    page = notes.read(1, MOST_NOTES)
    assert [note.jobs for note in page.notes] == list(range(MOST_NOTES, 2 * MOST_NOTES))


def test_who_looked_lately_is_watching():
    notes = PageNotes()
    notes.look(100.0)
    assert notes.take(1, 0, [], 100.0 + WATCHED_HOST_S).is_watched
    assert not notes.take(1, 0, [], 101.0 + WATCHED_HOST_S).is_watched
