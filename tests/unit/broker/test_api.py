"""The API: a token in front, and every refusal one sentence with its kind."""

import asyncio
import threading

import httpx
import pytest
from fastapi.testclient import TestClient

from emulator.broker.http.api import create_app
from emulator.model.proof import proof_of

JOB = {"application": "poisson", "components": [4]}


@pytest.mark.parametrize("header", [None, "Bearer wrong", "right", "Bearer ", "Basic right", "Bearerright"])
def test_nobody_passes_without_the_token(api, header):
    api.headers.pop("authorization")
    answer = api.get("/v1/clusters", headers={"authorization": header} if header else {})
    assert answer.status_code == 401
    assert answer.json()["kind"] == "Unauthorized"
    assert "token" in answer.json()["error"]


def test_two_tokens_in_one_request_are_none(api):
    api.headers.pop("authorization")
    both = [("authorization", "Bearer right"), ("authorization", "Bearer wrong")]
    assert api.get("/v1/clusters", headers=both).status_code == 401


@pytest.mark.parametrize("header", ["", "Bearer ", "Bearer"])
def test_an_empty_token_lets_nobody_in(setup, header):
    client = TestClient(create_app(setup.broker, setup.journal, ""))
    assert client.get("/v1/clusters", headers={"authorization": header}).status_code == 401


def test_the_broker_proves_that_it_has_the_token_without_showing_it(api):
    api.headers.pop("authorization")
    first, second = (api.get("/v1/proof", params={"nonce": nonce * 32}).text for nonce in "ab")
    assert first == proof_of("right", "a" * 32) != second
    assert first != proof_of("wrong", "a" * 32)
    assert api.get("/v1/proof", params={"nonce": "a"}).status_code == 422


def test_the_description_needs_no_token_and_no_page_takes_its_scripts_from_elsewhere(api):
    assert api.get("/v1/docs").status_code == 404
    api.headers.pop("authorization")
    assert api.get("/v1/openapi.json").json()["info"]["title"] == "Multicluster Testbed broker"


@pytest.mark.parametrize("path", ["/v1/jobs/", "/v1/clusters/", "/v1/health/"])
def test_no_redirect_leads_to_the_host_that_a_request_names(api, path):
    answer = api.get(path, headers={"host": "evil.example"}, follow_redirects=False)
    assert answer.status_code == 404
    assert "location" not in answer.headers


def test_health_needs_no_token_and_names_clusters_that_do_not_answer(api):
    api.headers.pop("authorization")
    well = {"status": "ok", "unreachable": [], "silent": [], "reason": ""}
    api.setup.until(lambda: api.get("/v1/health").json() == well)
    api.setup.west.fall_silent()
    api.setup.until(lambda: api.get("/v1/health").status_code == 503)
    assert api.get("/v1/health").json()["unreachable"] == ["west"]


def test_a_job_is_submitted_shown_and_cancelled(api):
    job = api.post("/v1/jobs", json={"specification": JOB})
    assert job.status_code == 201
    number = job.json()["id"]
    assert api.get(f"/v1/jobs/{number}").json()["specification"]["components"] == [4]
    assert [row["id"] for row in api.get("/v1/jobs").json()] == [number]
    assert api.delete(f"/v1/jobs/{number}").status_code == 200
    api.setup.until(lambda: api.get(f"/v1/jobs/{number}").json()["state"] == "cancelled")
    assert api.get(f"/v1/jobs/{number}/output").json() == {"output": "", "error": ""}


def test_events_can_be_followed_by_their_numbers(api):
    api.post("/v1/jobs", json={"specification": JOB})
    events = api.get("/v1/events", params={"run": 0, "wait_s": 5}).json()
    assert events[0]["kind"] == "submitted"
    rest = api.get("/v1/events", params={"run": 0, "after": events[0]["sequence"], "wait_s": 5}).json()
    assert all(event["sequence"] > events[0]["sequence"] for event in rest)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"specification": {**JOB, "components": [17]}}, 422, "asks for 17 processors"),
        ({"specification": {**JOB, "components": [9, 1]}}, 422, "component of 9 processors"),
        ({"specification": {**JOB, "application": "quake"}}, 404, "no application 'quake'"),
        ({"specification": {**JOB, "request": "fixed", "clusters": ["paris"]}}, 404, "no cluster 'paris'"),
        ({"specification": {**JOB, "components": ["many"]}}, 422, "specification.components.0"),
        ({"specification": {**JOB, "extra": 1}}, 422, "unknown key 'specification.extra'"),
        ({"specification": {**JOB, "name": "a b\nc"}}, 422, "specification.name"),
        ({"specification": JOB, "run": 99}, 404, "no run 99"),
        ({}, 422, "specification: this key is missing"),
    ],
)
def test_a_bad_submission_gets_one_sentence_naming_the_field(api, body, status, said):
    answer = api.post("/v1/jobs", json=body)
    assert answer.status_code == status
    assert said in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_a_defect_is_answered_with_one_sentence_too(api, monkeypatch):
    monkeypatch.setattr(api.setup.broker, "queue", lambda: [][0])
    client = TestClient(api.app, headers=api.headers, raise_server_exceptions=False)
    answer = client.get("/v1/queue")
    assert (answer.status_code, answer.json()["kind"]) == (500, "TestbedError")
    assert answer.json()["error"].startswith("GET /v1/queue: the broker failed;")


def test_a_second_run_is_a_conflict(api):
    assert api.get("/v1/runs/current").status_code == 404
    assert api.post("/v1/runs", json={"name": "a"}).status_code == 201
    answer = api.post("/v1/runs", json={"name": "b"})
    assert (answer.status_code, answer.json()["kind"]) == (409, "TestbedBusy")


def test_an_oversized_body_is_refused_unread(api):
    answer = api.post("/v1/jobs", content=b"x" * 1_000_001, headers={"content-type": "application/json"})
    assert answer.status_code == 413


def test_requests_that_wait_for_clusters_do_not_hold_up_the_others(setup, monkeypatch):
    may_answer = threading.Event()
    monkeypatch.setattr(setup.broker, "clusters", lambda: may_answer.wait(60.0) and [])
    app = create_app(setup.broker, setup.journal, "right")

    async def ask() -> list[int]:
        transport = httpx.ASGITransport(app)
        headers = {"authorization": "Bearer right"}
        async with httpx.AsyncClient(transport=transport, base_url="http://testbed", headers=headers) as client:
            waiting = [asyncio.create_task(client.get("/v1/clusters")) for _ in range(60)]
            await asyncio.sleep(0.1)
            others = [await asyncio.wait_for(client.get(path), 30.0) for path in ("/v1/queue", "/v1/jobs")]
            may_answer.set()
            return [answer.status_code for answer in (*others, *await asyncio.gather(*waiting))]

    assert asyncio.run(ask()) == [200] * 62
