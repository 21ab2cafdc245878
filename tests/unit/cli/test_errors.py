"""Errors that no verb expects: those of files are sentences, the testbed's own faults stay tracebacks."""

from __future__ import annotations

import errno
import os

import pytest

from emulator.cli import main


def test_an_error_of_a_file_or_a_disk_is_a_sentence(tmp_path):
    with pytest.raises(OSError, match="too long") as failed:
        (tmp_path / ("n" * 300)).touch()
    assert main._in_words(failed.value) == f"{tmp_path}/{'n' * 300}: cannot be read or written (File name too long)."
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert main._in_words(full) == "a file: cannot be read or written (No space left on device)."


@pytest.mark.parametrize("error", [ValueError("a fault"), OSError("a fault"), ConnectionRefusedError()])
def test_any_other_error_is_a_fault_of_the_testbed(error):
    assert main._in_words(error) is None
