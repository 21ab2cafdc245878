"""MPI jobs that run a program of the user's own: one script a rank, started by the same mpirun as applications."""

import os
import re
import stat
import subprocess
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from emulator.broker.jobs.own_program import RANK_VARIABLE, OwnProgram
from emulator.model.job import JobKind, JobSpecification, JobState
from tests.unit.broker.broker_setup import BrokerSetup
from tests.unit.broker.scripted_cluster import ScriptedProgram

MARK = "0123abcd"
MPIRUN_BLURB = f"\n{'-' * 74}\nPrimary job  terminated normally, but 1 process returned\na non-zero exit code.\n"


class Job:
    """A job of 5 + 3 ranks whose mpirun is scripted."""

    def __init__(self, setup: BrokerSetup, *command: str) -> None:
        self.setup = setup
        self.number = setup.submit(5, 3, kind="mpi", application="own", command=command or ("ring",))
        setup.until(lambda: setup.east.programs or setup.west.programs)
        leading = setup.east if setup.east.programs else setup.west
        self.script: str = leading.scripts[-1]
        self.mpirun: ScriptedProgram = leading.programs[-1]
        self.mark: str = re.search(r"' (\w{32}) \"\$1\"", self.script.replace("'\"'\"'", "'"))[1]

    def say(self, word: str, host_moment_s: float, ranks=range(8), code: int = 0) -> None:
        for rank in ranks:
            self.mpirun.said.put(f"{self.mark} {word} {rank} {code} {host_moment_s}")

    def ended(self, state: JobState):
        self.setup.until_state(self.number, state)
        assert self.setup.nothing_is_held
        return self.setup.broker.job(self.number)


def run(folder, command, rank=3, host_start_timestamp_s=None) -> subprocess.CompletedProcess[str]:
    script = OwnProgram("0-7", command, 2.5, MARK).script([5, 3], host_start_timestamp_s, RANK_VARIABLE)
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"], RANK_VARIABLE: str(rank)}
    return subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=30, check=False, env=environment
    )


def program(folder, name: str, text: str, mode: int = 0o755) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(mode)


def test_all_ranks_are_started_by_one_mpirun_across_both_clusters(setup):
    job = Job(setup, "ring", "it's")
    assert len(setup.east.programs + setup.west.programs) == 1
    assert "exec mpirun --mca plm_rsh_agent" in job.script
    assert re.search(r"-n 8 bash -c ", job.script)
    assert re.search(r"TESTBED_COMPONENTS=\W*(5,3|3,5)\b", job.script)


def test_it_has_started_when_all_ranks_have_begun_and_finished_when_all_have_ended(setup):
    job, timestamp_s = Job(setup), time.time()
    job.say("began", timestamp_s, range(7))
    setup.until_state(job.number, JobState.STARTING)
    job.say("began", timestamp_s + 1, [7])
    setup.until_state(job.number, JobState.RUNNING)
    job.mpirun.said.put("hello")
    job.say("ended", timestamp_s + 3, range(1, 8))
    job.say("ended", timestamp_s + 5, [0])
    job.mpirun.end(0)
    view = job.ended(JobState.FINISHED)
    assert view.finished_s - view.started_s == pytest.approx(4, abs=1e-3)
    assert (view.exit_code, view.result, view.specification.application) == (0, None, "own")
    assert setup.broker.output(job.number) == ("hello\n", "")


def test_a_lost_report_of_an_end_leaves_the_end_of_mpirun(setup):
    job, timestamp_s = Job(setup), time.time()
    job.say("began", timestamp_s)
    job.say("ended", timestamp_s, range(7))
    setup.until_state(job.number, JobState.RUNNING)
    job.mpirun.end(0)
    view = job.ended(JobState.FINISHED)
    assert view.finished_s >= view.started_s


@pytest.mark.parametrize(
    ("code", "error", "reason"),
    [
        (3, "out of memory\n", "Rank 6 of the program ended with exit code 3: out of memory"),
        (1, "", "Rank 6 of the program ended with exit code 1: no error output"),
        (137, "", "Rank 6 of the program was ended by signal 9: no error output"),
    ],
)
def test_the_first_rank_that_fails_is_named_and_not_what_mpirun_says(setup, code, error, reason):
    job = Job(setup)
    job.say("began", time.time())
    job.say("ended", time.time(), [6], code)
    job.say("ended", time.time(), [2], 143)
    job.mpirun.end(code, error + MPIRUN_BLURB)
    view = job.ended(JobState.FAILED)
    assert (view.reason, view.exit_code) == (reason, code)


