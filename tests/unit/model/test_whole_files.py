"""Files that are written whole or not at all: the testbed's own, and those that a user wants somewhere."""

from __future__ import annotations

import os

import pytest

from emulator.model.errors import InvalidInput
from emulator.model.whole_files import write_whole, written_whole


def test_a_text_that_cannot_be_written_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "status.json"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "new \ud800")
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {"status.json": "old"}
    write_whole(path, "new")
    assert path.read_text() == "new"


def test_what_need_not_be_durable_does_not_wait_for_the_disk(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "fsync")
    write_whole(tmp_path / "status.json", "now", durable=False)
    assert (tmp_path / "status.json").read_text() == "now"


def test_a_file_is_not_there_until_it_is_whole_and_is_removed_if_it_never_is(tmp_path):
    path = tmp_path / ("n" * 250)
    with written_whole(path) as text:
        text.write("whole")
        assert not path.exists()
    assert path.read_text() == "whole"
    with pytest.raises(KeyboardInterrupt), written_whole(path):
        raise KeyboardInterrupt
    assert [file.read_text() for file in tmp_path.iterdir()] == ["whole"]


def test_a_link_stays_and_its_target_is_written(tmp_path):
    (tmp_path / "link").symlink_to("target")
    with written_whole(tmp_path / "link") as text:
        text.write("whole")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "whole"


def test_a_pipe_is_written_as_it_is(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDWR | os.O_NONBLOCK)
    with written_whole(tmp_path / "pipe") as text:
        text.write("whole")
    assert os.read(reader, 100) == b"whole"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (".", "is a directory; name a file in it"),
        ("file/below", "cannot be written"),
        ("gone/file", "cannot be written"),
        ("n" * 300, "cannot be written"),
    ],
)
def test_what_cannot_be_written_is_said_in_a_sentence(tmp_path, name, said):
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match=said), written_whole(tmp_path / name) as text:
        text.write("whole")
