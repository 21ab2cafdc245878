"""The program in a cluster's container that serves local users, with Slurm's commands replaced by scripts that note."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.model.project import PROJECT_ROOT

PROGRAM = PROJECT_ROOT / "images" / "node" / "local-users.sh"
COMMANDS = {
    # Runs the job's script at once, as Slurm would on a node, unless it is to refuse.
    "sbatch": 'echo "sbatch $*" >> $NOTES; [ -z "$REFUSAL" ] || { echo "$REFUSAL" >&2; exit 1; }; '
    "for word; do case $word in --job-name=*) name=${word#*=};; esac; done; SLURM_JOB_NAME=$name bash 2>/dev/null",
    "setpriv": 'echo "setpriv $1 $2 $3" >> $NOTES; shift 3; exec "$@"',
    "scancel": 'echo "scancel $*" >> $NOTES',
    "squeue": 'echo "squeue $*" >> $NOTES; case "$*" in *--name*) echo "$STATE";; *) printf "a-1:R\\nb-2:PD\\n";; esac',
    "sinfo": "echo 10/54/0/64",
    # As if the signal that ends a job at its start had ended it: reports need no program to have a time.
    "date": "exit 143",
}
CANCELLED = ["scancel --quiet --user=background", "scancel --quiet --user=local"]


class Program:
    """The program with its input and output, and the notes of the commands that it ran."""

    def __init__(self, folder: Path, **environment: str) -> None:
        commands = folder / "bin"
        commands.mkdir()
        for name, text in COMMANDS.items():
            (commands / name).write_text(f"#!/bin/bash\n{text}\n")
            (commands / name).chmod(0o755)
        self.notes_file = folder / "notes"
        self.notes_file.touch()
        self.environment = {
            **os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "NOTES": str(self.notes_file),
            "TESTBED_LOCAL_USERS": str(folder / "state"), "STATE": "PD", **environment,
        }  # fmt: skip
        self.process = subprocess.Popen(
            ["bash", str(PROGRAM)], env=self.environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    @property
    def notes(self) -> list[str]:
        return self.notes_file.read_text().splitlines()

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def report(self) -> list[str]:
        """Return the words of the next report, without its timestamp."""
        assert self.process.stdout is not None
        words = self.process.stdout.readline().split()
        float(words[1])
        return [words[0], *words[2:]]

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    made = Program(tmp_path)
    yield made
    made.process.kill()
    made.process.wait()


def test_a_job_runs_under_its_account_and_says_when_it_starts_and_ends(program):
    program.tell("submit background-1 background 4 0.01")
    assert program.report() == ["started", "background-1"]
    assert program.report() == ["ended", "background-1"]
    assert "setpriv --reuid=background --regid=background --clear-groups" in program.notes
    (asked,) = (note for note in program.notes if note.startswith("sbatch"))
    assert "--job-name=background-1 --nice=100000 --ntasks=4" in asked


def test_a_job_that_is_prolonged_ends_as_much_later(program):
    program.tell("list 1")
    program.report()
    (Path(program.environment["TESTBED_LOCAL_USERS"]) / "more-background-1").write_text("0.4\n0.3\n")
    began_s = time.monotonic()
    program.tell("submit background-1 background 4 0.01")
    assert program.report() == ["started", "background-1"]
    assert program.report() == ["ended", "background-1"]
    assert time.monotonic() - began_s > 0.7
    program.tell("prolong background-2 5")
    program.tell("list 1")
    program.report()
    assert (Path(program.environment["TESTBED_LOCAL_USERS"]) / "more-background-2").read_text() == "5\n"


def test_a_job_that_is_refused_is_reported_with_the_reason(tmp_path):
    program = Program(tmp_path, REFUSAL="sbatch: error: Invalid user.")
    program.tell("submit local-2 local 4 10")
    assert program.report() == ["refused", "local-2", "sbatch:", "error:", "Invalid", "user."]
    program.end()


def test_a_job_that_is_cancelled_before_it_starts_is_reported_as_ended(program):
    program.tell("cancel local-2")
    assert program.report() == ["ended", "local-2"]
    assert "scancel --quiet --name=local-2" in program.notes


def test_a_job_that_runs_says_itself_that_it_ends(tmp_path):
    program = Program(tmp_path, STATE="R")
    program.tell("cancel local-2")
    program.tell("list 5")
    assert program.report()[0] == "listed"
    program.end()


def test_all_jobs_and_the_idle_processors_are_listed_under_the_number_of_the_question(program):
    program.tell("list 7")
    assert program.report() == ["listed", "7", "54", "a-1:R", "b-2:PD"]
    assert "squeue --noheader --user=background,local --states=PENDING,RUNNING --format=%j:%t" in program.notes


def test_all_jobs_are_cancelled_before_the_first_and_when_the_input_ends(program):
    program.tell("list 1")
    program.report()
    assert program.notes[:2] == CANCELLED
    assert program.notes.count(CANCELLED[0]) == 1
    program.end()
    assert program.notes[-2:] == CANCELLED


def test_with_the_argument_clear_it_only_cancels_all_jobs(program, tmp_path):
    program.end()
    before = len(program.notes)
    subprocess.run(["bash", str(PROGRAM), "clear"], env=program.environment, check=True, stdin=subprocess.DEVNULL)
    assert program.notes[before:] == CANCELLED


def test_no_word_is_expanded_by_the_shell(program):
    program.tell("submit * local 4 0.01")
    assert program.report() == ["started", "*"]
