"""A rank's messages: which of them are paced to an interconnect, and the doorbells that show who shares its memory."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from apps.doorbells import open_doorbells, shares_memory
from apps.interconnect import Interconnect
from apps.messaging import eager_bytes, paced_ranks
from apps.setting import JobSetting
from apps.start.mpi import LARGEST_AT_ONCE
from emulator.model.clock import Dilation
from emulator.model.errors import TestbedError

MYRINET = Interconnect("myrinet", 20e-6, 1000.0, 5e-6)


class Rank:
    """Communicator of one of four ranks; `token` is what rank 0 broadcasts: ranks of one machine find its file."""

    size = 4

    def __init__(self, rank: int, token: bytes) -> None:
        self.rank, self._token = rank, token

    def Ibcast(self, value: bytearray, root: int) -> Any:  # noqa: N802 - as in mpi4py
        value[:] = self._token
        return self

    def Ibarrier(self) -> Any:  # noqa: N802
        return self

    def Test(self) -> bool:  # noqa: N802
        return True


@pytest.fixture
def shared_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr("apps.doorbells._FOLDER", tmp_path)
    return tmp_path


def setting(*components: int, interconnect: Interconnect | None = MYRINET) -> JobSetting:
    return JobSetting(Dilation(1.0), len(components), components, None, interconnect=interconnect)


def marked(*ranks: int) -> bytes:
    """Return doorbells of a job of four, marked by the ranks of one machine."""
    lines = [bytearray(64) for _ in range(4)]
    for rank in ranks:
        lines[rank][12] = 1
    return b"".join(lines)


def test_doorbells_are_marked_by_the_ranks_that_open_them_and_leave_no_file(shared_memory: Path) -> None:
    doorbells = open_doorbells(Rank(2, bytes(8)))
    assert [shares_memory(doorbells, rank) for rank in range(4)] == [False, False, True, False]
    assert list(shared_memory.iterdir()) == []


def test_a_rank_that_finds_no_room_for_doorbells_ends_the_job_at_once(
    shared_memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is no `TestbedError` is reported by the rank itself: the ranks of other clusters know nothing of it."""

    def refuse(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("apps.doorbells.os.posix_fallocate", refuse)
    with pytest.raises(OSError, match=r"cannot share memory in .*: No space left on device\.") as refused:
        open_doorbells(Rank(2, bytes(8)))
    assert not isinstance(refused.value, TestbedError)
    assert list(shared_memory.iterdir()) == []


def test_the_interconnect_paces_messages_inside_a_cluster() -> None:
    everybody = marked(0, 1, 2, 3)
    assert list(paced_ranks(setting(2, 2), 0, everybody)) == [1, 1, 0, 0]
    assert list(paced_ranks(setting(2, 2), 3, everybody)) == [0, 0, 1, 1]
    assert list(paced_ranks(setting(2, 2, interconnect=None), 0, everybody)) == [0, 0, 0, 0]


def test_messages_between_machines_are_not_paced_because_stamps_are_of_one_machines_clock() -> None:
    assert list(paced_ranks(setting(4), 0, marked(0, 1))) == [1, 1, 0, 0]
    assert list(paced_ranks(setting(4), 3, marked(2, 3))) == [0, 0, 1, 1]


@pytest.mark.parametrize(("environment", "limit_bytes"), [({}, 4096), (LARGEST_AT_ONCE, 40960)])
def test_open_mpis_header_counts_towards_what_it_sends_at_once(environment: dict[str, str], limit_bytes: int) -> None:
    """Of Open MPI 4.1 the header has at most 64 bytes; rows of 32 KB and a stamp still go at once with ranks' limit."""
    assert eager_bytes(environment) <= limit_bytes - 64
    if environment:
        assert eager_bytes(environment) >= 32 * 1024 + 8
