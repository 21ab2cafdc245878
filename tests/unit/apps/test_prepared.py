"""The prepared process forks for nobody but its own user; `tests/live/test_start.py` has jobs started by it."""

import os
import socket
from pathlib import Path

import pytest

from apps.start import prepared
from apps.start.prepared import listen


def test_it_forks_nothing_for_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listener = listen(tmp_path / "prepared")
    client = socket.socket(socket.AF_UNIX)
    client.connect(str(tmp_path / "prepared"))
    connection, _ = listener.accept()
    user = os.getuid()
    monkeypatch.setattr("apps.start.prepared.os.getuid", lambda: user + 1)
    monkeypatch.setattr("apps.start.prepared.os.fork", lambda: pytest.fail("it forked"))
    with connection:
        prepared._answer(connection, listener)
    assert client.recv(1) == b""
    client.close()
    listener.close()


def test_nobody_else_may_connect(tmp_path: Path) -> None:
    with listen(tmp_path / "prepared"):
        assert (tmp_path / "prepared").stat().st_mode & 0o777 == 0o600
