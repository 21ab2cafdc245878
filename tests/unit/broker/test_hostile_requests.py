"""Hostile requests by name: each gets a 4xx with one sentence that names the field, and nothing becomes of it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.broker.http.limits import LARGEST_BODY_BYTES

JOB = {"application": "poisson", "components": [4]}


@pytest.fixture(autouse=True)
def nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check that no command in a request was run: each would make a file in the folder where the broker works."""
    monkeypatch.chdir(tmp_path)
    yield
    assert list(tmp_path.glob("pwned*")) == []


def refused(api, body: str | bytes, path: str = "/v1/jobs") -> tuple[int, str]:
    """Status and sentence; a job must not have come of it."""
    answer = api.post(path, content=body, headers={"content-type": "application/json"})
    assert 400 <= answer.status_code < 500, answer.text
    assert api.setup.broker.jobs(None) == []
    sentence = answer.json()["error"]
    assert sentence.isprintable()
    assert sentence.endswith(".")
    return answer.status_code, sentence


HOSTILE = [
    ({"name": "../../etc/passwd"}, "specification.name"),
    ({"name": "job\nbroker: all is well"}, "specification.name"),
    ({"name": ""}, "specification.name"),
    ({"application": "poisson; touch pwned"}, "specification.application"),
    ({"application": "../synthetic"}, "specification.application"),
    ({"arguments": {"grid": "$(touch pwned)"}}, "specification.arguments.grid"),
    ({"arguments": {"grid": "`touch pwned`"}}, "specification.arguments.grid"),
    ({"arguments": {"grid": "400 --save /etc/passwd"}}, "specification.arguments.grid"),
    ({"arguments": {"save": "out"}}, "arguments.save"),
    ({"arguments": {"grid\n": 1}}, "specification.arguments"),
    ({"arguments": {"grid": [400]}}, "specification.arguments.grid"),
    ({"arguments": {f"a{number}": 1 for number in range(33)}}, "specification.arguments"),
    ({"components": [1_000_000_000]}, "specification.components.0"),
    ({"components": [10**30]}, "specification.components.0"),
    ({"components": [0]}, "specification.components.0"),
    ({"components": [-4]}, "specification.components.0"),
    ({"components": [4.5]}, "specification.components.0"),
    ({"components": [4.0]}, "specification.components.0"),
    ({"components": [True]}, "specification.components.0"),
    ({"components": ["8"]}, "specification.components.0"),
    ({"most_components": True, "request": "flexible"}, "specification.most_components"),
    ({"components": []}, "specification.components"),
    ({"components": [1] * 65}, "specification.components"),
    ({"components": "4"}, "specification.components"),
    ({"request": "fixed", "clusters": ["../east"]}, "specification.clusters.0"),
    ({"request": "fixed"}, "clusters"),
    ({"clusters": ["east"]}, "clusters"),
    ({"request": "fixed", "clusters": ["north"]}, "'north'"),
    ({"run_time_limit_s": -1}, "specification.run_time_limit_s"),
    ({"run_time_limit_s": "for ever"}, "specification.run_time_limit_s"),
    ({"processor_speed": 0}, "specification.processor_speed"),
    ({"processor_speed": 1e-320}, "specification.processor_speed"),
    ({"processor_speed": True}, "specification.processor_speed"),
    ({"run_time_limit_s": "10"}, "specification.run_time_limit_s"),
    ({"interconnect": "carrier pigeons"}, "specification.interconnect"),
    ({"__class__": "os.system"}, "specification.__class__"),
]


@pytest.mark.parametrize(("fields", "named"), HOSTILE)
def test_a_hostile_job_is_refused_by_the_name_of_its_field(api, fields, named):
    status, sentence = refused(api, json.dumps({"specification": {**JOB, **fields}}))
    assert status in (404, 422)
    assert named in sentence


@pytest.mark.parametrize("name", ["application", "components", "arguments", "name", "request", "clusters"])
@pytest.mark.parametrize("value", [True, None, 7, 1.5, "\u2028", {"a": {}}, [[]]])
def test_a_wrong_type_is_refused_by_the_name_of_its_field(api, name, value):
    _, sentence = refused(api, json.dumps({"specification": {**JOB, name: value}}))
    assert name in sentence


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"specification": {"application": "poisson", "components": [4], "processor_speed": NaN}}', "processor_speed"),
        (
            '{"specification": {"application": "poisson", "components": [4], "processor_speed": 1e999}}',
            "processor_speed",
        ),
        ('{"specification": {"application": "poisson", "components": [4], "arguments": {"grid": -Infinity}}}', "grid"),
        ('{"specification": {"application": "poisson", "components": [' + "9" * 100_000 + "]}}", "components.0"),
        ('{"run": 1, "run": 2}', "run: this key is given twice"),
        ("{" + "".join(f'"{number}":1,' for number in range(80_000)) + '"0":1}', "0: this key is given twice"),
        ('{"specification": ' + "[" * 50_000 + "]" * 50_000 + "}", "nested deeper"),
        ('{"specification": ' + '{"a":' * 30 + "1" + "}" * 31, "nested deeper"),
        ('{"a\\nb": NaN}', "a\\nb"),
        ('{"\\ud800": 1}', "not '\\ud800'"),
        ('{"specification": {"name": "a\\ud800"}}', "specification.name: must be text of whole characters"),
        (b'{"specification": "\xff"}', "UTF-8"),
        ("{", "not JSON"),
        ("[]", "body"),
        ('"specification"', "body"),
        ("null", "body"),
    ],
)
def test_what_is_not_plain_json_of_the_right_shape_says_where(api, body, said):
    status, sentence = refused(api, body)
    assert status == 422
    assert said in sentence


