"""The recorder of a run: rows from the broker's events and from what others tell it."""

from __future__ import annotations

from typing import Any

from emulator.model.catalogue import topology_named
from emulator.model.clock import REAL_TIME
from emulator.model.records import UtilizationRow
from emulator.runs.recording import Recorder


class Rows:
    """A run's directory that keeps its rows in memory."""

    def __init__(self) -> None:
        self.rows: list[Any] = []

    def append(self, row: Any) -> None:
        self.rows.append(row)


def test_the_use_of_a_cluster_never_goes_back_in_time_so_that_nothing_is_counted_twice():
    directory = Rows()
    recorder = Recorder(directory, topology_named("mini"), REAL_TIME)  # type: ignore[arg-type]
    for processors, time_s in ((1, 0.0), (2, 10.5), (3, 10.2), (4, 12.0)):
        recorder.note_background("delft", processors, time_s)
    rows = [row for row in directory.rows if isinstance(row, UtilizationRow) and row.cluster == "delft"]
    assert [(row.background_processors, row.time_s) for row in rows] == [(1, 0.0), (2, 10.5), (3, 10.5), (4, 12.0)]
