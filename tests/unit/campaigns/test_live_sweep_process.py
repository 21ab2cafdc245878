"""The process of a live sweep: one at a time, in the background too, and no other process is taken for it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from emulator.campaigns.live_sweep import RunState, begin_sweep, statuses, sweep_of
from emulator.campaigns.live_sweep_process import PROCESS_FILE, detach, end, is_running, own_process
from emulator.model.errors import InvalidInput, TestbedBusy
from emulator.model.process_lock import process_number, process_text
from emulator.model.project import PROJECT_ROOT
from workloads.campaign import campaign_named

WITHIN_HOST_S = 60.0
RUNNING = """
import sys, time
from pathlib import Path
from emulator.campaigns.live_sweep_process import own_process
with own_process(Path(sys.argv[1])):
    print("runs", flush=True)
    time.sleep(600)
"""
DETACHED = f"""#!{sys.executable}
import sys, time
from pathlib import Path
path = Path(sys.argv[5])
(path / "words").write_text(" ".join(sys.argv[6:]))
def until(name):
    while not (path / name).exists():
        time.sleep(0.01)
until("may-begin")
from emulator.campaigns.live_sweep_process import own_process
with own_process(path):
    (path / "begun").touch()
    until("may-end")
"""


def until(condition) -> None:
    deadline_host_s = time.monotonic() + WITHIN_HOST_S
    while not condition():
        assert time.monotonic() < deadline_host_s, f"the condition did not hold within {WITHIN_HOST_S:g} s"
        time.sleep(0.01)


@pytest.fixture
def detached(tmp_path, monkeypatch):
    """Have `detach` start a double of the command, which begins and ends when it is told; return the sweep's folder."""
    program, path = tmp_path / "python", tmp_path / "sweep"
    program.write_text(DETACHED)
    program.chmod(0o700)
    path.mkdir()
    monkeypatch.setattr(sys, "executable", str(program))
    yield path
    for name in ("may-begin", "may-end"):
        (path / name).touch()
    until(lambda: not is_running(path))


def test_a_sweep_that_another_process_runs_is_refused_until_that_one_is_gone(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNING, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=PROJECT_ROOT
    )
    assert process.stdout.readline() == "runs\n"
    assert is_running(tmp_path)
    with pytest.raises(TestbedBusy, match=rf"process {process.pid} runs this sweep already \(`testbed campaign status"):
        own_process(tmp_path).__enter__()
    process.kill()
    process.communicate()
    assert process_number(tmp_path / PROCESS_FILE) == str(process.pid)
    assert not is_running(tmp_path)
    with own_process(tmp_path):
        assert is_running(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_that_is_ended_has_ended_when_that_returns(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNING, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=PROJECT_ROOT
    )
    assert process.stdout.readline() == "runs\n"
    assert end(tmp_path) == process.pid
    assert not is_running(tmp_path)
    process.communicate()
    for nothing in (tmp_path, tmp_path / "nowhere", Path(__file__)):
        with pytest.raises(InvalidInput, match="no process runs a sweep there"):
            end(nothing)


def test_another_process_that_got_the_number_is_not_taken_for_the_sweep(tmp_path):
    path = tmp_path / "sweep"
    sweep = begin_sweep(path, sweep_of(campaign_named("first"), ["wf"], [1]))
    other = subprocess.Popen([sys.executable, "-c", "input()", "campaign"], stdin=subprocess.PIPE)
    (path / PROCESS_FILE).write_text(str(other.pid))
    assert not is_running(path)
    with own_process(path):
        assert [each.state for each in statuses(path, sweep)] == [RunState.WAITING]
    other.communicate(b"\n")


@pytest.mark.parametrize("mark", ["", " 0123-abcd:42"])
def test_where_no_lock_can_be_told_another_process_is_not_ended(tmp_path, monkeypatch, mark):
    monkeypatch.setattr("emulator.campaigns.live_sweep_process.is_locked", lambda path: True)
    other = subprocess.Popen([sys.executable, "-c", "input()", "campaign"], stdin=subprocess.PIPE)
    (tmp_path / PROCESS_FILE).write_text(f"{other.pid}{mark}")
    with pytest.raises(InvalidInput, match=rf"process {other.pid} has ended, or may be another one"):
        end(tmp_path)
    assert other.poll() is None
    (tmp_path / PROCESS_FILE).write_text(process_text(other.pid))
    other.communicate(b"\n")
    with pytest.raises(InvalidInput, match=rf"process {other.pid} has ended"):
        end(tmp_path)


def test_a_detached_sweep_runs_from_the_call_on_and_until_its_process_ends(detached):
    number = detach(detached, "t")
    assert is_running(detached)
    assert (detached / PROCESS_FILE).read_text() == process_text(number)
    with pytest.raises(TestbedBusy, match=f"process {number} runs this sweep already"):
        detach(detached, "t")
    (detached / "may-begin").touch()
    until((detached / "begun").exists)
    with pytest.raises(TestbedBusy, match=f"process {number} runs this sweep already"):
        own_process(detached).__enter__()
    (detached / "may-end").touch()
    until(lambda: not is_running(detached))
    assert not (detached / PROCESS_FILE).exists()


def test_a_detached_sweep_is_told_if_it_is_to_run_what_is_void(detached):
    detach(detached, "t", void_again=True)
    until(lambda: (detached / "words").exists() and (detached / "words").read_text())
    assert (detached / "words").read_text() == "--name t --void"


def test_a_detached_sweep_that_ended_early_may_be_begun_again(detached, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", "/bin/false")
        detach(detached, "t")
        until(lambda: not is_running(detached))
    assert detach(detached, "t") > 0
    assert is_running(detached)


def test_what_cannot_be_started_or_written_leaves_no_lock(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError):
        detach(tmp_path, "t")
    assert not is_running(tmp_path)
    with pytest.raises(InvalidInput, match=r"sweep\.pid: cannot be written \(No such file or directory\)"):
        detach(tmp_path / "gone", "t")
