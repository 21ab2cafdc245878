"""Whom the parent of a job's ranks serves."""

import os
import socket

from apps.start.parent import Parent


def test_nobody_but_its_own_user_hands_a_rank_to_the_parent(tmp_path, monkeypatch):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "meeting"))
    listener.listen()
    life, kept = os.pipe()
    parent = Parent(listener, life, expected=1)
    client = socket.socket(socket.AF_UNIX)
    client.connect(str(tmp_path / "meeting"))
    user = os.getuid()
    monkeypatch.setattr("apps.start.parent.os.getuid", lambda: user + 1)
    parent._begin_rank()
    assert client.recv(1) == b""
    assert (tmp_path / "meeting").exists(), "the rank that is expected must still find it"
    for number in (life, kept):
        os.close(number)
    client.close()
    listener.close()
