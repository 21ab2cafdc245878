"""The verb `page`."""

import re
import threading

import httpx
import pytest

from emulator.page.serving import RecordServer
from tests.unit.page.recorded_runs import write_run


@pytest.fixture(autouse=True)
def no_browser(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


def test_a_recorded_run_is_served_behind_a_link(call, tmp_path, monkeypatch):
    seen = {}

    def serve(server, poll_interval) -> None:
        seen["port"] = server.server_port

    monkeypatch.setattr(RecordServer, "serve_forever", serve)
    code, written, _ = call("page", str(write_run(tmp_path / "run")))
    assert code == 0
    assert re.search(rf"http://127.0.0.1:{seen['port']}/#[\w-]{{30,}}  \(works once", written)


def test_the_page_is_served_while_its_browser_opens(call, tmp_path, monkeypatch):
    servers, answers, begun = [], [], threading.Event()
    serve = RecordServer.serve_forever

    def serving(server, poll_interval) -> None:
        servers.append(server)
        begun.set()
        serve(server, poll_interval)

    def opened(link: str) -> bool:
        try:
            answers.append(httpx.get(link, trust_env=False, timeout=5).status_code)
        finally:
            begun.wait(5)
            servers[0].shutdown()
        return True

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("webbrowser.open", opened)
    monkeypatch.setattr(RecordServer, "serve_forever", serving)
    code, _, _ = call("page", str(write_run(tmp_path / "run")))
    assert (code, answers) == (0, [200])


def test_the_port_is_free_afterwards(call, tmp_path, monkeypatch):
    ports = []
    monkeypatch.setattr(RecordServer, "serve_forever", lambda server, poll_interval: ports.append(server.server_port))
    call("page", str(write_run(tmp_path / "run")))
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{ports[0]}/", trust_env=False)


def test_a_folder_without_a_run_is_one_sentence(call, tmp_path):
    code, _, complaint = call("page", str(tmp_path))
    assert (code, complaint.count("\n")) == (1, 1)
    assert "is no run's directory" in complaint


def test_without_a_testbed_and_without_a_run_there_is_nothing_to_show(call):
    code, _, complaint = call("page")
    assert (code, complaint.count("\n")) == (1, 1)
    assert "Traceback" not in complaint


def test_a_port_of_a_running_testbed_s_page_is_refused(call):
    code, _, complaint = call("page", "--port", "8500")
    assert (code, complaint.count("\n")) == (1, 1)
    assert "--port: the page of a running testbed is at its broker's port" in complaint


def test_a_run_s_name_may_be_no_text(call, tmp_path, monkeypatch):
    monkeypatch.setattr(RecordServer, "serve_forever", lambda server, poll_interval: None)
    code, written, _ = call("page", str(write_run(tmp_path / "caf\udce9")))
    assert code == 0
    assert "is shown until you interrupt this command" in written


def test_a_recorded_run_is_of_no_testbed_whose_name_could_be_given(call, tmp_path):
    run = write_run(tmp_path / "run")
    code, _, complaint = call("page", str(run), "--name", "mine")
    assert (code, complaint.count("\n")) == (1, 1)
    assert "--name: a recorded run is shown without a testbed; leave it out." in complaint
