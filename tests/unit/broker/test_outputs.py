"""What jobs write stays on disk, and never takes more than its limit."""

from hypothesis import given
from hypothesis import strategies as st

from emulator.broker.jobs import outputs as outputs_module
from emulator.broker.jobs.outputs import LimitedStream, Outputs


def test_what_a_job_wrote_outlives_the_broker(tmp_path):
    Outputs(tmp_path).open(3).output.write_line("hello")
    assert Outputs(tmp_path).read(3) == ("hello\n", "")


def test_a_job_that_wrote_nothing_has_empty_output(tmp_path):
    assert Outputs(tmp_path).read(7) == ("", "")


def test_of_a_long_line_the_end_is_kept(tmp_path):
    kept = LimitedStream(tmp_path / "1.output", limit_bytes=16)
    kept.write_line("0123456789")
    assert kept.read() == "3456789\n"


@given(st.lists(st.integers(0, 40), max_size=60), st.integers(8, 64))
def test_the_last_part_is_kept_at_least_half_the_limit_and_never_more_than_it(tmp_path_factory, lengths, half_bytes):
    folder = tmp_path_factory.mktemp("outputs")
    kept = LimitedStream(folder / "1.output", limit_bytes=2 * half_bytes)
    written = ""
    for number, length in enumerate(lengths):
        line = chr(ord("a") + number % 26) * length
        kept.write_line(line)
        written += f"{line}\n"[-half_bytes:]
        on_disk = sum(path.stat().st_size for path in folder.iterdir())
        assert on_disk <= 2 * half_bytes
        assert written.endswith(kept.read())
        assert on_disk >= min(len(written), half_bytes - 41)


def test_what_a_full_disk_refuses_is_lost_without_an_error_and_is_counted(tmp_path):
    (tmp_path / "1.output").symlink_to("/dev/full")
    stream = Outputs(tmp_path).open(1).output
    for line in ("first", "second", "third"):
        stream.write_line(line)
    (tmp_path / "1.output").unlink()
    stream.write_line("fourth")
    stream.write_line("fifth")
    assert stream.read() == "\n[lines that could not be written here: 3]\nfourth\nfifth\n"


def test_outputs_are_removed_also_where_later_jobs_never_wrote(tmp_path, monkeypatch):
    monkeypatch.setattr(outputs_module, "RETAINED_JOBS", 3)
    outputs = Outputs(tmp_path)
    for job in (1, 2, 9):
        outputs.open(job).output.write_line("hello")
        outputs.close(job)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["9.output"]


def test_the_outputs_of_the_last_jobs_are_kept_and_none_of_a_job_that_still_writes_is_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(outputs_module, "RETAINED_JOBS", 3)
    outputs = Outputs(tmp_path)
    for job in range(1, 8):
        outputs.open(job).output.write_line("hello")
        if job != 2:
            outputs.close(job)
    assert [job for job in range(1, 8) if outputs.read(job)[0]] == [2, 5, 6, 7]
    outputs.close(2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["5.output", "6.output", "7.output"]


def test_what_a_former_broker_kept_too_long_is_removed(tmp_path, monkeypatch):
    for job in (1, 2, 9):
        Outputs(tmp_path).open(job).output.write_line("hello")
    monkeypatch.setattr(outputs_module, "RETAINED_JOBS", 3)
    outputs = Outputs(tmp_path)
    assert [job for job in range(1, 10) if outputs.read(job)[0]] == [9]
