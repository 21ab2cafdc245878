"""A broker as its users meet it: served over HTTP, spoken to by the client, a notebook and the command line."""

import json
import socket
import threading
import time
from types import SimpleNamespace

import httpx
import pytest

from emulator.cli.options import DEFAULT_NAME
from emulator.client import BrokerClient
from emulator.model.errors import AlreadyEnded, InvalidInput, KeyTaken, TestbedNotUp, Unanswered, UnknownName
from emulator.model.job import JobSpecification, JobState
from emulator.model.records import JobRow
from emulator.model.views import RunRequest, Submission
from emulator.notebook import Testbed
from tests.unit.broker.api_server import TOKEN, Server
from tests.unit.broker.broker_setup import PATIENCE_HOST_S
from tests.unit.cli.conftest import call

__all__ = ["call"]
JOB = {"application": "poisson", "arguments": {"grid": 400}, "components": [4, 4], "name": "pair"}


@pytest.fixture
def server(setup):
    server = Server(setup)
    yield server
    server.stop()


@pytest.fixture
def client(server):
    with BrokerClient(server.url, TOKEN) as client:
        yield client


def submission(key: str | None = None, **more) -> Submission:
    return Submission(specification=JobSpecification(**{**JOB, **more}), key=key)


def test_a_submission_is_sent_again_while_the_broker_is_away_and_is_one_job(setup, server):
    with BrokerClient(server.url, TOKEN) as client:
        first = client.submit_surely(submission("night-1"))
        server.stop()
        back: list[Server] = []
        threading.Timer(0.4, lambda: back.append(Server(setup, server.port))).start()
        assert client.submit_surely(submission("night-1")).id == first.id
        assert [job.id for job in client.jobs()] == [first.id]
    setup.until(lambda: bool(back))
    back[0].stop()


def test_a_broker_that_stays_away_is_said_so():
    with BrokerClient("http://127.0.0.1:9", TOKEN) as client:
        with pytest.raises(Unanswered, match="does not answer"):
            client.submit_surely(submission("night-1"), host_patience_s=0.2)
        with pytest.raises(ValueError, match="key"):
            client.submit_surely(submission())


def test_what_a_notebook_adds_to_a_job_is_part_of_it_however_the_job_is_given(server, tmp_path):
    testbed = Testbed(server.url, TOKEN)
    file = tmp_path / "job.json"
    file.write_text(json.dumps(JOB))
    for job in (JOB, file, str(file), JobSpecification(**JOB)):
        number = testbed.submit(job, components=[2, 2])
        assert testbed.client.job(number).specification == JobSpecification(**{**JOB, "components": [2, 2]})
        with pytest.raises(InvalidInput, match="components"):
            testbed.submit(job, components=["many"])


def test_refusals_come_back_as_what_they_are(client, setup):
    job = client.submit(submission("night-1"))
    with pytest.raises(KeyTaken, match="night-1"):
        client.submit_surely(submission("night-1", components=[2]))
    client.cancel(job.id)
    setup.until_state(job.id, JobState.CANCELLED)
    with pytest.raises(AlreadyEnded):
        client.cancel(job.id)
    with pytest.raises(UnknownName, match="no run 9"):
        client.events(9)


def test_jobs_come_whole_however_many_pages_they_are(client, setup, monkeypatch):
    monkeypatch.setattr("emulator.client._JOBS_IN_A_PAGE", 3)
    numbers = [setup.submit(8) for _ in range(7)]
    assert [job.id for job in client.jobs()] == numbers
    assert [job.id for job in client.jobs(run=0)] == numbers


def test_a_stream_of_events_is_read_as_they_come_and_resumed(server, setup):
    run = setup.broker.begin_run(RunRequest(name="r")).id
    setup.broker.start_run(run)
    threading.Timer(0.2, setup.broker.end_run, (run,)).start()
    headers = {"authorization": f"Bearer {TOKEN}"}
    asked = {"headers": headers, "timeout": PATIENCE_HOST_S}
    with httpx.stream("GET", f"{server.url}/v1/events/stream", params={"run": run}, **asked) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in answer.iter_lines() if line]
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert [event["kind"] for event in events] == ["run-started", "run-ending", "run-ended"]
    headers["last-event-id"] = str(events[0]["sequence"])
    rest = httpx.get(f"{server.url}/v1/events/stream", params={"run": run}, **asked).text
    assert [line for line in rest.splitlines() if line.startswith("id")] == [
        f"id: {event['sequence']}" for event in events[1:]
    ]