@pytest.mark.parametrize("key", ["", "a b", "../a", "a\n", "k" * 129, 7])
def test_a_key_is_a_name(api, key):
    assert "key" in refused(api, json.dumps({"specification": JOB, "key": key}))[1]


def test_a_body_without_a_stated_length_is_read_to_the_limit_and_no_further(api):
    read = []

    def chunks():
        for number in range(100):
            read.append(number)
            yield b" " * 100_000

    assert refused(api, chunks())[0] == 413


def test_a_body_within_the_limit_may_come_in_chunks(api):
    text = json.dumps({"specification": JOB}).encode()
    chunks = (text[at : at + 7] for at in range(0, len(text), 7))
    assert api.post("/v1/jobs", content=chunks, headers={"content-type": "application/json"}).status_code == 201


def test_a_stated_length_beyond_the_limit_is_enough_to_refuse(api):
    headers = {"content-type": "application/json", "content-length": "9" * 30}
    answer = api.post("/v1/jobs", content=b"{}", headers=headers)
    assert answer.status_code == 413
    assert str(LARGEST_BODY_BYTES) in answer.json()["error"]


@pytest.mark.parametrize(
    ("path", "headers", "status", "named"),
    [
        ("/v1/jobs?after=" + "1" * 5_000, {}, 414, "query"),
        ("/v1/" + "a" * 2_000, {}, 414, "path"),
        ("/v1/jobs", {"x-much": "a" * 20_000}, 431, "headers"),
        ("/v1/jobs", {f"x-{number}": "" for number in range(1_000)}, 431, "headers"),
        ("/v1/jobs?after=-1", {}, 422, "after"),
        ("/v1/jobs?limit=0", {}, 422, "limit"),
        ("/v1/jobs?limit=1001", {}, 422, "limit"),
        ("/v1/jobs?run=9223372036854775808", {}, 422, "run"),
        ("/v1/jobs/18446744073709551616", {}, 422, "number"),
        ("/v1/jobs/1%0aX", {}, 422, "number"),
        ("/v1/jobs/1/../../2", {}, 404, "/v1"),
        ("/v1/events?run=0&wait_s=nan", {}, 422, "wait_s"),
        ("/v1/events?run=0&wait_s=1e9", {}, 422, "wait_s"),
        ("/v1/events?run=7", {}, 404, "run 7"),
        ("/v1/events/stream?run=7", {}, 404, "run 7"),
        ("/v1/events/stream?run=0", {"last-event-id": "x"}, 422, "last-event-id"),
        ("/v1/jobs?run=7", {}, 404, "run 7"),
        ("/v1/nothing%0d%0aSet-Cookie:a", {}, 404, "/v1/nothing"),
    ],
)
def test_addresses_and_headers_have_limits_too(api, path, headers, status, named):
    answer = api.get(path, headers=headers)
    assert answer.status_code == status
    assert named in answer.json()["error"]
    assert answer.json()["error"].isprintable()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("dilation", 1e-320),
        ("dilation", True),
        ("dilation", "8"),
        ("scan_interval_s", 1e-320),
        ("seed", 1.0),
        ("tries_threshold", True),
        ("quota", True),
    ],
)
def test_a_run_with_a_number_that_is_none_or_too_small_is_refused(api, field, value):
    _, sentence = refused(api, json.dumps({"name": "run", field: value}), "/v1/runs")
    assert sentence.startswith(f"{field}: ")
    assert api.setup.broker.current_run() is None


def test_the_token_is_asked_for_before_a_body_is_read(api):
    answer = api.post("/v1/jobs", content=b"{" * 2_000_000, headers={"authorization": "Bearer \xff".encode("latin-1")})
    assert (answer.status_code, answer.json()["kind"]) == (401, "Unauthorized")


def test_a_method_that_a_page_has_not_is_said_so(api):
    answer = api.put("/v1/jobs", json={})
    assert (answer.status_code, answer.json()["kind"]) == (405, "InvalidInput")


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "application/xml", "json"])
def test_a_submission_that_does_not_say_that_it_is_json_is_refused(api, kind):
    body = json.dumps({"specification": JOB})
    answer = api.post("/v1/jobs", content=body, headers={} if kind is None else {"content-type": kind})
    assert (answer.status_code, answer.json()["kind"]) == (422, "InvalidInput")
    assert "JSON" in answer.json()["error"]
    assert api.setup.broker.jobs(None) == []


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "APPLICATION/JSON", "application/vnd.job+json"])
def test_any_way_to_say_json_is_understood(api, kind):
    body = json.dumps({"specification": JOB})
    assert api.post("/v1/jobs", content=body, headers={"content-type": kind}).status_code == 201


def test_a_submission_without_a_body_is_refused(api):
    assert refused(api, "") == (422, "body: this key is missing.")
