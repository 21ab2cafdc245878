"""How far a run is, in one line."""

import pytest

from emulator.campaigns.conduct import Progress
from emulator.cli.run_progress import run_progress


@pytest.mark.parametrize(
    ("host_left_s", "told"),
    [
        (None, ""),
        (2, ", about 5 s left"),
        (48, ", about 50 s left"),
        (100, ", about 2 min left"),
        (9000, ", about 2.5 h left"),
    ],
)
def test_what_is_left_is_told_as_precisely_as_it_is_known(host_left_s, told, capsys):
    with run_progress() as tell:
        tell(Progress("running", 9, 4, 1, 3, 0, 12.0, host_left_s))
    assert capsys.readouterr().err == f"running: 3 of 9 jobs finished, 1 running at 12 s{told}\n"


def test_a_stage_without_jobs_is_told_by_itself_and_once(capsys):
    with run_progress() as tell:
        tell(Progress("checking"))
        tell(Progress("checking"))
    assert capsys.readouterr().err == "checking\n"
