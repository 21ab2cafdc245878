"""A full disk: a run waits for room and then has each row once; a disk that stays full ends it, and is the reason."""

from __future__ import annotations

import errno
import json
import math
from io import FileIO
from pathlib import Path

import pytest

from emulator.measurement.extension import measure
from emulator.model.errors import RunFailed
from emulator.model.full_disk import DiskPatience
from emulator.model.records import RunProgress
from emulator.runs.appended_files import AppendedFiles
from emulator.runs.matrix import Matrix
from emulator.runs.progress import ProgressReport
from emulator.runs.run_directory import read_manifest, read_run

MATRIX = Matrix(
    applications=("poisson",), grids=(400,), processors=(16,), clusters=(1, 2), repeat=1, iterations=100, dilation=0.05
)
NO_ROOM = "No space left on device"


class Disk:
    """A disk that refuses a number of writes, each after it took a part of it."""

    def __init__(self) -> None:
        self.refusals: float = 0


class FileOn(FileIO):
    def __init__(self, disk: Disk, path: Path) -> None:
        super().__init__(path, "xb")
        self._disk = disk

    def write(self, content):
        if not self._disk.refusals:
            return super().write(content)
        if len(content) > 8:
            return super().write(content[: len(content) // 2])
        self._disk.refusals -= 1
        raise OSError(errno.ENOSPC, NO_ROOM)


@pytest.fixture
def disk(monkeypatch) -> Disk:
    disk = Disk()

    def opened(files: AppendedFiles, name: str) -> FileIO:
        file = files._files[name] = FileOn(disk, files._folder / name)
        return file

    monkeypatch.setattr(AppendedFiles, "_open", opened)
    monkeypatch.setattr("emulator.model.full_disk.HOST_BETWEEN_TRIES_S", 0.01)
    return disk


def test_a_run_outlasts_a_full_disk_and_has_each_row_once(testbed, broker, disk, tmp_path):
    disk.refusals = 5
    reports: list[ProgressReport] = []
    measure(testbed, MATRIX, tmp_path / "run", reports.append)
    records = read_run(tmp_path / "run")
    assert disk.refusals == 0
    assert records.manifest.progress is RunProgress.COMPLETE
    assert [len(job.components) for job in records.jobs] == [1, 2]
    assert [link.moment for link in records.links] == ["before", "after"]
    events = (tmp_path / "run" / "decisions.jsonl").read_text().splitlines()
    assert [json.loads(event)["sequence"] for event in events] == [event.sequence for event in broker.journal]
    (told,) = [report.remark for report in reports if NO_ROOM in report.remark]
    assert "the run goes on if there is room within 15 minutes" in told


def test_a_run_whose_disk_stays_full_is_incomplete_and_says_so(testbed, broker, disk, tmp_path, monkeypatch):
    def filling(job):
        disk.refusals = math.inf
        broker.finish(job)

    monkeypatch.setattr("emulator.runs.recorded_run.HOST_FULL_DISK_S", 0.05)
    broker.on_submit = filling
    said = r"run/\S+: cannot be written \(No space left on device\), so the records end there"
    with pytest.raises(RunFailed, match=said):
        measure(testbed, MATRIX, tmp_path / "run", lambda progress: None)
    kept = read_manifest(tmp_path / "run")
    assert kept.progress is RunProgress.INCOMPLETE
    assert NO_ROOM in kept.verdict_reasons[0]
    assert str(tmp_path / "run") in kept.verdict_reasons[0]
    assert not broker.held


def test_what_a_full_disk_took_of_a_row_is_removed(disk, tmp_path):
    files = AppendedFiles(tmp_path, DiskPatience())
    files.append("rows.csv", "1,a whole row\n", "number,what\n")
    disk.refusals = 1
    with pytest.raises(RunFailed, match=r"rows\.csv: cannot be written"):
        files.append("rows.csv", "2,a row for which there is no room\n", "number,what\n")
    files.append("rows.csv", "3,a whole row\n", "number,what\n")
    files.close()
    assert (tmp_path / "rows.csv").read_text() == "number,what\n1,a whole row\n3,a whole row\n"


def refused(error: int) -> None:
    raise OSError(error, "refused")


def test_only_a_full_disk_is_waited_for_and_after_a_wait_in_vain_no_more(monkeypatch, tmp_path):
    pauses: list[float] = []
    monkeypatch.setattr("emulator.model.full_disk.HOST_BETWEEN_TRIES_S", 0.01)
    patience = DiskPatience()
    patience.host_patience_s, patience.on_wait = 0.05, lambda sentence: pauses.append(patience.host_patience_s)
    for error, waits in ((errno.EIO, 0), (errno.EDQUOT, 1), (errno.ENOSPC, 1)):
        with pytest.raises(OSError, match="refused"):
            patience.outlasting(lambda error=error: refused(error), tmp_path)
        assert len(pauses) == waits
