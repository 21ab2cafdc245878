"""What goes wrong between a client and the broker comes back as one sentence of the right kind."""

from __future__ import annotations

import contextlib
import socket
import threading

import httpx
import pytest
from pydantic import ValidationError, create_model

from emulator.client import BrokerClient
from emulator.model.documents import DocumentModel
from emulator.model.errors import InvalidInput, TestbedBusy, TestbedNotUp, Unanswered, Unauthorized, UnknownName
from emulator.model.faults import first_fault
from emulator.model.files import FileRegistration
from emulator.model.job import JobSpecification
from emulator.model.page_views import NotesRequest, RunNote, VerdictNote
from emulator.model.views import RunRequest, Submission
from emulator.runs.holding import Testbed
from tests.unit.broker_double import TOKEN


def test_nobody_answers():
    refused = pytest.raises(TestbedNotUp, match=r"does not answer.*testbed up")
    with BrokerClient("http://127.0.0.1:9", "token") as client, refused:
        client.clusters()


def test_a_wrong_token_is_refused_but_health_needs_none(broker):
    assert httpx.get(f"{broker.url}/v1/health", timeout=60).json()["status"] == "ok"
    with (
        BrokerClient(broker.url, "another") as client,
        pytest.raises(Unauthorized, match="not the broker"),
    ):
        client.take_run(RunRequest(name="run"))


def test_errors_keep_the_brokers_kind_and_sentence(testbed: Testbed):
    testbed.client.take_run(RunRequest(name="run"))
    with pytest.raises(TestbedBusy, match=r"^Run 1 holds the testbed\.$"):
        testbed.client.take_run(RunRequest(name="run"))
    with pytest.raises(UnknownName):
        testbed.client.job(7)


def test_following_ends_with_the_run(testbed: Testbed):
    run = testbed.client.take_run(RunRequest(name="run"))
    testbed.client.start_run(run.id)
    testbed.client.end_run(run.id)
    assert [event.kind.value for event in testbed.client.follow(run.id)] == ["run-started", "run-ended"]


def test_following_a_run_beyond_its_end_ends(testbed: Testbed, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("emulator.client.HOST_LONG_POLL_S", 0.1)
    run = testbed.client.take_run(RunRequest(name="run"))
    testbed.client.start_run(run.id)
    testbed.client.end_run(run.id)
    last = [event.sequence for event in testbed.client.follow(run.id)][-1]
    assert list(testbed.client.follow(run.id, after=last)) == []


@pytest.mark.parametrize("name", ["../jobs/3", "input?old", "input#2", "", "a b", "x\n"])
def test_what_is_no_file_s_name_is_sent_nowhere(name):
    with BrokerClient("http://127.0.0.1:9", "token") as client:
        for ask in (client.remove_file, client.file):
            with pytest.raises(UnknownName, match="There is no file"):
                ask(name)


class Impostor:
    """A program on the broker's port that answers every request with `answer`, and keeps what it was sent."""

    def __init__(self, answer: bytes) -> None:
        self.sent = b""
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection, contextlib.suppress(ConnectionError):
            while part := connection.recv(65_536):
                self.sent += part
                if not self._answer:
                    return
                connection.sendall(self._answer)

    def close(self) -> None:
        self._listener.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n" + b"0" * 64,
        b"SSH-2.0-OpenSSH_9.2\r\n" * 200,
    ],
)
def test_who_cannot_prove_to_have_the_token_is_not_sent_it(answer):
    impostor = Impostor(answer)
    with BrokerClient(impostor.url, "secret-token") as client, pytest.raises(Unauthorized, match="not the broker"):
        client.clusters()
    impostor.close()
    assert b"/v1/proof" in impostor.sent
    assert b"secret-token" not in impostor.sent


def test_who_hangs_up_does_not_answer():
    impostor = Impostor(b"")
    with BrokerClient(impostor.url, "secret-token") as client, pytest.raises(Unanswered, match="does not answer"):
        client.clusters()
    impostor.close()
    assert b"secret-token" not in impostor.sent


def test_each_connection_is_asked_for_a_proof_and_each_request_is_not(broker):
    with BrokerClient(broker.url, TOKEN) as client:
        for _ in range(3):
            client.current_run()
    assert broker.proofs == 1


def test_an_older_broker_takes_a_request_that_states_nothing_new(testbed: Testbed, broker):
    older = create_model(
        "RunRequest",
        __base__=DocumentModel,
        **{
            name: (known.annotation, known)
            for name, known in RunRequest.model_fields.items()
            if name != "host_clocks_ahead_s"
        },
    )
    bodies, answer = [], broker.answer

    def strict(method, path, query, body):
        if path == "/v1/runs":
            bodies.append(body)
            try:
                older.model_validate(body)
            except ValidationError as error:
                return 422, {"error": first_fault(error), "kind": "InvalidInput"}
        return answer(method, path, query, body)

    broker.answer = strict
    run = testbed.client.take_run(RunRequest(name="run", dilation=2.0))
    assert bodies == [{"name": "run", "dilation": 2.0}]
    assert run.request == RunRequest(name="run", dilation=2.0)
    testbed.client.end_run(run.id)
    said = r"unknown key 'host_clocks_ahead_s' .*: the broker is of another version, .*`testbed up --fresh` renews it"
    with pytest.raises(InvalidInput, match=said):
        testbed.client.take_run(RunRequest(name="run", host_clocks_ahead_s={"delft": 0.5}))


def test_a_request_without_its_defaults_means_the_same():
    specifications = (
        JobSpecification(application="poisson", components=(8, 8), arguments={"grid": 400}),
        JobSpecification(command=("sleep", "1"), kind="plain", components=(1,)),
        JobSpecification(command=("own",), components=(2, 2), request="fixed", clusters=("a", "b")),
    )
    requests = [
        *(Submission(specification=each) for each in specifications),
        RunRequest(name="run", rules={"total_limit": 64}, claiming={"place_again": True, "most_postponements": 2}),
        FileRegistration(name="f", size_bytes=1, sites=("a",)),
        NotesRequest(notes=(RunNote(verdict=VerdictNote(job=1, verdict="valid")), RunNote(link={"asked_s": 0.0}))),
    ]
    for request in requests:
        assert type(request).model_validate_json(request.model_dump_json(exclude_defaults=True)) == request
