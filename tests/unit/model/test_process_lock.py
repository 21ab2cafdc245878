"""The process that a lock's file names: told from a later one of the same number."""

from __future__ import annotations

import os
import subprocess
import sys

from emulator.model.process_lock import ProcessLock, end_process, process_number, process_text
from emulator.model.project import PROJECT_ROOT

HOLDING = """
import os, sys, time
from pathlib import Path
from emulator.model.process_lock import ProcessLock
lock = ProcessLock(Path(sys.argv[1]), str(os.getpid()))
print("holds", flush=True)
time.sleep(600)
"""


def test_a_process_is_known_by_its_number_its_boot_and_its_start(tmp_path):
    file = tmp_path / "lock"
    assert process_number(file) == ""
    file.write_text(process_text(os.getpid()))
    assert process_number(file) == str(os.getpid())
    number, mark = file.read_text().split()
    boot, start = mark.split(":")
    assert int(number) == os.getpid()
    assert boot
    assert start.isdigit()


def test_only_the_process_that_is_named_is_ended(tmp_path):
    file = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        whole = process_text(process.pid)
        started_before = process_text(os.getpid()).replace(str(os.getpid()), str(process.pid), 1)
        for text in ("", "nonsense", str(process.pid), f"{whole}0", started_before):
            file.write_text(text)
            assert not end_process(file)
        assert process.poll() is None
        file.write_text(whole)
        assert end_process(file)
        process.wait(60)
    assert not end_process(file)
    assert not end_process(tmp_path / "nowhere")


def test_a_bare_number_as_programs_of_before_wrote_it_is_ended_only_where_its_lock_is_held(tmp_path):
    file = tmp_path / "lock"
    command = [sys.executable, "-c", HOLDING, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT_ROOT) as process:
        assert process.stdout.readline() == "holds\n"
        assert file.read_text() == str(process.pid)
        (tmp_path / "unlocked").write_text(str(process.pid))
        assert not end_process(tmp_path / "unlocked")
        assert process.poll() is None
        assert end_process(file)
        process.wait(60)
    assert not end_process(file)


def test_a_number_that_is_no_process_s_ends_nothing(tmp_path):
    lock = ProcessLock(tmp_path / "lock", "0")
    assert not end_process(tmp_path / "lock")
    lock.release()
