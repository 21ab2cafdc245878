"""How far a run is, in one line."""

import pytest

from emulator.cli.progress import run_progress
from emulator.runs.progress import ProgressReport


@pytest.mark.parametrize(
    ("host_left_s", "expected"),
    [
        (None, ""),
        (2, ", about 5 s left"),
        (48, ", about 50 s left"),
        (100, ", about 2 min left"),
        (9000, ", about 2.5 h left"),
    ],
)
def test_what_is_left_is_told_as_precisely_as_it_is_known(host_left_s, expected, capsys):
    with run_progress() as report_progress:
        report_progress(ProgressReport("running", 9, 4, 1, 3, 0, 12.0, host_left_s))
    assert capsys.readouterr().err == f"running: 3 of 9 jobs finished, 1 running at 12 s{expected}\n"


def test_a_stage_without_jobs_is_told_by_itself_and_once(capsys):
    with run_progress() as report_progress:
        report_progress(ProgressReport("checking"))
        report_progress(ProgressReport("checking"))
    assert capsys.readouterr().err == "checking\n"
