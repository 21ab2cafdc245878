"""The prepared process forks for nobody but its own user; `tests/live/test_start.py` has jobs started by it."""

import errno
import os
import socket
from pathlib import Path
from unittest.mock import Mock

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


def test_a_job_whose_parent_cannot_be_forked_finds_nobody_who_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more_processes() -> int:
        raise OSError(errno.EAGAIN, "no more processes")

    closed: list[bool] = []
    request = Mock(close_streams=lambda: closed.append(True))
    monkeypatch.setattr("apps.start.prepared.handover.receive", lambda connection: request)
    monkeypatch.setattr("apps.start.prepared.os.fork", no_more_processes)
    with listen(tmp_path / "prepared") as listener, socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "prepared"))
        connection, _ = listener.accept()
        with connection, pytest.raises(OSError, match="no more processes"):
            prepared._answer(connection, listener)
    assert closed == [True]


def test_nobody_else_may_connect(tmp_path: Path) -> None:
    with listen(tmp_path / "prepared"):
        assert (tmp_path / "prepared").stat().st_mode & 0o777 == 0o600
