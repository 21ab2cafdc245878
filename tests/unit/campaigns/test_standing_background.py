"""A background load that no campaign owns: what it holds, what it says of itself, and who may end it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from emulator.campaigns import standing_background as standing
from emulator.cli.main import app
from emulator.containers import local_users
from emulator.containers.state import state_folder
from emulator.model.background import Background
from emulator.model.documents import validate
from emulator.model.errors import RunFailed, TestbedBusy, TestbedNotUp
from tests.unit.scripted_users import ScriptedUsers

BACKGROUND = validate({"band": [0.25, 0.5]}, Background, source="background")
NAME = "double"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    state_folder(NAME).mkdir(parents=True)
    return state_folder(NAME)


@pytest.fixture
def users(testbed) -> ScriptedUsers:
    return ScriptedUsers({cluster.name: cluster.processors for cluster in testbed.topology.clusters})


def test_it_is_held_until_it_is_stopped_and_says_meanwhile_how_it_is(testbed, users, folder):
    stopped, file = threading.Event(), folder / standing.STATUS_FILE
    held = threading.Thread(
        target=standing.hold, args=(replace(testbed, local_users=users), BACKGROUND, 1, stopped, file)
    )
    held.start()
    while not (file.is_file() and standing.StandingStatus.model_validate_json(file.read_text()).load >= 0.25):
        assert held.is_alive()
        time.sleep(0.01)
    found = standing.StandingStatus.model_validate_json(file.read_text())
    assert found.load <= 0.5
    assert {row.cluster for row in found.clusters} == set(users.processors)
    stopped.set()
    held.join()
    assert not users.is_open
    assert users.running == {cluster: {} for cluster in users.processors}


def test_a_status_that_cannot_be_written_does_not_end_the_load(testbed, users, folder, monkeypatch):
    stopped, file, refused = threading.Event(), folder / standing.STATUS_FILE, []
    write_whole = standing.write_whole

    def full_at_first(*given, **options):
        if not refused:
            refused.append(given)
            raise OSError(errno.ENOSPC, "No space left on device")
        write_whole(*given, **options)

    monkeypatch.setattr(standing, "write_whole", full_at_first)
    held = threading.Thread(
        target=standing.hold, args=(replace(testbed, local_users=users), BACKGROUND, 1, stopped, file)
    )
    held.start()
    while not (file.is_file() and standing.StandingStatus.model_validate_json(file.read_text()).load >= 0.25):
        assert held.is_alive()
        time.sleep(0.01)
    assert refused
    stopped.set()
    held.join()


def test_only_one_background_load_at_a_time_and_its_holder_is_known():
    assert local_users.holder(NAME) is None
    lock = local_users._locked(NAME)
    assert lock is not None
    assert local_users._locked(NAME) is None
    assert local_users.holder(NAME) == os.getpid()
    with pytest.raises(TestbedBusy, match="runs on the testbed 'double' already"):
        standing.start(NAME, BACKGROUND, 0)
    lock.release()
    assert local_users.holder(NAME) is None


def test_a_campaigns_load_is_not_stopped_as_a_standing_one(folder):
    with pytest.raises(TestbedNotUp, match="nothing to stop"):
        standing.stop(NAME)
    lock = local_users._locked(NAME)
    with pytest.raises(TestbedBusy, match="is a campaign's and ends with it"):
        standing.stop(NAME)
    lock.release()


def test_a_process_that_does_not_end_is_named_with_what_ends_it(folder, monkeypatch):
    lock = local_users._locked(NAME)
    own = standing.StandingStatus(pid=os.getpid(), background=BACKGROUND, seconds=9, share_in_band=None, clusters=())
    (folder / standing.STATUS_FILE).write_text(own.model_dump_json())
    monkeypatch.setattr(standing, "STOP_WITHIN_HOST_S", 0)
    monkeypatch.setattr(os, "kill", lambda pid, signal: None)
    with pytest.raises(RunFailed, match=rf"{os.getpid()} does not end .end it with `kill -9 {os.getpid()}`"):
        standing.stop(NAME)
    lock.release()


def test_where_no_lock_can_be_told_another_process_is_not_ended(folder, monkeypatch):
    monkeypatch.setattr(local_users, "is_locked", lambda path: True)
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    local_users.lock_file(NAME).write_text(f"{other.pid} 0123-abcd:42")
    left = standing.StandingStatus(pid=other.pid, background=BACKGROUND, seconds=9, share_in_band=None, clusters=())
    (folder / standing.STATUS_FILE).write_text(left.model_dump_json())
    with pytest.raises(TestbedNotUp, match=rf"process {other.pid} has ended, or may be another one"):
        standing.stop(NAME)
    assert other.poll() is None
    other.communicate(b"\n")


def test_the_status_of_a_process_that_died_counts_as_none(folder):
    dead = standing.StandingStatus(pid=1, background=BACKGROUND, seconds=9, share_in_band=None, clusters=())
    (folder / standing.STATUS_FILE).write_text(dead.model_dump_json())
    assert standing.status(NAME) is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--band", "40-30"], "band: its upper end must be above its lower end 0.4, not 0.3."),
        (["--band", "some"], "--band: must be two percentages such as 30-40, not 'some'."),
        (["--band", "30-40", "--local-jobs", "log.txt"], "must be none, a stream"),
        (["--band", "30-40"], "No testbed called 'double' is running"),
    ],
)
def test_a_load_that_cannot_be_held_is_refused_in_a_sentence(arguments, said):
    result = CliRunner().invoke(app, ["background", "start", "--name", NAME, *arguments])
    assert result.exit_code != 0
    assert said in f"{result.output} {result.exception}"
