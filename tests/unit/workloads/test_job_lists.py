"""Job lists as JSON lines: read whole or refused with the file, the line and the field; the order of lines is free."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.model.errors import InvalidInput
from emulator.model.request import JobRequest, RequestKind
from emulator.model.stream import StreamJob
from workloads.job_lists import JobOutcome, outcome_line, read_job_list, read_listed_jobs, write_job_list

GOOD = '{"id": 1, "arrival_s": 0.5, "service_s": 12, "components": [8, 8], "queue": 0}'


def written(folder: Path, *lines: str) -> Path:
    path = folder / "jobs.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_job_list_holds_unordered_requests(tmp_path: Path) -> None:
    (job,) = read_job_list(written(tmp_path, GOOD))
    assert (job.id, job.arrival_s, job.service_s, job.queue) == (1, 0.5, 12.0, 0)
    assert job.request.kind is RequestKind.UNORDERED
    assert job.request.components == (8, 8)


def test_jobs_come_in_order_of_arrival_and_then_of_identity_whatever_the_order_of_the_lines(tmp_path: Path) -> None:
    lines = [GOOD.replace('"id": 1', f'"id": {number}') for number in (3, 1, 2)]
    lines.append(GOOD.replace('"id": 1', '"id": 4').replace("0.5", "0.25"))
    forwards = read_job_list(written(tmp_path, *lines))
    backwards = read_job_list(written(tmp_path, *reversed(lines)))
    assert [job.id for job in forwards] == [4, 1, 2, 3]
    assert forwards == backwards


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    jobs = read_job_list(written(tmp_path, GOOD, GOOD.replace('"id": 1', '"estimate_s": 0.1, "id": 2')))
    write_job_list(jobs, tmp_path / "again.jsonl")
    assert read_job_list(tmp_path / "again.jsonl") == jobs


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "is no JSON object"),
        ("[1, 2]", "line 2: "),
        (GOOD.replace('"arrival_s": 0.5, ', ""), "arrival_s: this key is missing"),
        (GOOD.replace("0.5", "-0.5"), "arrival_s: .*not -0.5"),
        (GOOD.replace("0.5", "NaN"), "arrival_s: .*finite"),
        (GOOD.replace("0.5", '"soon"'), "arrival_s: .*not 'soon'"),
        (GOOD.replace("0.5", "true"), "arrival_s: .*not True"),
        (GOOD.replace("12", "Infinity"), "service_s: .*finite"),
        (GOOD.replace("[8, 8]", "[]"), "components: "),
        (GOOD.replace("[8, 8]", "[8, 0]"), "components.1: .*not 0"),
        (GOOD.replace('"queue": 0', '"queue": -1'), "queue: .*not -1"),
        (GOOD.replace('"queue": 0', '"arguments": {"grid": [400]}'), "arguments.grid"),
        (GOOD.replace('"queue": 0', '"arguments": {"Grid": 400}'), "arguments"),
        (GOOD.replace('"queue"', '"home"'), "unknown key 'home'"),
        (GOOD, "id: job 1 stands in line 1 already"),
    ],
)
def test_a_line_that_is_no_job_is_named_with_its_field(tmp_path: Path, line: str, complaint: str) -> None:
    path = written(tmp_path, GOOD, line)
    with pytest.raises(InvalidInput, match=rf"jobs\.jsonl, line 2: .*{complaint}|jobs\.jsonl, {complaint}"):
        read_job_list(path)


def test_the_arguments_of_a_line_are_read_for_campaigns_and_no_part_of_a_stream(tmp_path: Path) -> None:
    line = GOOD.replace('"queue"', '"arguments": {"grid": 400, "exchange": "steps", "synchronized": true}, "queue"')
    path = written(tmp_path, line.replace('"id": 1', '"id": 2'), GOOD)
    first, second = read_listed_jobs(path)
    assert (first.id, first.arguments) == (1, {})
    assert second.arguments == {"grid": 400, "exchange": "steps", "synchronized": True}
    assert [job.request for job in read_job_list(path)] == [JobRequest(RequestKind.UNORDERED, (8, 8))] * 2


def test_a_job_that_the_system_refuses_is_named_by_its_line(tmp_path: Path) -> None:
    def refuse(job: StreamJob) -> None:
        raise InvalidInput("components: too large.")

    with pytest.raises(InvalidInput, match=r"jobs\.jsonl, line 1: components: too large"):
        read_job_list(written(tmp_path, GOOD), refuse)


def test_an_empty_or_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="holds no job"):
        read_job_list(written(tmp_path, "", ""))
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_job_list(tmp_path / "none.jsonl")


def test_a_list_that_fails_on_the_way_leaves_nothing_behind(tmp_path: Path) -> None:
    (job,) = read_job_list(written(tmp_path, GOOD))

    def breaking() -> object:
        yield job
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_job_list(breaking(), tmp_path / "out.jsonl")  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["jobs.jsonl"]


def test_an_outcome_names_the_cluster_of_each_component() -> None:
    line = outcome_line(JobOutcome(7, 0.5, 12.5, (0, 2)))
    assert line == '{"id": 7, "start_s": 0.5, "finish_s": 12.5, "clusters": [0, 2]}\n'
