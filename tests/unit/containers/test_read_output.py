"""What a command in a container prints is read again when the engine lost it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from emulator.containers.engine import READ_ATTEMPTS, read_output


@pytest.mark.parametrize(
    ("answers", "read"),
    [
        ([(0, b"1/15/0/16\n")], (0, "1/15/0/16\n")),
        ([(0, b""), (0, b"1/15/0/16\n")], (0, "1/15/0/16\n")),
        ([(0, None), (1, b"no socket\n")], (1, "no socket\n")),
        ([(0, b"")] * READ_ATTEMPTS, (0, "")),
    ],
)
def test_a_command_runs_again_until_it_has_printed_something(answers, read):
    left = list(answers)
    container = SimpleNamespace(exec_run=lambda command: left.pop(0))
    assert read_output(container, ["sinfo"]) == read
    assert left == []
