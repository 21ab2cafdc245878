"""The recorder of a run: rows from the broker's events and from what others tell it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from emulator.model.catalogue import topology_named
from emulator.model.clock import REAL_TIME
from emulator.model.job import JobSpecification, JobState
from emulator.model.records import JobRow, TransferRow, UtilizationRow
from emulator.model.views import ComponentView, EventKind, EventView, JobView
from emulator.runs.recording import Recorder


class Rows:
    """A run's directory that keeps its rows in memory."""

    def __init__(self) -> None:
        self.rows: list[Any] = []

    path = Path("run")

    def append(self, row: Any) -> None:
        self.rows.append(row)

    def append_event(self, event: EventView) -> None:
        pass


def test_the_use_of_a_cluster_never_goes_back_in_time_so_that_nothing_is_counted_twice():
    directory = Rows()
    recorder = Recorder(directory, topology_named("mini"), REAL_TIME)  # type: ignore[arg-type]
    for processors, time_s in ((1, 0.0), (2, 10.5), (3, 10.2), (4, 12.0)):
        recorder.note_background("delft", processors, time_s)
    rows = [row for row in directory.rows if isinstance(row, UtilizationRow) and row.cluster == "delft"]
    assert [(row.background_processors, row.time_s) for row in rows] == [(1, 0.0), (2, 10.5), (3, 10.5), (4, 12.0)]


@pytest.mark.parametrize(("placed_s", "given_up_s"), [(None, 40.0), (12.0, None)])
def test_a_job_that_was_never_placed_has_the_time_at_which_it_left_the_queue(placed_s, given_up_s):
    directory = Rows()
    recorder = Recorder(directory, topology_named("mini"), REAL_TIME)  # type: ignore[arg-type]
    parts = () if placed_s is None else (ComponentView(cluster="delft", processors=4),)
    job = JobView(
        id=1, run=1, specification=JobSpecification(application="poisson", components=(4,), run_time_limit_s=50),
        state=JobState.FAILED, reason="Given up: not placed in 3 placement tries.", submitted_s=10.0,
        placed_s=placed_s, components=parts,
    )  # fmt: skip
    recorder.record(EventView(sequence=1, run=1, kind=EventKind.FAILED, time_s=40.0, host_moment_s=0.0, job=job))
    rows = [row for row in directory.rows if isinstance(row, JobRow)]
    assert [(row.given_up_s, row.estimate_s) for row in rows] == [(given_up_s, 50.0)]


def test_a_file_that_arrives_is_a_row():
    directory = Rows()
    recorder = Recorder(directory, topology_named("mini"), REAL_TIME)  # type: ignore[arg-type]
    job = JobView(
        id=3, run=1, specification=JobSpecification(application="poisson", components=(4,), file="input"),
        state=JobState.CLAIMING, submitted_s=10.0,
    )  # fmt: skip
    arrived: dict[str, Any] = {
        "file": "input", "source": "delft", "target": "leiden", "size_bytes": 1_000_000, "began_s": 12.0,
        "arrived_s": 14.0, "rate_mbit": 4.0,
    }  # fmt: skip
    recorder.record(
        EventView(
            sequence=1, run=1, kind=EventKind.FILE_ARRIVED, time_s=14.5, host_moment_s=0.0, job=job, detail=arrived
        )
    )
    assert [row for row in directory.rows if isinstance(row, TransferRow)] == [TransferRow(job=3, **arrived)]
