"""The events file: any line may stand in it, and no event that stands in it is missed."""

from __future__ import annotations

import os
import queue
import subprocess
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.clusters import slurm_events
from emulator.clusters.protocol import AllocationEvent, AllocationEventKind
from emulator.clusters.slurm_events import EventReader, watch_command

WHOLE = "claimed 12.5 t.0-1.1-das 7"
EVENT = AllocationEvent(AllocationEventKind.CLAIMED, "0-1.1-das", "7", 12.5)
WITHIN_HOST_S = 60.0
LOOK_EVERY_HOST_S = 0.05


@pytest.mark.parametrize(
    "line",
    [
        "claimed a t.0-1.1-das 7",
        "claimed nan t.0-1.1-das 7",
        "claimed inf t.0-1.1-das 7",
        "claimed 1e300 t.0-1.1-das 7",
        "claimed -1 t.0-1.1-das 7",
        "claimed 99999999999 t.0-1.1-das 7",
        "claimed 12.5 t.0-1.1-das",
        "claimed 12.5 t.0-1",
        "claimed 12.5 t.0-1.1-das --user=alice",
        "claimed 12.5 t.0-1.1-das 7 8",
        "granted 12.5 t.0-1.1-das 7",
        "\x00\x00\x00",
        "\ufffd" * 7,
        "x" * 4_194_304,
    ],
)
def test_what_is_no_event_is_skipped_counted_and_logged_and_the_next_one_is_read(line, caplog):
    reader = EventReader("das", "t.")
    assert (reader.read(line), reader.malformed) == (None, 1)
    assert "cluster das: no event, skipped" in caplog.text
    assert len(caplog.text) < 500
    assert reader.read(WHOLE) == EVENT


def test_the_event_after_a_torn_one_on_the_same_line_counts():
    for torn in range(len("claimed 11.5 t.0-1.1-das ")):
        reader = EventReader("das", "t.")
        assert reader.read("claimed 11.5 t.0-1.1-das 6"[:torn] + WHOLE) == EVENT
        assert reader.malformed == (torn > 0)


def test_the_events_of_another_testbed_are_neither_ours_nor_malformed():
    reader = EventReader("das", "t.")
    assert reader.read("claimed 12.5 t-two.0-1.1-das 7") is None
    assert reader.malformed == 0


def test_a_line_that_is_read_again_is_no_event_again(monkeypatch):
    monkeypatch.setattr(slurm_events, "LINES_REMEMBERED", 2)
    reader = EventReader("das", "t.")
    assert [reader.read(WHOLE), reader.read(WHOLE)] == [EVENT, None]
    for number in range(3):
        reader.read(f"ended {number} t.0-1.1-das 7")
    assert reader.read(WHOLE) == EVENT, "only so many lines are remembered"


def test_many_malformed_lines_do_not_fill_the_log(caplog):
    reader = EventReader("das", "t.")
    for number in range(1_000):
        reader.read(f"nonsense {number}")
    assert reader.malformed == 1_000
    assert len(caplog.records) == slurm_events.LOGGED_LINES


@given(st.text(max_size=200))
def test_no_line_is_more_than_skipped(line):
    reader = EventReader("das", "t.")
    event = reader.read(line)
    assert event is None or event.allocation.isdigit()


class Followed:
    """The command that follows an events file, run here on a home of its own."""

    def __init__(self, home: Path, largest_bytes: int) -> None:
        self.file = home / ".testbed" / "events"
        self.lines: queue.Queue[str] = queue.Queue()
        self._process = subprocess.Popen(
            ["bash", "-c", watch_command(largest_bytes, LOOK_EVERY_HOST_S)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(home)},
            text=True,
        )
        threading.Thread(target=self._read, daemon=True).start()
        self.until(self.file.exists)

    def _read(self) -> None:
        for line in self._process.stdout:
            self.lines.put(line.rstrip("\n"))

    def write(self, line: str, *, mode: str = "a") -> None:
        with self.file.open(mode) as file:
            file.write(f"{line}\n")

    def is_begun_anew(self) -> bool:
        """Whether the file is empty; while it is moved aside there is none."""
        try:
            return self.file.stat().st_size == 0
        except FileNotFoundError:
            return False

    def until(self, condition) -> None:
        deadline = time.monotonic() + WITHIN_HOST_S
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def expect(self, line: str) -> None:
        while self.lines.get(timeout=WITHIN_HOST_S) != line:
            pass

    def close(self) -> int:
        self._process.stdin.close()
        return self._process.wait(timeout=WITHIN_HOST_S)


def test_a_watch_without_events_shows_that_it_lives(tmp_path):
    followed = Followed(tmp_path, 1_000)
    followed.expect("")
    followed.expect("")
    assert followed.close() == 0


def test_the_sign_of_life_is_no_event_and_not_malformed():
    reader = EventReader("das", "t.")
    assert (reader.read(""), reader.malformed) == (None, 0)
    assert slurm_events.SILENT_HOST_S >= 3 * slurm_events.LOOK_EVERY_HOST_S


def test_nothing_is_left_of_a_watch_whose_shell_was_killed(tmp_path):
    (tmp_path / ".testbed").mkdir()
    watch = subprocess.Popen(
        ["bash", "-c", watch_command(1_000, LOOK_EVERY_HOST_S)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(tmp_path)}, start_new_session=True,
    )  # fmt: skip

    def processes() -> str:
        found = subprocess.run(["pgrep", "-s", str(watch.pid)], capture_output=True, text=True, check=False)
        return found.stdout

    deadline = time.monotonic() + WITHIN_HOST_S
    while len(processes().split()) < 2:
        assert time.monotonic() < deadline
    watch.kill()
    watch.communicate()
    while processes():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_file_that_is_moved_aside_again_and_again_replaced_or_cut_short_is_followed_on(tmp_path):
    followed = Followed(tmp_path, largest_bytes=40)
    for number in range(20):
        followed.write(f"before {number}")
        followed.expect(f"before {number}")
        followed.write("x" * 50)
        followed.until(followed.is_begun_anew)
        followed.write(f"after {number}")
        followed.expect(f"after {number}")
        followed.until(lambda: "x" * 50 in followed.file.with_name("events.older").read_text())
    followed.write("short", mode="w")
    followed.expect("short")
    followed.close()


def test_what_was_written_before_is_read_with_what_was_moved_aside_first(tmp_path):
    (tmp_path / ".testbed").mkdir()
    (tmp_path / ".testbed" / "events.older").write_text("one\n")
    (tmp_path / ".testbed" / "events").write_text("two\n")
    followed = Followed(tmp_path, largest_bytes=1_000)
    assert [followed.lines.get(timeout=WITHIN_HOST_S) for _ in range(2)] == ["one", "two"]
    followed.close()
