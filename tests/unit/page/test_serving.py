"""The server of the page of a recorded run, over real HTTP."""

import socket
import threading

import httpx
import pytest

from emulator.model.errors import InvalidInput
from emulator.page.serving import RecordServer
from tests.unit.page.recorded_runs import write_run


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = RecordServer(write_run(tmp_path_factory.mktemp("served") / "run"))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def page(server):
    with httpx.Client(base_url=f"http://127.0.0.1:{server.server_port}", trust_env=False, timeout=60) as client:
        yield client


def entered(server, page) -> dict[str, str]:
    opened = page.post("/v1/page/sessions", json={"code": server.link.partition("#")[2]})
    assert opened.status_code == 201
    assert opened.json()["shows"] == "run"
    return {"authorization": f"Bearer {opened.json()['session']}"}


def test_it_listens_at_loopback_only(server):
    assert server.server_address[0] == "127.0.0.1"


def test_the_page_loads_nothing_from_elsewhere_and_runs_no_inline_script(page):
    first = page.get("/")
    assert first.status_code == 200
    assert first.headers["content-type"] == "text/html; charset=utf-8"
    policy = first.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert first.headers["x-content-type-options"] == "nosniff"
    assert page.get("/page/main.js").headers["content-type"] == "text/javascript; charset=utf-8"


@pytest.mark.parametrize(
    "path", ["/page/", "/page/../record.py", "/page/%2e%2e/record.py", "/etc/passwd", "/page/no.js"]
)
def test_there_is_nothing_else(page, path):
    assert page.get(path).status_code == 404


def test_the_record_needs_a_session(server, page):
    assert page.get("/v1/page/record").status_code == 401
    assert page.get("/v1/page/record", headers={"authorization": "Bearer wrong"}).status_code == 401
    shown = page.get("/v1/page/record", headers=entered(server, page))
    assert [job["id"] for job in shown.json()["jobs"]] == [1, 2, 3]


def test_a_code_works_once(server, page):
    code = server.link.partition("#")[2]
    assert page.post("/v1/page/sessions", json={"code": code}).status_code == 201
    again = page.post("/v1/page/sessions", json={"code": code})
    assert again.status_code == 401
    assert "`testbed page` prints a new one" in again.json()["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"code": 3}', b'{"other": "x"}', b"[" * 4000, b"x" * 5000])
def test_a_wrong_body_is_refused_in_one_sentence(page, body):
    refused = page.post("/v1/page/sessions", content=body)
    assert refused.status_code == 422
    assert refused.json()["error"].endswith(".")


@pytest.mark.parametrize("length", [b"\xb2", b"0000000005000000", b"-1", b"1e3"])
def test_a_length_that_is_no_length_is_refused(server, length):
    with socket.create_connection(("127.0.0.1", server.server_port), 60) as connection:
        connection.sendall(b"POST /v1/page/sessions HTTP/1.0\r\nContent-Length: " + length + b"\r\n\r\n")
        assert b" 422 " in connection.makefile("rb").readline()


def test_a_browser_that_hangs_up_leaves_no_trace_in_the_terminal(server, capsys):
    for error in (BrokenPipeError(), ConnectionResetError(), TypeError("a defect")):
        try:
            raise error
        except (OSError, TypeError):
            server.handle_error(None, ("127.0.0.1", 1))
    said = capsys.readouterr().err
    assert "a defect" in said
    assert "BrokenPipeError" not in said
    assert "ConnectionResetError" not in said


def test_a_number_that_is_not_finite_is_one_sentence(tmp_path):
    run = write_run(tmp_path / "run")
    (run / "jobs.csv").write_text((run / "jobs.csv").read_text().replace('"{""grid"": 400}"', '"{""grid"": NaN}"'))
    with pytest.raises(InvalidInput, match="run: one of its files holds a number that is not finite"):
        RecordServer(run)


def test_no_other_method_does_anything(page):
    assert page.post("/v1/page/record", json={}).status_code == 404
    assert page.put("/", content=b"x").status_code == 501


def test_a_taken_port_is_named(server, tmp_path):
    with pytest.raises(InvalidInput, match=rf"--port: {server.server_port} on 127.0.0.1 cannot be used"):
        RecordServer(server.path, server.server_port)
