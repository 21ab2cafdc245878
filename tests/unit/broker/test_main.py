"""The broker's process: a record of its log is one line, and a clean stop loses nothing."""

import json
import logging
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from emulator.broker.__main__ import OneLineFormatter, read_token
from emulator.broker.state.journal import Journal
from emulator.model.errors import InvalidInput
from emulator.model.job import JobState
from tests.unit.broker.broker_setup import TOPOLOGY

WITHIN_HOST_S = 120.0


def written(message: str, *, error: Exception | None = None) -> str:
    trace = None
    if error is not None:
        try:
            raise error
        except type(error):
            trace = sys.exc_info()
    record = logging.LogRecord("broker", logging.WARNING, __file__, 1, "%s", (message,), trace)
    return OneLineFormatter("%(levelname)s: %(message)s").format(record)


def test_text_cannot_begin_a_line_of_its_own():
    assert (
        written("job\nWARNING: all is well\r\u2028\x1b[2J") == "WARNING: job\\nWARNING: all is well\\r\\u2028\\x1b[2J"
    )


def test_an_error_s_own_words_cannot_either_and_its_trace_is_kept():
    line = written("it failed", error=ValueError("a\nWARNING: b"))
    assert line.isprintable()
    assert "ValueError: a\\nWARNING: b" in line
    assert "test_main.py" in line


@pytest.mark.parametrize("content", ["", "\n", "  \n"])
def test_a_broker_does_not_start_with_an_empty_token(tmp_path, content):
    file = tmp_path / "token"
    file.write_text(content)
    with pytest.raises(InvalidInput, match="is empty"):
        read_token(file)
    file.write_text("secret\n")
    assert read_token(file) == "secret"


def settings_file(folder: Path, port: int) -> Path:
    """The settings of a broker whose clusters do not answer."""
    (folder / "topology.yaml").write_text(TOPOLOGY)
    (folder / "token").write_text("right")
    heads = [{"cluster": name, "address": "127.0.0.1", "port": 1} for name in ("east", "west")]
    files = {
        "topology_file": folder / "topology.yaml",
        "token_file": folder / "token",
        "key_file": folder / "key",
        "known_hosts_file": folder / "known_hosts",
        "journal_file": folder / "journal",
    }
    settings = {"testbed": "t", "heads": heads, "listen_port": port, **{name: str(at) for name, at in files.items()}}
    (folder / "known_hosts").touch()
    (folder / "settings.json").write_text(json.dumps(settings))
    return folder / "settings.json"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def submitted(broker: subprocess.Popen[str], url: str) -> int:
    """Submit a job as soon as the broker answers; returns its number."""
    job = {"specification": {"application": "poisson", "components": [4]}}
    deadline = time.monotonic() + WITHIN_HOST_S
    while True:
        try:
            return httpx.post(url, json=job, headers={"Authorization": "Bearer right"}, timeout=60).json()["id"]
        except httpx.TransportError:
            assert broker.poll() is None, broker.communicate()[1]
            assert time.monotonic() < deadline, "the broker does not answer"
            time.sleep(0.05)


def test_a_broker_that_is_asked_to_stop_closes_all_and_keeps_its_queue(tmp_path):
    port = free_port()
    broker = subprocess.Popen(
        [sys.executable, "-m", "emulator.broker", str(settings_file(tmp_path, port))], stderr=subprocess.PIPE, text=True
    )
    try:
        job = submitted(broker, f"http://127.0.0.1:{port}/v1/jobs")
        broker.send_signal(signal.SIGTERM)
        _, log = broker.communicate(timeout=WITHIN_HOST_S)
    finally:
        broker.kill()
    assert broker.returncode == 0, log
    assert log.count("what is held was not released") == 2
    journal = Journal(tmp_path / "journal")
    assert journal.last_view(job).state is JobState.QUEUED
    journal.close()
