"""The Standard Workload Format: without loss both ways, broken lines refused, doubtful records reported and kept."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.errors import InvalidInput
from emulator.model.stream import StreamJob
from workloads.home_queues import drawn_homes
from workloads.swf import SwfRecord, read_swf, write_swf
from workloads.swf_stream import swf_jobs, swf_record

MINI = [32] * 4
HEADER = "; Version: 2.2\n; MaxProcs: 128\n"
LINE = "1 10 5 60.5 16 -1 -1 16 900 -1 1 3 1 -1 2 -1 -1 -1"


def written(folder: Path, *lines: str) -> Path:
    path = folder / "log.swf"
    path.write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def changed(**fields: int | float) -> str:
    names = list(SwfRecord._fields)
    cells = LINE.split()
    for name, value in fields.items():
        cells[names.index(name)] = str(value)
    return " ".join(cells)


def test_eighteen_fields_in_their_order(tmp_path: Path) -> None:
    log = read_swf(written(tmp_path, LINE))
    (record,) = log.records
    assert log.header == ("Version: 2.2", "MaxProcs: 128")
    assert (record.job, record.submit_s, record.wait_s, record.run_s) == (1, 10, 5, 60.5)
    assert (record.allocated_processors, record.requested_processors, record.requested_s) == (16, 16, 900)
    assert (record.status, record.user, record.queue, record.think_s) == (1, 3, 2, -1)
    assert log.remarks == ()


def test_a_gzipped_log_reads_like_a_plain_one(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "log.swf.gz", "wt", encoding="utf-8") as text:
        text.write(HEADER + LINE)
    assert read_swf(tmp_path / "log.swf.gz").records == read_swf(written(tmp_path, LINE)).records


def test_a_gzipped_log_may_have_a_name_of_another_case_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "LOG.SWF.GZ").write_bytes(gzip.compress(LINE.encode()))
    assert read_swf(tmp_path / "LOG.SWF.GZ").records == read_swf(written(tmp_path, LINE)).records
    whole = gzip.compress(LINE.encode())
    (tmp_path / "damaged.swf.gz").write_bytes(whole[:10] + b"\xff" * 8 + whole[18:])
    with pytest.raises(InvalidInput, match=r"damaged\.swf\.gz: cannot be read"):
        read_swf(tmp_path / "damaged.swf.gz")


WHOLE = st.integers(-1, 10**6)
SECONDS = st.one_of(WHOLE, st.floats(-1, 1e6))


@given(st.lists(st.builds(SwfRecord, WHOLE, SECONDS, SECONDS, SECONDS, WHOLE, SECONDS, SECONDS, WHOLE, SECONDS, SECONDS,
                          WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, WHOLE, SECONDS), min_size=1))  # fmt: skip
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, records: list[SwfRecord]) -> None:
    path = tmp_path_factory.mktemp("swf") / "log.swf"
    write_swf(["Version: 2.2", ""], records, path)
    log = read_swf(path)
    assert (log.header, log.records) == (("Version: 2.2", ""), tuple(records))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("1 10 5", r"line 4: a job has 18 fields, but here are 3 .run_s is the first that is missing"),
        (LINE + " 7", "line 4: a job has 18 fields, but here are 19"),
        (LINE.replace("60.5", "sixty"), "line 4: run_s: must be a number, not 'sixty'"),
        (LINE.replace("60.5", "inf"), "line 4: run_s: must be finite"),
        (LINE.replace("60.5", "nan"), "line 4: run_s: must be finite"),
        (LINE.replace(" 16 ", " 1.5 "), "line 4: allocated_processors: must be a whole number, not '1.5'"),
    ],
)
def test_a_broken_line_is_named_with_its_field(tmp_path: Path, line: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=rf"log\.swf, {complaint}"):
        read_swf(written(tmp_path, LINE, line))


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"run_s": -7}, "run_s"),
        ({"run_s": 901}, "run_s"),
        ({"run_s": -1}, "run_s"),
        ({"wait_s": -2}, "wait_s"),
        ({"submit_s": -3}, "submit_s"),
        ({"requested_processors": 0}, "requested_processors"),
        ({"requested_processors": -1, "allocated_processors": -1}, "requested_processors"),
        ({"status": 9}, "status"),
    ],
)
def test_a_record_that_cannot_be_true_is_reported_and_kept(tmp_path: Path, fields: dict[str, int], field: str) -> None:
    log = read_swf(written(tmp_path, changed(**fields)))
    assert [(remark.line, remark.field) for remark in log.remarks] == [(3, field)]
    (record,) = log.records
    assert record == record._replace(**fields)


def test_jobs_out_of_order_and_repeated_numbers_are_reported(tmp_path: Path) -> None:
    log = read_swf(written(tmp_path, LINE, changed(submit_s=4)))
    assert [(remark.line, remark.field) for remark in log.remarks] == [(4, "job"), (4, "submit_s")]


def test_requested_and_real_time_are_kept_apart(tmp_path: Path) -> None:
    path = written(tmp_path, LINE)
    (job,) = swf_jobs(read_swf(path), path, clusters=MINI).jobs
    assert job.service_s == 60.5
    assert job.request.estimate_s == 900
    assert job.request.components == (16,)


def test_a_limit_on_component_sizes_splits_the_jobs_of_a_log(tmp_path: Path) -> None:
    path = written(tmp_path, changed(requested_processors=64))
    (job,) = swf_jobs(read_swf(path), path, clusters=MINI, component_limit=24).jobs
    assert job.request.components == (22, 21, 21)


def test_what_cannot_be_simulated_is_left_out_and_said_to_be(tmp_path: Path) -> None:
    path = written(tmp_path, LINE, changed(job=2, run_s=-1), changed(job=3, requested_processors=0))
    found = swf_jobs(read_swf(path), path, clusters=MINI)
    assert [job.id for job in found.jobs] == [1]
    assert [(remark.line, remark.field) for remark in found.left_out] == [(4, "run_s"), (5, "requested_processors")]


def test_parts_of_an_execution_and_jobs_cancelled_before_their_start_are_left_out(tmp_path: Path) -> None:
    bursts = (changed(run_s=40, status=2), changed(submit_s=-1, run_s=20.5, status=3))
    never = changed(job=2, run_s=0, allocated_processors=-1, requested_processors=64, status=5)
    path = written(tmp_path, LINE, *bursts, never, changed(job=3, run_s=30, status=5))
    found = swf_jobs(read_swf(path), path, clusters=MINI)
    assert [(job.id, job.service_s) for job in found.jobs] == [(1, 60.5), (3, 30)], "identities are the job numbers"
    assert [(remark.line, remark.field) for remark in found.left_out] == [(4, "status"), (5, "status"), (6, "status")]


def test_a_job_larger_than_the_cluster_of_its_drawn_queue_is_submitted_to_one_that_can_hold_it(tmp_path: Path) -> None:
    lines = [changed(job=number, submit_s=number, requested_processors=40) for number in range(1, 41)]
    path = written(tmp_path, *lines)
    queues = [job.queue for job in swf_jobs(read_swf(path), path, clusters=[72, 32, 32, 48]).jobs]
    assert set(queues) == {0, 3}
    as_equal = [job.queue for job in swf_jobs(read_swf(path), path, clusters=[64] * 4).jobs]
    assert set(as_equal) == {0, 1, 2, 3}
    assert all(queue == equal for queue, equal in zip(queues, as_equal, strict=True) if equal in (0, 3))


def test_a_job_that_a_limit_does_not_split_is_submitted_to_a_cluster_that_can_hold_it(tmp_path: Path) -> None:
    lines = [changed(job=number, submit_s=number, requested_processors=12) for number in range(1, 21)]
    path = written(tmp_path, *lines)
    jobs = swf_jobs(read_swf(path), path, clusters=[32, 8], component_limit=16).jobs
    assert {(job.queue, job.request.components) for job in jobs} == {(0, (12,))}


def test_a_job_that_the_quota_keeps_out_of_its_drawn_cluster_is_submitted_to_another() -> None:
    sizes = [64, 16]
    assert set(drawn_homes([12] * 20, sizes, 0, quota=0.5)) == {0}
    assert set(drawn_homes([12] * 20, sizes, 0)) == {0, 1}
    assert drawn_homes([8] * 20, sizes, 0, quota=0.5) == drawn_homes([8] * 20, sizes, 0)
    # Half of 66 is 33 processors, but nodes of two are held whole.
    assert set(drawn_homes([33] * 20, [66, 134], 0, quota=0.5, together=2)) == {1}


def test_a_log_without_a_job_to_simulate_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, changed(run_s=-1))
    with pytest.raises(InvalidInput, match="no job that could be simulated"):
        swf_jobs(read_swf(path), path, clusters=MINI)


def test_a_job_that_can_never_fit_is_named_by_its_line(tmp_path: Path) -> None:
    def refuse(job: StreamJob) -> None:
        raise InvalidInput("components: too large.")

    path = written(tmp_path, LINE)
    with pytest.raises(InvalidInput, match=r"log\.swf, line 3: components: too large"):
        swf_jobs(read_swf(path), path, clusters=MINI, check=refuse)


def test_a_simulated_job_becomes_a_record(tmp_path: Path) -> None:
    path = written(tmp_path, LINE)
    (job,) = swf_jobs(read_swf(path), path, clusters=MINI).jobs
    record = swf_record(job, start_s=15.0)
    assert (record.submit_s, record.wait_s, record.run_s, record.requested_s) == (10, 5, 60.5, 900)


def test_a_number_of_hundreds_of_digits_is_refused_with_its_field(tmp_path: Path) -> None:
    cells = LINE.split()
    cells[4] = "9" * 400
    with pytest.raises(InvalidInput, match="allocated_processors: must be finite"):
        read_swf(written(tmp_path, " ".join(cells)))