def test_a_notebook_sees_tables_with_the_columns_of_jobs_csv(server, setup):
    testbed = Testbed(server.url, TOKEN)
    done = testbed.submit(JOB, key="night-1")
    assert testbed.submit(JOB, key="night-1") == done
    setup.until(lambda: setup.east.programs or setup.west.programs)
    setup.started(done, setup.east if setup.east.programs else setup.west)
    (setup.east.programs or setup.west.programs)[-1].finish()
    setup.until_state(done, JobState.FINISHED)
    jobs = testbed.jobs()
    assert jobs.loc[0, ["job", "state", "name", "processors", "clusters"]].to_list() == [done, "finished", "pair", 8, 2]
    assert jobs.wait_time_s[0] == pytest.approx(jobs.started_s[0] - jobs.submitted_s[0])
    assert jobs.runtime_s[0] == 1.0
    assert set(jobs.columns) - {"run"} <= set(JobRow.columns())
    assert testbed.jobs(run=0).equals(jobs)


def test_a_notebook_sees_the_queue_the_clusters_and_the_events(server, setup):
    testbed = Testbed(server.url, TOKEN)
    assert testbed.queue().empty
    assert "placement_tries" in testbed.queue().columns
    first = testbed.submit(application="poisson", components=[8, 8])
    setup.until_state(first, JobState.STARTING)
    waiting = testbed.submit(JobSpecification(**JOB))
    assert testbed.queue().job.to_list() == [waiting]
    setup.until(lambda: testbed.clusters()[["name", "idle"]].to_numpy().tolist() == [["east", 0], ["west", 0]])
    events = testbed.events()
    assert events[events.kind == "submitted"].job.to_list() == [first, waiting]
    assert testbed.events(after=int(events.sequence.iloc[-1])).empty
    testbed.cancel(waiting)
    setup.until_state(waiting, JobState.CANCELLED)
    assert testbed.output(waiting).output == ""
    with pytest.raises(InvalidInput, match="components"):
        testbed.submit(application="poisson", components=[0])


