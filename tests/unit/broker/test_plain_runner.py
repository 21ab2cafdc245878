"""Plain jobs: one process a processor, words that mean nothing to a shell, a start when all have started."""

import os
import re
import subprocess
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from emulator.broker.jobs.own_program import OwnProgram
from emulator.model.job import JobKind, JobSpecification, JobState
from emulator.model.views import EventKind
from tests.unit.broker.broker_setup import BrokerSetup
from tests.unit.broker.scripted_cluster import ScriptedCluster

MARK = "mark"


def submitted(setup: BrokerSetup, *components: int, command=("hostname",), **more) -> int:
    plain = {"kind": "plain", "application": "plain", "command": command}
    return setup.submit(*components, **plain, **more)


def mark_in(cluster: ScriptedCluster) -> str:
    return re.search(r"say\(\) \{ printf '.*' (\w+) ", cluster.scripts[-1])[1]


def say(cluster: ScriptedCluster, word: str, host_moment_s: float, times: int = 1) -> None:
    for number in range(times):
        cluster.programs[-1].said.put(f"{mark_in(cluster)} {word} {number} 0 {host_moment_s}")


def until_asked(setup: BrokerSetup) -> None:
    setup.until(lambda: setup.east.programs and setup.west.programs)


def run(command, host_start_timestamp_s=None, **more) -> subprocess.CompletedProcess[str]:
    script = OwnProgram("0-1", command, 8.0, MARK).script([2, 4], host_start_timestamp_s, TESTBED_PART=0)
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30, check=False, **more)


def test_the_wait_for_the_start_does_not_depend_on_the_locale(tmp_path):
    awk = tmp_path / "awk"
    awk.write_text('#!/bin/bash\n[ "$LC_ALL" = C ] && PATH=${PATH#*:} exec awk "$@"\necho 0,1\n')
    awk.chmod(0o755)
    began_s = time.time()
    ended = run(["true"], began_s + 1.0, env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "LC_ALL": "de_DE.UTF-8"})
    began = float(ended.stdout.split()[4])
    assert began - began_s >= 1.0


def test_the_job_has_started_when_every_process_has_and_finished_when_every_one_has_ended(setup):
    job = submitted(setup, 6, 5)
    until_asked(setup)
    timestamp_s = time.time()
    say(setup.east, "began", timestamp_s, 6)
    say(setup.west, "began", timestamp_s + 1, 4)
    setup.until_state(job, JobState.STARTING)
    say(setup.west, "began", timestamp_s + 2)
    setup.until_state(job, JobState.RUNNING)
    say(setup.east, "ended", timestamp_s + 3, 6)
    setup.east.programs[-1].end(0)
    say(setup.west, "ended", timestamp_s + 9, 5)
    setup.west.programs[-1].end(0)
    setup.until_state(job, JobState.FINISHED)
    view = setup.broker.job(job)
    assert view.finished_s - view.started_s == pytest.approx(7, abs=1e-3)
    assert (view.exit_code, view.result) == (0, None)
    assert setup.nothing_is_held


def test_where_one_component_fails_the_others_are_ended_and_its_exit_code_is_kept(setup):
    job = submitted(setup, 6, 6)
    until_asked(setup)
    setup.west.programs[-1].end(3, "no such thing\n")
    setup.until_state(job, JobState.FAILED)
    view = setup.broker.job(job)
    assert view.exit_code == 3
    assert view.reason == "The program ended with exit code 3 in cluster 'west': no such thing"
    assert setup.nothing_is_held
    assert setup.broker.output(job) == ("", "no such thing\n")


def test_a_program_that_speaks_like_the_testbed_is_only_quoted(setup):
    job = submitted(setup, 8)
    setup.until(lambda: setup.east.programs)
    for line in ('{"event": "finished", "host_moment_s": 1}', f"{'0' * 32} ended 0 0 1.0"):
        setup.east.programs[-1].said.put(line)
    setup.until(lambda: setup.broker.output(job)[0].count("\n") == 2)
    assert setup.broker.job(job).state is JobState.STARTING


@pytest.mark.parametrize(
    "said",
    ["began 0 0 nan", "began 0 0 inf", "ended 0 0 a", "began", "", "began 0 0 1e300", "crashed 0 0 1.0", "began 1.0"],
)
def test_a_program_that_finds_the_mark_in_its_script_is_only_quoted_if_it_makes_no_report(setup, said):
    job = submitted(setup, 8)
    setup.until(lambda: setup.east.programs)
    line = f"{mark_in(setup.east)} {said}"
    setup.east.programs[-1].said.put(line)
    setup.until(lambda: setup.broker.output(job)[0] == f"{line}\n")
    timestamp_s = time.time()
    say(setup.east, "began", timestamp_s, 20)
    setup.until_state(job, JobState.RUNNING)
    say(setup.east, "ended", timestamp_s + 2, 20)
    setup.east.programs[-1].end(0)
    setup.until_state(job, JobState.FINISHED)
    view = setup.broker.job(job)
    assert view.finished_s - view.started_s == pytest.approx(2, abs=1e-3)
    assert setup.kinds().count(EventKind.STARTED) == 1


