"""The jobs of local users: a Poisson stream of their own, or a log."""

from __future__ import annotations

import itertools

import pytest

from emulator.model.background import Background
from emulator.model.catalogue import topology_named
from emulator.model.documents import validate
from emulator.model.errors import InvalidInput
from workloads.local_jobs import LocalJob, local_jobs

DAS2 = topology_named("das2")
STREAM = {"interarrival": {"mean_s": 40}, "sizes": [8, 100], "lengths": {"low_s": 100, "high_s": 200}}


def load(local: object) -> Background:
    return validate({"band": [0.15, 0.2], "local_jobs": local}, Background, source="background")


def first(number: int, **options: int) -> list[LocalJob]:
    return list(itertools.islice(local_jobs(load(STREAM), DAS2, **{"seed": 1, **options}), number))


def swf(tmp_path, *lines: str) -> Background:
    path = tmp_path / "log.swf"
    path.write_text("\n".join(lines), encoding="utf-8")
    return load(str(path))


def record(job: int, submit_s: int, run_s: int, processors: int) -> str:
    return f"{job} {submit_s} -1 {run_s} {processors} -1 -1 {processors} -1 -1 1 1 1 1 1 1 -1 -1"


def test_a_stream_is_the_same_for_a_seed_and_another_for_a_repeated_run():
    assert first(50) == first(80)[:50]
    assert first(50) != first(50, seed=2)
    assert first(50) != first(50, attempt=2)


def test_a_stream_has_the_interarrival_times_sizes_and_lengths_that_were_stated():
    jobs = first(4000)
    assert jobs[-1].arrival_s / len(jobs) == pytest.approx(40, rel=0.05)
    assert {job.processors for job in jobs} == {8, 100}
    assert all(100 <= job.length_s <= 200 for job in jobs)
    assert [job.arrival_s for job in jobs] == sorted(job.arrival_s for job in jobs)


def test_a_job_is_submitted_to_a_cluster_that_can_hold_it():
    jobs = first(2000)
    assert {job.cluster for job in jobs if job.processors == 100} == {0}
    small = [job.cluster for job in jobs if job.processors == 8]
    assert set(small) == {0, 1, 2, 3, 4}
    assert small.count(0) / len(small) == pytest.approx(144 / 400, rel=0.15)


def test_without_local_jobs_there_are_none():
    assert list(local_jobs(load("none"), DAS2, seed=1)) == []


def test_a_log_begins_at_its_first_submission(tmp_path):
    background = swf(tmp_path, "; a log", record(1, 500, 60, 8), record(2, 560, 30, 144))
    jobs = list(local_jobs(background, DAS2, seed=1))
    assert [(job.arrival_s, job.processors, job.length_s) for job in jobs] == [(0, 8, 60), (60, 144, 30)]
    assert jobs[1].cluster == 0
    scaled = list(local_jobs(background, DAS2, seed=1, time_scale=10))
    assert [(job.arrival_s, job.length_s) for job in scaled] == [(0, 6), (6, 3)]


def test_a_record_that_cannot_be_replayed_may_be_of_any_size(tmp_path):
    background = swf(tmp_path, record(1, 0, 60, 8), record(2, 5, -1, 145))
    assert [job.processors for job in local_jobs(background, DAS2, seed=1)] == [8]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["; a log", record(1, 0, 60, 8), "2 5 broken"], r"log\.swf, line 3: a job has 18 fields, but here are 3"),
        ([record(1, 0, 60, 8).replace("60", "long")], r"log\.swf, line 1: run_s: must be a number, not 'long'"),
        ([record(1, 0, 60, 8), record(2, 5, 60, 145)], r"log\.swf, line 2: a local job of 145 processors is larger"),
        (["; nothing"], r"log\.swf: holds no job"),
    ],
)
def test_a_log_that_cannot_be_used_is_refused_in_a_sentence(tmp_path, lines, said):
    with pytest.raises(InvalidInput, match=said):
        local_jobs(swf(tmp_path, *lines), DAS2, seed=1)


def test_a_log_that_is_not_there_is_named():
    with pytest.raises(InvalidInput, match=r"missing\.swf: cannot be read"):
        local_jobs(load("missing.swf"), DAS2, seed=1)


def test_a_time_scale_far_below_one_lengthens_a_load_beyond_what_may_be_stated():
    stated = {"interarrival": {"mean_s": 600}, "sizes": [4], "lengths": {"low_s": 60, "high_s": 900}}
    background = validate({"band": [0.15, 0.2], "local_jobs": stated}, Background, source="background")
    divided = background.divided(1e-5)
    assert divided.dummy.lengths.high_s == pytest.approx(6e7)
    assert divided.local_jobs.interarrival.mean_s == pytest.approx(6e7)
    assert divided.local_jobs.lengths.high_s == pytest.approx(9e7)
