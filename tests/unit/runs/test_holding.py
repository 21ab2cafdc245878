"""Who holds the testbed: others notice that the process of a run was killed, and no run is taken for such a one."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest

from emulator.cli import campaign_sweep
from emulator.client import BrokerClient
from emulator.model.process_lock import ProcessLock, is_left, is_locked
from emulator.model.project import PROJECT_ROOT
from emulator.model.views import RunRequest
from emulator.runs import container_testbed
from emulator.runs.holding import held

REQUEST = RunRequest(name="mine", dilation=2)
LOCKING = """
import sys, time
from pathlib import Path
from emulator.model.process_lock import ProcessLock
lock = ProcessLock(Path(sys.argv[1]), "7")
print("locked", flush=True)
time.sleep(60)
"""


def test_a_lock_ends_with_its_process_however_that_ends(tmp_path):
    file = tmp_path / "run.lock"
    process = subprocess.Popen(
        [sys.executable, "-c", LOCKING, str(file)], stdout=subprocess.PIPE, text=True, cwd=PROJECT_ROOT
    )
    assert process.stdout.readline() == "locked\n"
    assert is_locked(file)
    assert not is_left(file, "7")
    process.kill()
    process.communicate()
    assert not is_locked(file)
    assert is_left(file, "7")
    assert not is_left(file, "8")


def test_a_lock_that_is_released_leaves_nothing(tmp_path):
    lock = ProcessLock(tmp_path / "run.lock", "7")
    lock.release()
    lock.release()
    assert list(tmp_path.iterdir()) == []
    assert not is_left(tmp_path / "run.lock", "7")


def test_who_does_not_wait_for_a_lock_leaves_what_its_holder_wrote(tmp_path):
    file = tmp_path / "run.lock"
    holder = ProcessLock(file, "7")
    with pytest.raises(BlockingIOError):
        ProcessLock(file, "8", waits=False)
    assert file.read_text() == "7"
    holder.release()
    ProcessLock(file, "8", waits=False).release()
    assert not file.exists()


def test_who_waits_for_a_lock_gets_one_that_others_see(tmp_path):
    """The holder removes the file when it releases the lock, so the one that waited makes it anew."""
    file = tmp_path / "run.lock"
    holder, got = ProcessLock(file, "7"), []
    waiting = threading.Thread(target=lambda: got.append(ProcessLock(file, "8")), daemon=True)
    waiting.start()
    threading.Event().wait(0.1)  # it now waits, or comes later, which is as well
    assert file.read_text() == "7"
    holder.release()
    waiting.join(60)
    assert file.read_text() == "8"
    assert is_locked(file)
    got[0].release()


@pytest.fixture
def shown(testbed, monkeypatch, tmp_path):
    """Return the testbed with a file of its holder, to which the verbs' own lead."""
    with_file = replace(testbed, holder_file=tmp_path / "run.lock")

    @contextmanager
    def named(name: str):
        yield with_file

    monkeypatch.setattr(container_testbed, "testbed_named", named)
    monkeypatch.setattr(BrokerClient, "jobs", lambda self, run: [])
    return with_file


def test_the_status_of_a_testbed_ends_if_the_process_of_its_run_is_gone(shown, capsys):
    with held(shown, REQUEST) as run:
        assert campaign_sweep._on_testbed("t", None)[1] is False
    assert not shown.holder_file.exists()
    left = shown.client.take_run(REQUEST)
    assert campaign_sweep._on_testbed("t", None)[1] is False  # nobody knows who took it
    shown.holder_file.write_text(str(run.id))
    assert campaign_sweep._on_testbed("t", None)[1] is False  # an earlier run's
    assert capsys.readouterr().err == ""
    shown.holder_file.write_text(str(left.id))
    campaign_sweep.status(None, follow=True, name="t", as_json=True)
    said = capsys.readouterr().err
    assert said.startswith(f"The process of run {left.id} (mine) is gone, and its run still holds the testbed")
    assert len(said.splitlines()) == 1