def test_if_no_rank_says_so_mpirun_s_exit_code_is_the_reason(setup):
    job = Job(setup)
    job.mpirun.end(213, "mpirun: no such host\n")
    assert job.ended(JobState.FAILED).reason == "The program ended with exit code 213: mpirun: no such host"


def test_it_can_be_cancelled_while_it_runs(setup):
    job = Job(setup)
    job.say("began", time.time())
    setup.until_state(job.number, JobState.RUNNING)
    setup.broker.cancel(job.number)
    job.ended(JobState.CANCELLED)


def test_a_rank_knows_its_number_its_job_and_the_dilation(tmp_path):
    told = "echo $OMPI_COMM_WORLD_RANK $TESTBED_JOB $TESTBED_DILATION $TESTBED_COMPONENTS; pwd"
    said = run(tmp_path, ["sh", "-c", told]).stdout.splitlines()
    assert said[1:3] == ["3 0-7 2.5 5,3", str(tmp_path)]
    assert [line.split()[:4] for line in (said[0], said[3])] == [[MARK, "began", "3", "0"], [MARK, "ended", "3", "0"]]


@pytest.mark.parametrize("name", ["ring", "./ring", "bin/ring", "true"])
def test_a_program_in_the_home_folder_goes_before_one_on_the_path(tmp_path, name):
    program(tmp_path, name, 'echo mine "$@"')
    assert run(tmp_path, [name, "a b"]).stdout.splitlines()[1] == "mine a b"


def test_a_program_that_is_missing_or_cannot_be_run_does_not_begin(tmp_path):
    program(tmp_path, "text", "true", stat.S_IRUSR)
    missing, text = run(tmp_path, ["nope"]), run(tmp_path, ["text"])
    assert (missing.returncode, text.returncode) == (127, 126)
    assert missing.stderr == f"There is no program nope, neither in {tmp_path} nor on the path.\n"
    assert text.stderr == f"The program text in {tmp_path} is not executable (chmod +x).\n"
    assert [ended.stdout.split()[1:4] for ended in (missing, text)] == [["ended", "3", "127"], ["ended", "3", "126"]]


def test_a_signal_that_ends_the_program_is_its_exit_code_and_the_shell_adds_nothing(tmp_path):
    ended = run(tmp_path, ["sh", "-c", "echo mine >&2; kill -9 $$"])
    assert (ended.returncode, ended.stderr) == (137, "mine\n")
    assert ended.stdout.splitlines()[-1].split()[1:4] == ["ended", "3", "137"]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30), max_size=4))
def test_no_word_means_anything_to_the_shell(words):
    ended = run("/", ["printf", "%s\\n", *words, "end"])
    assert ended.stdout.split("\n")[1:-2] == [*words, "end"]


def test_a_job_with_a_command_is_an_mpi_job_without_an_application_unless_it_says_plain():
    job = JobSpecification(command=("ring",), components=(4, 4))
    assert (job.kind, job.application) == (JobKind.MPI, "own")
    assert JobSpecification.model_validate(job.model_dump(mode="json")) == job


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"application": "poisson"}, "application: a job with a command"),
        ({"arguments": {"grid": 1}}, "arguments: a job with a command"),
        ({"interconnect": "coallocated"}, "interconnect: a job with a command"),
        ({"numerics": "sampled"}, "numerics: a job with a command"),
        ({"command": ("./../ring",)}, "command.0: a program is"),
        ({"command": ("././ring",)}, "command.0: a program is"),
        ({"command": (), "application": "own"}, "application: this key is missing"),
    ],
)
def test_what_a_program_of_one_s_own_cannot_have_is_refused_naming_the_field(wrong, said):
    with pytest.raises(ValidationError, match=re.escape(said)):
        JobSpecification(**({"command": ("ring",), "components": (2,)} | wrong))