def test_a_notebook_means_the_testbed_that_the_command_means(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("TESTBED_NAME", raising=False)
    with pytest.raises(TestbedNotUp, match=f"'{DEFAULT_NAME}'"):
        Testbed.running()
    monkeypatch.setenv("TESTBED_NAME", "second")
    with pytest.raises(TestbedNotUp, match="'second'"):
        Testbed.running()


@pytest.fixture
def typed(call, server, setup, monkeypatch):
    """Runs the command line as if the setup were the running testbed; returns what it printed as JSON, or as it is."""
    state = SimpleNamespace(api_url=server.url, token=TOKEN, topology=setup.topology)
    monkeypatch.setattr("emulator.containers.state.testbed_state", lambda name: state)
    return call


def test_the_verbs_about_jobs(typed, setup, tmp_path):
    (tmp_path / "job.json").write_text(json.dumps({**JOB, "components": [8, 8]}))
    (tmp_path / "job.yaml").write_text("application: poisson\ncomponents: [8]\n")
    (first,) = json.loads(typed("submit", "job.json", "--key", "night-1", "--json")[1])
    (again,) = json.loads(typed("submit", "job.json", "--key", "night-1", "--json")[1])
    assert again["id"] == first["id"]
    setup.until_state(first["id"], JobState.STARTING)
    (second,) = json.loads(typed("submit", "job.yaml", "--json")[1])
    (entry,) = json.loads(typed("queue", "--json")[1])
    assert (entry["job"], entry["position"]) == (second["id"], 1)
    assert "poisson" in typed("queue")[1]
    setup.until(
        lambda: (
            [(cluster["name"], cluster["idle"]) for cluster in json.loads(typed("clusters", "--json")[1])]
            == [("east", 0), ("west", 0)]
        )
    )
    (cancelled,) = json.loads(typed("cancel", str(second["id"]), "--json")[1])
    assert cancelled["state"] == "cancelled"
    assert typed("queue")[1] == "No job waits.\n"
    code, _, said = typed("cancel", str(second["id"]))
    assert (code, "has ended (cancelled)" in said) == (1, True)


def test_the_output_of_a_job(typed, setup, tmp_path):
    job = setup.submit(8)
    setup.started(job, setup.east)
    setup.east.programs[-1].said.put("iteration 1")
    setup.east.programs[-1].finish()
    setup.until_state(job, JobState.FINISHED)
    assert typed("output", str(job)) == (0, "iteration 1\n", "")
    assert json.loads(typed("output", str(job), "--json")[1]) == {"output": "iteration 1\n", "error": ""}
    assert typed("output", "99")[0] == 1


def test_a_key_that_is_no_name_is_refused_before_anything_is_sent(typed, setup, tmp_path):
    (tmp_path / "job.yaml").write_text("application: poisson\ncomponents: [8]\n")
    code, _, said = typed("submit", "job.yaml", "--key", "a b")
    assert (code, "key" in said) == (1, True)
    assert setup.broker.jobs(None) == []


def test_the_schema_of_a_job_file_is_printed(call):
    code, printed, _ = call("submit", "--schema")
    assert code == 0
    assert set(json.loads(printed)["properties"]) == set(JobSpecification.model_fields)


def test_a_missing_job_file_is_said_so(call):
    code, _, said = call("submit")
    assert (code, "job file is missing" in said) == (1, True)


def test_sixty_clients_wait_for_events_at_once_and_jobs_still_come_in(setup, server, client):
    answers: list[httpx.Response] = []

    def wait() -> None:
        headers, asked = {"authorization": f"Bearer {TOKEN}"}, {"run": 0, "wait_s": 60}
        page = f"{server.url}/v1/events"
        answers.append(httpx.get(page, params=asked, headers=headers, timeout=2 * PATIENCE_HOST_S))

    waiters = [threading.Thread(target=wait) for _ in range(60)]
    for waiter in waiters:
        waiter.start()
    setup.until(lambda: len(setup.journal._listeners) == len(waiters))
    assert answers == []
    assert client.submit(submission()).id == 1
    until = time.monotonic() + 50  # sooner than by their own patience
    for waiter in waiters:
        waiter.join(timeout=max(0.0, until - time.monotonic()))
    assert not any(waiter.is_alive() for waiter in waiters)
    assert [answer.status_code for answer in answers] == [200] * len(waiters)
    assert {answer.json()[0]["job"]["id"] for answer in answers} == {1}


LOOK = b"GET /v1/health HTTP/1.1\r\nHost: broker\r\n"


@pytest.mark.parametrize("begun", [b"", LOOK, LOOK + b"\r\n" + LOOK])
def test_headers_that_do_not_come_in_time_end_the_connection(server, monkeypatch, begun):
    monkeypatch.setattr(
        "emulator.broker.http.connections.HEADER_TIMEOUT_HOST_S", 1.0
    )  # within which it sends what it sends
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(begun)
        answered = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert answered.count(b"200 OK") == begun.count(b"\r\n\r\n")


def test_headers_that_come_in_pieces_are_answered(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        for piece in (LOOK[:9], LOOK[9:], b"Connection: close\r\n\r\n"):
            connection.sendall(piece)
        assert b"200 OK" in b"".join(iter(lambda: connection.recv(65_536), b""))


@pytest.mark.parametrize("version", [b"3.0", b"2.0", b"0.9", b"1.2"])
def test_other_versions_of_http_are_refused(server, version):
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(LOOK.replace(b"1.1", version) + b"Connection: close\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert b"200 OK" not in answer
    assert answer.split()[1] in (b"400", b"505")
