"""A run's directory reads back as written, survives a crash in mid-row, and is never written over another."""

from __future__ import annotations

import errno
import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.cell_rows import ExtensionFactorRow
from emulator.model.errors import InvalidInput
from emulator.model.process_lock import ProcessLock
from emulator.model.records import JobRow, LocalBurstRow, Manifest, RunKind, RunProgress, UtilizationRow
from emulator.model.views import RunRequest
from emulator.runs.recorded_run import begun_manifest
from emulator.runs.run_directory import (
    WRITING,
    RunDirectory,
    check_free,
    next_attempt,
    read_rows,
    read_run,
    replace_rows,
)

numbers = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=20)


@pytest.fixture
def manifest(testbed) -> Manifest:
    return begun_manifest(testbed, RunKind.CAMPAIGN, RunRequest(name="first", dilation=2), {"name": "first"}, 3)


def job_row(**changes: object) -> JobRow:
    return JobRow.model_validate(
        {
            "job": 1, "name": "a", "application": "poisson", "request": "non-fixed", "components": (4, 8),
            "processors": 12, "state": "finished", "submitted_s": 0.1, "verdict": "valid", **changes,
        }
    )  # fmt: skip


@given(submitted_s=numbers, reason=texts, sizes=st.lists(st.integers(1, 99), min_size=1).map(tuple))
def test_a_row_survives_the_way_to_text_and_back(submitted_s, reason, sizes):
    row = job_row(submitted_s=submitted_s, reason=reason, components=sizes, execution_clusters=("a", "b"))
    assert JobRow.from_cells(dict(zip(JobRow.columns(), row.cells(), strict=True))) == row


def test_missing_values_are_empty_cells():
    assert job_row().cells()[JobRow.columns().index("finished_s")] == ""


def test_the_published_columns_of_extension_factors():
    assert ExtensionFactorRow.columns() == [
        "application",
        "grid",
        "processors",
        "components",
        "clusters",
        "interconnect_single",
        "interconnect_coallocated",
        "dilation",
        "runtime_s",
        "iteration_s",
        "extension_factor",
        "ci_low",
        "ci_high",
        "n",
        "verdict",
        "reasons",
    ]


def test_a_directory_reads_back_as_written(tmp_path, manifest):
    rows = [job_row(), job_row(job=2, reason="two\nlines, and a comma")]
    with RunDirectory(tmp_path / "run", manifest) as directory:
        for row in rows:
            directory.append(row)
    records = read_run(tmp_path / "run")
    assert records.manifest == manifest
    assert records.jobs[0] == rows[0]
    assert records.jobs[1].reason == "two lines, and a comma"
    assert records.links == []


def test_rows_that_are_replaced_leave_nothing_of_the_old_ones(tmp_path, manifest):
    row = ExtensionFactorRow(
        application="poisson",
        processors=16,
        components=(8, 8),
        clusters=2,
        dilation=8,
        runtime_s=1,
        n=3,
        verdict="valid",
    )
    with RunDirectory(tmp_path / "run", manifest):
        replace_rows(tmp_path / "run", ExtensionFactorRow, [row, row])
        replace_rows(tmp_path / "run", ExtensionFactorRow, [row])
        assert read_run(tmp_path / "run").extension_factors == [row]
        replace_rows(tmp_path / "run", ExtensionFactorRow, [])
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["manifest.json"]


def test_the_jobs_of_a_resumed_run_are_read_with_those_of_before(tmp_path, manifest):
    for path, number in ((tmp_path / "run", 1), (tmp_path / "run" / "resumed-1", 7)):
        with RunDirectory(path, manifest) as directory:
            directory.append(job_row(job=number))
    assert [job.job for job in read_run(tmp_path / "run").jobs] == [1, 7]
    assert next_attempt(tmp_path / "run") == tmp_path / "run" / "part-2"


def test_rows_are_on_disk_before_the_directory_is_closed(tmp_path, manifest):
    with RunDirectory(tmp_path / "run", manifest) as directory:
        directory.append(job_row())
        assert len(read_rows(tmp_path / "run", JobRow)) == 1


def test_a_torn_last_row_is_left_out(tmp_path, manifest):
    with RunDirectory(tmp_path / "run", manifest) as directory:
        directory.append(
            UtilizationRow(time_s=1, cluster="a", processors=4, claimed_processors=1, executing_processors=0)
        )
        directory.append(
            UtilizationRow(time_s=2, cluster="a", processors=4, claimed_processors=2, executing_processors=0)
        )
    file = tmp_path / "run" / "utilization.csv"
    file.write_bytes(file.read_bytes()[:-4] + "é".encode()[:1])
    assert [row.time_s for row in read_rows(tmp_path / "run", UtilizationRow)] == [1]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (b"2,a,4,1\n", "utilization.csv, line 3: has 4 cells, and the header 8 columns"),
        (b"2,a,4,1,0,,,,9\n", "utilization.csv, line 3: has 9 cells, and the header 8 columns"),
        (b"nan,a,4,1,0,,,\n", "utilization.csv, line 3: time_s: must be a finite number"),
        (b"2,\xff,4,1,0,,,\n", r"utilization.csv, byte \d+: is no text in UTF-8"),
    ],
)
def test_a_damaged_row_is_refused_in_a_sentence_that_says_where_it_is(tmp_path, manifest, row, sentence):
    with RunDirectory(tmp_path / "run", manifest) as directory:
        directory.append(
            UtilizationRow(time_s=1, cluster="a", processors=4, claimed_processors=1, executing_processors=0)
        )
    with (tmp_path / "run" / "utilization.csv").open("ab") as file:
        file.write(row)
    with pytest.raises(InvalidInput, match=sentence):
        read_rows(tmp_path / "run", UtilizationRow)


