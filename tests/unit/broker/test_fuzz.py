"""Whatever a client sends, the answer is one the interface describes, and nothing breaks: schemathesis, hypothesis."""

import json

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from emulator.broker.http.api import create_app
from tests.unit.broker.broker_setup import BrokerSetup

BOUNDED = settings(suppress_health_check=list(HealthCheck))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def setup(tmp_path_factory):
    setup = BrokerSetup(tmp_path_factory.mktemp("setup"))
    yield setup
    setup.close()


class Counted:
    """An application, and how many requests it has answered."""

    def __init__(self, app):
        self.app, self.requests = app, 0

    async def __call__(self, scope, receive, send):
        self.requests += scope["type"] == "http"
        await self.app(scope, receive, send)


@pytest.fixture(scope="module")
def app(setup):
    """Yield the application; whatever it was asked, the broker takes jobs afterwards."""
    app = Counted(create_app(setup.broker, setup.journal, "right"))
    yield app
    print(f"{app.requests} requests")
    run = setup.broker.current_run()
    if run is not None:
        setup.broker.end_run(run.id)
    answer = client_of(app).post("/v1/jobs", json={"specification": {"application": "poisson", "components": [4]}})
    assert answer.status_code == 201


def client_of(app) -> TestClient:
    return TestClient(app, headers={"authorization": "Bearer right"}, raise_server_exceptions=False)


@pytest.fixture(scope="module")
def described(app):
    schema = schemathesis.openapi.from_asgi("/v1/openapi.json", app)
    return {result.ok().label: result.ok() for result in schema.get_all_operations()}


@pytest.mark.parametrize(
    "operation",
    [
        "GET /v1/health",
        "GET /v1/proof",
        "GET /metrics",
        "POST /v1/runs",
        "POST /v1/runs/{number}/start",
        "POST /v1/runs/{number}/end",
        "GET /v1/runs/current",
        "POST /v1/jobs",
        "GET /v1/jobs",
        "GET /v1/jobs/{number}",
        "GET /v1/jobs/{number}/output",
        "DELETE /v1/jobs/{number}",
        "GET /v1/queue",
        "GET /v1/clusters",
        "GET /v1/events",
        "GET /v1/files",
        "POST /v1/files",
        "GET /v1/files/{name}",
        "DELETE /v1/files/{name}",
        "GET /v1/bandwidths",
        "POST /v1/page/codes",
        "POST /v1/page/sessions",
        "GET /v1/page/system",
        "GET /v1/page/now",
        "GET /v1/page/notes",
        "POST /v1/runs/{number}/notes",
    ],
)
def test_every_request_gets_an_answer_that_the_interface_describes(described, operation):
    @BOUNDED
    @given(case=described[operation].as_strategy())
    def answered(case):
        if "wait_s" in (case.query or {}):
            case.query["wait_s"] = 0
        case.call_and_validate(headers={"authorization": "Bearer right"}, checks=CHECKS)

    answered()


def test_no_page_is_left_out_but_the_stream_which_does_not_end_by_itself(described):
    untried = {"GET /v1/events/stream"}
    tried = test_every_request_gets_an_answer_that_the_interface_describes.pytestmark[0].args[1]
    assert set(described) == set(tried) | untried


@pytest.fixture(scope="module")
def api(app):
    return client_of(app)


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)
FIELDS = st.sampled_from(
    ["name", "application", "arguments", "components", "request", "clusters", "run_time_limit_s", "interconnect"]
)


def is_one_clear_refusal(answer) -> bool:
    said = answer.json()
    return 400 <= answer.status_code < 500 and said["error"].isprintable() and said["error"].strip() != ""


@settings(BOUNDED, max_examples=3 * settings.default.max_examples)
@given(field=FIELDS, value=ANYTHING)
def test_a_wrong_value_anywhere_in_a_job_is_refused_in_one_sentence_or_was_none(api, field, value):
    job = {"application": "poisson", "components": [4], field: value}
    body = json.dumps({"specification": job}, allow_nan=True)
    answer = api.post("/v1/jobs", content=body, headers={"content-type": "application/json"})
    if answer.status_code != 201:
        assert is_one_clear_refusal(answer), answer.text


@settings(BOUNDED, max_examples=2 * settings.default.max_examples)
@given(body=st.binary(max_size=200))
def test_bytes_that_mean_nothing_are_refused_in_one_sentence(api, body):
    for path in ("/v1/jobs", "/v1/runs"):
        answer = api.post(path, content=body, headers={"content-type": "application/json"})
        assert is_one_clear_refusal(answer), answer.text
