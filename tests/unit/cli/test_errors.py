"""Errors that no verb expects: those of files are sentences, the testbed's own faults stay tracebacks."""

from __future__ import annotations

import errno
import os

import pytest

from emulator.cli import main
from emulator.model.errors import PolicyFailed


def test_an_error_of_a_file_or_a_disk_is_a_sentence(tmp_path):
    with pytest.raises(OSError, match="too long") as failed:
        (tmp_path / ("n" * 300)).touch()
    assert main._in_words(failed.value) == f"{tmp_path}/{'n' * 300}: cannot be read or written (File name too long)."
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert main._in_words(full) == "a file: cannot be read or written (No space left on device)."


@pytest.mark.parametrize("error", [ValueError("a fault"), OSError("a fault"), ConnectionRefusedError()])
def test_any_other_error_is_a_fault_of_the_testbed(error):
    assert main._in_words(error) is None


FAILING = """
from emulator.model.request import RequestKind


class Failing:
    accepts = frozenset({RequestKind.NON_FIXED})

    def place(self, request, state):
        return state.nothing
"""


def test_an_error_is_a_traceback_down_to_a_policy_of_ones_own_where_that_is_asked_for(call, monkeypatch, tmp_path):
    (tmp_path / "mine.py").write_text(FAILING)
    arguments = ("simulate", "W1", "--policy", "mine.py:Failing", "--jobs", "3")
    assert call(*arguments)[0] == 1
    monkeypatch.setenv("TESTBED_TRACEBACK", "1")
    with pytest.raises(PolicyFailed) as failed:
        call(*arguments)
    assert isinstance(failed.value.__cause__, AttributeError)
