"""When a broker counts as ready: it reaches all its clusters, or all but real ones that nobody led it to yet."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import docker.errors
import httpx
import pytest

from emulator.containers import readiness
from emulator.containers.inspection import REMEDY, broker_faults
from emulator.containers.progress import ignore
from emulator.containers.readiness import (
    REFUSED,
    await_broker,
    await_file_again,
    degraded,
    has_unfinished_jobs,
    silent,
    unreached,
)
from emulator.model.errors import ClusterUnreachable, TestbedNotUp

NO_ENGINE: Any = None


@pytest.fixture
def broker() -> Iterator[tuple[str, list[str]]]:
    """Something that answers as a broker's health check does: its address, and the clusters that it does not reach."""
    lost: list[str] = []

    class Health(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(503 if lost else 200)
            self.end_headers()
            said = {"status": "waiting", "unreachable": lost, "silent": lost, "reason": "disk is full" if lost else ""}
            self.wfile.write(json.dumps(said).encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Health)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", lost
    server.shutdown()
    server.server_close()


def test_what_the_broker_does_not_reach_is_read_from_its_health(broker: tuple[str, list[str]]) -> None:
    url, lost = broker
    assert unreached(url) == []
    lost.append("das")
    assert unreached(url) == ["das"]
    assert silent(url) == ["das"]
    nobody = "http://127.0.0.1:9"
    assert (unreached(nobody), silent(nobody), degraded(nobody)) == (None, [], "")


def test_status_names_a_silent_cluster_and_a_full_disk_each_with_what_helps(broker: tuple[str, list[str]]) -> None:
    url, lost = broker
    assert broker_faults(url, "lab-journal") == []
    assert broker_faults(url, "lab-journal", others=True) == [REMEDY]
    lost.append("das")
    silence, remedy, full = broker_faults(url, "lab-journal")
    assert silence.startswith("Cluster 'das' does not say how many processors are idle")
    assert remedy == REMEDY
    assert "(disk is full)" in full
    assert "the volume lab-journal" in full


def test_a_proxy_is_not_asked_for_what_is_on_this_host(
    broker: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert unreached(broker[0]) == []


def test_why_a_broker_cannot_write_its_journal_is_read_from_its_health(broker: tuple[str, list[str]]) -> None:
    url, lost = broker
    assert degraded(url) == ""
    lost.append("das")
    assert degraded(url) == "disk is full"


def test_a_real_cluster_is_waited_for_a_while_and_an_emulated_one_to_the_end(
    broker: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, lost = broker
    monkeypatch.setattr(readiness, "REAL_WITHIN_HOST_S", 0)
    monkeypatch.setattr(readiness, "last_words", lambda *_: "nothing")
    lost.append("das")
    await_broker(NO_ENGINE, "broker", url, real=["das"])
    lost.append("north")
    monkeypatch.setattr(readiness, "CLUSTERS_WITHIN_HOST_S", 0.5)
    with pytest.raises(TestbedNotUp, match="did not become ready"):
        await_broker(NO_ENGINE, "broker", url, real=["das"])


def test_a_cluster_s_own_fault_is_found_before_its_broker_is_given_up(
    broker: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster may be started twice meanwhile; of a broker that does not answer nothing more is expected."""
    assert readiness.CLUSTERS_WITHIN_HOST_S > 2 * readiness.READY_WITHIN_HOST_S
    url, lost = broker
    lost.append("north")
    monkeypatch.setattr(readiness, "READY_WITHIN_HOST_S", 0.2)
    monkeypatch.setattr(readiness, "CLUSTERS_WITHIN_HOST_S", 60.0)
    threading.Timer(1.0, lost.clear).start()
    await_broker(NO_ENGINE, "broker", url)
    monkeypatch.setattr(readiness, "is_running", lambda *_: True)
    monkeypatch.setattr(readiness, "last_words", lambda *_: "nothing")
    with pytest.raises(TestbedNotUp, match="did not become ready"):
        await_broker(NO_ENGINE, "broker", "http://127.0.0.1:9")


class FailingContainer:
    """A container that ends `failures` times before its file appears; a double of the engine's."""

    def __init__(self, failures: int, exit_status: int = 1) -> None:
        self.failures, self.starts = failures, 1
        self.attrs = {"State": {"ExitCode": exit_status}}

    @property
    def status(self) -> str:
        return "exited" if self.starts <= self.failures else "running"

    def exec_run(self, command: list[str]) -> tuple[int, bytes]:
        if self.status == "exited":
            raise docker.errors.APIError("is not running")
        return 0, b""

    def start(self) -> None:
        self.starts += 1

    def logs(self, tail: int) -> bytes:
        return b"no address\n"


class OneContainer:
    """An engine with one container; a double."""

    def __init__(self, container: FailingContainer) -> None:
        self.containers = self
        self.container = container

    def get(self, name: str) -> FailingContainer:
        return self.container


def test_a_container_that_ends_before_it_is_ready_is_started_once_more() -> None:
    said: list[str] = []
    container = FailingContainer(failures=1)
    client: Any = OneContainer(container)
    await_file_again(client, "delft", "/ready", lambda step: said.append(step.detail))
    assert container.starts == 2
    assert said == ["The container delft did not become ready: no address; it is started again"]
    client = OneContainer(FailingContainer(failures=2))
    with pytest.raises(ClusterUnreachable, match="no address"):
        await_file_again(client, "delft", "/ready", ignore)


def test_a_container_whose_daemon_refuses_to_run_is_not_started_again() -> None:
    container = FailingContainer(failures=1, exit_status=REFUSED)
    client: Any = OneContainer(container)
    with pytest.raises(ClusterUnreachable, match="The container delft did not become ready: no address"):
        await_file_again(client, "delft", "/ready", ignore)
    assert container.starts == 1


@pytest.mark.parametrize(
    ("status", "shown", "are_unfinished"),
    [
        (200, 'testbed_processors{cluster="delft"} 16.0\n', False),
        (200, 'testbed_unfinished_jobs{policy="wf",queue="gs"} 0.0\n', False),
        (
            200,
            "# TYPE testbed_unfinished_jobs gauge\n"
            'testbed_unfinished_jobs{policy="wf",queue="gs"} 0.0\n'
            'testbed_unfinished_jobs{policy="by-kind",queue="a b"} 2.0\n',
            True,
        ),
        (503, "", True),
    ],
)
def test_whether_jobs_are_unfinished_is_read_from_the_metrics_and_assumed_where_they_do_not_come(
    monkeypatch: pytest.MonkeyPatch, status: int, shown: str, are_unfinished: bool
) -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(status, text=shown))
    monkeypatch.setattr(readiness, "_http", lambda: httpx.Client(transport=transport))
    assert has_unfinished_jobs("http://127.0.0.1:8460") == are_unfinished