def test_its_output_can_be_read_while_it_runs_and_after_it_has_ended(setup):
    job = submitted(setup, 8)
    setup.until(lambda: setup.east.programs)
    setup.east.programs[-1].said.put("hello")
    setup.until(lambda: setup.broker.output(job) == ("hello\n", ""))
    say(setup.east, "ended", time.time())
    setup.east.programs[-1].end(0, "and a warning\n")
    setup.until_state(job, JobState.FINISHED)
    assert setup.broker.output(job) == ("hello\n", "and a warning\n")


def test_a_program_that_does_not_end_its_last_line_has_ended_nevertheless(setup):
    job = submitted(setup, 8)
    setup.until(lambda: setup.east.programs)
    timestamp_s = time.time()
    say(setup.east, "began", timestamp_s, 8)
    say(setup.east, "ended", timestamp_s + 4, 7)
    setup.east.programs[-1].said.put(f"hello{mark_in(setup.east)} ended 7 0 {timestamp_s + 5}")
    setup.east.programs[-1].end(0)
    setup.until_state(job, JobState.FINISHED)
    view = setup.broker.job(job)
    assert view.finished_s - view.started_s == pytest.approx(5, abs=1e-3)
    assert setup.broker.output(job) == ("hello\n", "")


def test_a_running_plain_job_can_be_cancelled(setup):
    job = submitted(setup, 6, 6)
    until_asked(setup)
    setup.broker.cancel(job)
    setup.until_state(job, JobState.CANCELLED)
    assert setup.nothing_is_held


def test_a_process_says_when_it_begins_and_ends_and_hands_its_exit_code_on():
    ended = run(["bash", "-c", "echo $TESTBED_JOB $TESTBED_PART $TESTBED_DILATION $TESTBED_COMPONENTS; exit 7"])
    said = ended.stdout.splitlines()
    assert ended.returncode == 7
    assert said[1] == "0-1 0 8.0 2,4"
    began, finished = (float(line.split()[4]) for line in (said[0], said[2]))
    assert [line.split()[1] for line in (said[0], said[2])] == ["began", "ended"]
    assert began <= finished


def test_a_process_waits_for_the_job_s_start():
    timestamp_s = time.time() + 0.3
    ended = run(["true"], host_start_timestamp_s=timestamp_s)
    assert float(ended.stdout.split()[4]) >= timestamp_s


@pytest.mark.parametrize("program", ["eval", "exit", "exec", "say"])
def test_a_command_of_the_shell_is_no_program(program):
    ended = run([program, "echo", "hello"])
    assert ended.returncode == 127
    assert "hello" not in ended.stdout


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30), max_size=4))
def test_no_word_means_anything_to_the_shell(words):
    ended = run(["printf", "%s\\n", *words, "end"])
    assert ended.returncode == 0
    assert ended.stdout.split("\n")[1:-2] == [*words, "end"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"command": ()}, "command: a job of the kind plain names its program"),
        (
            {"command": ("../bin/true",)},
            "command.0: a program is a name, a path in the home folder or an absolute path, not '../bin/true'",
        ),
        ({"command": ("/bin/../sbin/x",)}, "command.0: a program"),
        ({"command": ("bin//true",)}, "command.0: a program"),
        ({"command": ("-n",)}, "command.0: a program"),
        ({"command": ("true; reboot",)}, "command.0: a program"),
        ({"command": ("echo", "two\nlines")}, "command.1"),
        ({"command": ("echo", "\x1b[2J")}, "command.1"),
        ({"command": ("echo", "x" * 4_097)}, "command.1"),
        ({"command": ("echo", *["x" * 4_096] * 8)}, "command: it may have 32768 characters at most"),
        ({"command": ("echo",) * 257}, "command"),
        ({"command": "echo hello"}, "command"),
        ({"arguments": {"grid": 1}}, "arguments: a job with a command, or of the kind plain, cannot state this"),
        ({"application": "poisson"}, "application: a job with a command"),
        ({"processor_speed": 2}, "processor_speed: a job with a command"),
        ({"kind": "mpi", "command": ()}, "application: this key is missing"),
        ({"kind": "mpi", "application": "poisson"}, "application: a job with a command"),
    ],
)
def test_what_is_no_plain_job_is_refused_naming_the_field(wrong, said):
    with pytest.raises(ValidationError) as error:
        JobSpecification(**({"kind": "plain", "command": ("echo", "hello"), "components": (2,)} | wrong))
    fault = error.value.errors()[0]
    assert said in ".".join(str(part) for part in fault["loc"]) + fault["msg"].removeprefix("Value error, ")


def test_an_absolute_path_is_a_program_and_its_words_are_free():
    job = JobSpecification(kind="plain", command=("/usr/bin/env", "a=$(b); ../c"), components=(2,))
    assert (job.kind, job.application) == (JobKind.PLAIN, "plain")


def test_a_wall_clock_that_is_set_back_before_the_start_delays_it_no_further(tmp_path):
    (tmp_path / "date").write_text(f"#!/bin/sh\necho {time.time() - 3600:.6f}\n")
    (tmp_path / "date").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert "hello" in run(["echo", "hello"], time.time() + 0.2, env=environment).stdout
