"""The page in a real browser: its own decisions, a recorded run, text that stays text, and links that are used up."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from emulator.model.page_assets import Asset
from emulator.page.serving import RecordServer
from tests.browser.chromium import loaded, texts
from tests.unit.page.recorded_runs import HOSTILE, write_run

CHECKS = Path(__file__).parent


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = RecordServer(write_run(tmp_path_factory.mktemp("served") / "run"))
    checks = {
        "/checks": Asset((CHECKS / "checks.html").read_bytes(), "text/html; charset=utf-8"),
        "/page/checks.js": Asset((CHECKS / "checks.js").read_bytes(), "text/javascript; charset=utf-8"),
    }
    server.assets = {**server.assets, **checks}
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def at(server: RecordServer, place: str) -> str:
    """A link to a place, with a new code."""
    return server.link.replace("/#", f"{place}#")


def test_the_page_decides_as_it_should(server, tmp_path):
    page = loaded(f"http://127.0.0.1:{server.server_port}/checks", tmp_path)
    lines = [line.partition("</li>")[0] for line in page.split("<li>")[1:]]
    assert len(lines) == (CHECKS / "checks.js").read_text().count('"() {')
    assert [line for line in lines if not line.startswith("ok | ")] == []


@pytest.fixture(scope="module")
def ended(server, tmp_path_factory):
    return loaded(server.link, tmp_path_factory.mktemp("profile"))


def test_a_recorded_run_is_shown_at_its_end(ended):
    assert "evening - Multicluster Testbed" in ended
    assert "3 of 3" in texts(ended, "facts")
    assert "suspect" in texts(ended, "verdict")
    assert "policy cm · queue placement" in texts(ended, "what")
    assert "12.0% of compute phases late" in texts(ended, "reasons")
    assert "No job waits." in texts(ended, "queue")
    assert "5.02 ms" in texts(ended, "links")


def test_text_of_a_job_stays_text(ended):
    assert HOSTILE in texts(ended, "jobs")
    assert "owned" not in ended.partition("</title>")[0]
    assert ended.count("<script") == 1


def test_a_moment_within_the_run_is_shown(server, tmp_path):
    page = loaded(at(server, "/?t=0.5"), tmp_path)
    assert "0:00:30 of 0:01:01" in texts(page, "clock")
    assert "1 run, 1 are placed, 0 ended" in texts(page, "jobs-count")
    assert "It asks for 99 processors" in texts(page, "why")
    assert "not judged" in texts(page, "lights")


def test_the_code_does_not_stay_in_the_page(server, tmp_path):
    link = server.link
    assert link.partition("#")[2] not in loaded(link, tmp_path)


def test_a_used_link_says_so(server, tmp_path):
    link = server.link
    loaded(link, tmp_path / "first")
    page = loaded(link, tmp_path / "second")
    assert "used already" in texts(page, "notice")
    assert "`testbed page` prints a new one" in texts(page, "notice")
