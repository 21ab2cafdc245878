"""Ranks started by start-rank in the node image: forked from one parent, and otherwise as mpirun's own children are.

Needs Docker and the node image, whose name TESTBED_NODE_IMAGE gives; no testbed.
"""

import json
import subprocess
import time
from collections.abc import Iterator

import pytest

from tests.live.node_container import MPIRUN, NodeContainer, node_container

ENDLESS = "poisson --grid 100 --native --iterations 10000000"
OURS = "start-rank|apps.start.parent|[-]m apps"


class Starting:
    """Jobs in one node container, started by start-rank or in its place."""

    def __init__(self, node: NodeContainer) -> None:
        self.node = node

    def inside(self, command: str) -> subprocess.CompletedProcess[str]:
        line = ["docker", "exec", self.node.identity, "bash", "-c", command]
        return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)

    def begin(self, processes: int, rank: str) -> subprocess.Popen[str]:
        """A job that has passed its start barrier and still runs."""
        command = [*MPIRUN.split(), "-n", str(processes), *rank.split()]
        job = subprocess.Popen(
            ["docker", "exec", self.node.identity, *command],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert job.stdout is not None
        assert json.loads(job.stdout.readline())["event"] == "started"
        return job

    def nothing_left(self) -> bool:
        """Whether no process of a job is left; one that has been killed is given time to be gone."""
        for _ in range(50):
            if self.inside(f"pgrep --full '{OURS}' --ignore-ancestors || true").stdout.strip() == "":
                return True
            time.sleep(0.1)
        return False


@pytest.fixture(scope="module")
def starting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starting]:
    with node_container(tmp_path_factory.mktemp("exchange")) as node:
        yield Starting(node)


def test_a_job_computes_the_same_however_its_ranks_were_started(starting: Starting) -> None:
    line = "poisson --grid 40 --native --iterations 50"
    outcomes = [starting.inside(f"{MPIRUN} -n 5 {way} {line}") for way in ("start-rank", "python3 -m apps")]
    assert [outcome.returncode for outcome in outcomes] == [0, 0]
    warm, plain = (json.loads(outcome.stdout.splitlines()[-1])["record"] for outcome in outcomes)
    for name in ("global_error", "error_max_norm", "iterations", "processors", "versions"):
        assert warm[name] == plain[name]
    assert starting.nothing_left()


def test_one_parent_forks_all_ranks_and_looks_like_none(starting: Starting) -> None:
    job = starting.begin(6, f"start-rank {ENDLESS}")
    ranks = starting.inside("pgrep --full '^python3 -m apps poisson --grid 100 '").stdout.split()
    (parent,) = starting.inside("pgrep --full apps.start.parent --ignore-ancestors").stdout.split()
    parents = starting.inside(f"ps -o ppid= -p {','.join(ranks)}").stdout.split()
    assert len(ranks) == 6
    assert set(parents) == {parent}
    starting.inside("pkill --exact mpirun")
    assert job.wait(timeout=30) != 0
    assert starting.nothing_left()


def test_a_rank_works_in_the_folder_where_it_was_started(starting: Starting) -> None:
    line = "start-rank poisson --grid 20 --native --iterations 5 --save 'here it is.npy'"
    assert starting.inside(f"cd /exchange && {MPIRUN} -n 3 {line}").returncode == 0
    assert (starting.node.exchange_directory / "here it is.npy").exists()


def test_mpirun_s_signals_reach_the_ranks_themselves(starting: Starting) -> None:
    job = starting.begin(3, f"start-rank {ENDLESS}")
    groups = starting.inside("pgrep --full '^python3 -m apps ' | xargs ps -o pgid= -p").stdout.split()
    assert set(groups) == set(starting.inside("pgrep --exact start-rank").stdout.split())
    starting.inside("pkill --exact mpirun")
    assert job.wait(timeout=30) != 0


@pytest.mark.parametrize(
    ("victim", "sentence"),
    [
        ("pkill --signal KILL --newest --full '^python3 -m apps '", "was ended by signal 9 (Killed)."),
        ("pkill --signal SEGV --oldest --full '^python3 -m apps '", "was ended by signal 11 (Segmentation fault)."),
        ("pkill --signal KILL --full apps.start.parent --ignore-ancestors", "were forked from has ended."),
    ],
)
def test_what_is_killed_ends_the_job_with_a_sentence_and_leaves_nothing(
    starting: Starting, victim: str, sentence: str
) -> None:
    job = starting.begin(4, f"start-rank {ENDLESS}")
    starting.inside(victim)
    output, errors = job.communicate(timeout=60)
    assert job.returncode not in (0, None)
    assert starting.nothing_left()
    assert sentence in errors
    said = [json.loads(line) for line in output.splitlines()]
    assert sentence in next(event["reason"] for event in said if event["event"] == "failed")


@pytest.mark.parametrize("oldest_or_newest", ["--oldest", "--newest"])
def test_a_rank_goes_with_its_start_rank(starting: Starting, oldest_or_newest: str) -> None:
    job = starting.begin(4, f"start-rank {ENDLESS}")
    starting.inside(f"pkill --signal KILL {oldest_or_newest} --exact start-rank")
    job.communicate(timeout=60)
    assert job.returncode not in (0, None)
    assert starting.nothing_left()


def test_nothing_stays_when_mpirun_itself_is_killed(starting: Starting) -> None:
    job = starting.begin(4, f"start-rank {ENDLESS}")
    starting.inside("pkill --signal KILL --exact mpirun")
    job.communicate(timeout=60)
    assert starting.nothing_left()


def test_an_application_s_refusal_is_said_once_and_passed_on(starting: Starting) -> None:
    ended = starting.inside(f"{MPIRUN} -n 4 start-rank poisson --grid 0 --iterations 1")
    assert ended.returncode == 2
    assert ended.stderr.count("--grid must be at least 1") == 1
    assert starting.nothing_left()


def test_without_mpirun_it_is_the_program_itself(starting: Starting) -> None:
    ended = starting.inside("start-rank poisson --grid 20 --native --iterations 5")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout.splitlines()[-1])["record"]["processors"] == 1
    refused = starting.inside("start-rank quake")
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1


def test_help_needs_no_job(starting: Starting) -> None:
    assert "usage: python3 -m apps poisson" in starting.inside("start-rank poisson --help").stdout
