"""Fixtures of the command line's tests."""

from __future__ import annotations

import signal
import sys

import pytest

from emulator.cli.main import main


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    """Make simulating verbs use the interpreted simulator, without compilation."""
    monkeypatch.setenv("TESTBED_COMPILE", "no")


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Return a function that runs a command where no testbed runs; it returns exit code, output and error output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("TESTBED_NAME", raising=False)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["testbed", *arguments])
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        written = capsys.readouterr()
        return code, written.out, written.err

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)
