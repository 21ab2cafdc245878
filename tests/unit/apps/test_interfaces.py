"""The network interfaces of nodes: ranks on one node share one, and no others do."""

import errno
import os
from pathlib import Path

import pytest

from apps.interfaces import own_interface, shared_interface


def test_ranks_on_one_node_see_the_same_timestamp_and_those_on_others_do_not(tmp_path: Path) -> None:
    first, second, elsewhere = (shared_interface(node, tmp_path) for node in ("n1", "n1", "n2"))
    first[0] = 7
    assert (second[0], elsewhere[0], own_interface()[0]) == (7, 0, 0)
    second[0] = 9
    assert first[0] == 9


def test_an_interface_stays_as_it_was_left(tmp_path: Path) -> None:
    shared_interface("n1", tmp_path)[0] = 5
    assert shared_interface("n1", tmp_path)[0] == 5
    assert own_interface()[0] == 0


def test_an_interface_that_finds_no_room_is_reported_and_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("apps.interfaces.os.posix_fallocate", refuse)
    with pytest.raises(OSError, match=r"interface of node 'n1' cannot be kept in .*: No space left on device\."):
        shared_interface("n1", tmp_path)
