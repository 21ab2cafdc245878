"""The process that a lock's file names: told from a later one of the same number."""

from __future__ import annotations

import os
import subprocess
import sys

from emulator.model.process_lock import end_process, process_number, process_text


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
