"""Whom the parent of a job's ranks serves, and to whom `start-rank` hands a rank."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from apps.start.parent import Parent
from emulator.model.project import PROJECT_ROOT

STRANGER = """
#include <unistd.h>
static uid_t stranger(void) { return getuid() + 1; }
#define getuid stranger
"""
"""What makes the user of `start-rank` another one than that of whoever listens."""


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


def start_rank(folder: Path, *options: str) -> Path:
    program = folder / "start-rank"
    source = PROJECT_ROOT / "apps" / "start" / "rank.c"
    subprocess.run(["cc", "-D_GNU_SOURCE=", *options, "-o", program, source], check=True)
    return program


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("is_stranger", [False, True])
def test_start_rank_hands_its_rank_to_nobody_but_its_own_user(tmp_path, is_stranger):
    (tmp_path / "stranger.h").write_text(STRANGER)
    program = start_rank(tmp_path, *(["-include", str(tmp_path / "stranger.h")] if is_stranger else []))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "start-job"))
    listener.listen()
    environment = {
        "PMIX_SERVER_TMPDIR": str(tmp_path),
        "PMIX_NAMESPACE": "job",
        "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
        "OMPI_COMM_WORLD_RANK": "1",
    }
    pipe = subprocess.PIPE
    rank = subprocess.Popen([program, "poisson"], env=environment, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True)
    connection, _ = listener.accept()
    handed_over = connection.recv(1)
    connection.close()
    _, said = rank.communicate(timeout=60)
    assert (handed_over == b"") == is_stranger
    assert ("another user listens at the job's meeting place" in said) == is_stranger
    assert rank.returncode == 1
    listener.close()