def test_a_manifest_that_is_no_text_is_refused(tmp_path, manifest):
    with RunDirectory(tmp_path / "run", manifest):
        pass
    (tmp_path / "run" / "manifest.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(InvalidInput, match=r"manifest\.json: "):
        read_run(tmp_path / "run")


def test_a_run_that_never_ended_is_void(tmp_path, manifest):
    with RunDirectory(tmp_path / "run", manifest):
        pass
    assert read_run(tmp_path / "run").manifest.verdict == "void"


def test_no_run_is_written_over_anything(tmp_path, manifest):
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(InvalidInput, match="is not empty"):
        RunDirectory(tmp_path, manifest)
    with pytest.raises(InvalidInput, match="is no directory"):
        RunDirectory(tmp_path / "notes", manifest)
    assert (tmp_path / "notes").read_text() == "mine"


def test_a_part_whose_process_was_killed_before_its_first_manifest_is_begun_again(tmp_path, manifest):
    with RunDirectory(tmp_path / "run", manifest):
        pass
    part = next_attempt(tmp_path / "run")
    part.mkdir()
    (part / WRITING).touch()
    (part / ".manifest.json.unfinished").write_text('{"kind": "camp')
    assert next_attempt(tmp_path / "run") == part
    with RunDirectory(part, manifest):
        pass
    assert [path.name for path in part.iterdir()] == ["manifest.json"]


def test_no_run_is_begun_where_another_process_begins_one(tmp_path):
    writing = ProcessLock(tmp_path / WRITING)
    with pytest.raises(InvalidInput, match="is not empty"):
        check_free(tmp_path)
    writing.release()
    check_free(tmp_path)


def test_a_run_that_a_full_disk_kept_from_beginning_leaves_its_directory_free(tmp_path, manifest, monkeypatch):
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        with pytest.raises(InvalidInput, match=r"run: cannot be made \(No space left on device\)"):
            RunDirectory(tmp_path / "run", manifest)
    assert list((tmp_path / "run").iterdir()) == []
    with RunDirectory(tmp_path / "run", manifest):
        assert read_run(tmp_path / "run").manifest == manifest


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"no run's directory \(it has no manifest.json\)"):
        read_run(tmp_path)


def test_two_rows_of_one_job_are_refused(tmp_path, manifest):
    with RunDirectory(tmp_path / "run", manifest) as directory:
        for number in (1, 2, 1):
            directory.append(job_row(job=number))
    with pytest.raises(InvalidInput, match=r"run/jobs\.csv: has two rows of job 1, and a job ends once"):
        read_run(tmp_path / "run")


def test_a_complete_stream_without_all_of_its_jobs_is_refused(tmp_path, manifest):
    with RunDirectory(tmp_path / "run", manifest) as directory:
        for number in (1, 2):
            directory.append(job_row(job=number))
        assert len(read_run(tmp_path / "run").jobs) == 2
        directory.update_manifest({"progress": RunProgress.COMPLETE})
        with pytest.raises(InvalidInput, match=r"run: is complete .* jobs\.csv holds 2 of its 3 jobs: rows were lost"):
            read_run(tmp_path / "run")
        directory.update_manifest({"kind": RunKind.MEASUREMENT})
        assert len(read_run(tmp_path / "run").jobs) == 2


@pytest.mark.parametrize("changes", [{}, {"a_key_of_that_version": 1}])
def test_a_run_of_another_format_version_is_refused(tmp_path, manifest, changes):
    with RunDirectory(tmp_path / "run", manifest):
        pass
    path = tmp_path / "run" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format_version": 2} | changes))
    with pytest.raises(InvalidInput, match="run: is of format version 2, and this program reads version 1"):
        read_run(tmp_path / "run")


def test_threads_may_append_rows_at_once(tmp_path, manifest):
    rows = [
        LocalBurstRow(time_s=float(number), cluster="delft", node="n1", beside=0, processor_s=1.0, delay_s=0.0)
        for number in range(100)
    ]
    for attempt in range(10):
        with RunDirectory(tmp_path / str(attempt), manifest) as directory, ThreadPoolExecutor(8) as pool:
            list(pool.map(directory.append, rows))
        found = read_rows(tmp_path / str(attempt), LocalBurstRow)
        assert sorted(row.time_s for row in found) == [row.time_s for row in rows]
