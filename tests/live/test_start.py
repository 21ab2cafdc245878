"""Ranks started by start-rank in the node image: forked from one parent, otherwise like mpirun's own children.

The parent is forked from the node's prepared process, or is a program of its own where there is none or where the
environment names other modules, as PYTHONPATH does. Needs Docker and the node image, as `tests.live.node_container`
says.
"""

import json
import time

import pytest

from tests.live.node_container import MPIRUN, NodeContainer
from tests.live.resident_world import ResidentWorld

ENDLESS = "poisson --grid 100 --native --iterations 10000000"
OWN_PARENT = "env PYTHONPATH=/opt/testbed start-rank"
FORKED_PARENT = "env --unset=PYTHONPATH start-rank"
PREPARED = "pgrep --full '[-]m apps.start.prepared' --ignore-ancestors"


def start_prepared(node: NodeContainer) -> None:
    """Start the prepared process as a cluster's entry point does, and wait until it listens."""
    if node.inside(PREPARED).stdout:
        return
    node.inside(
        "mkdir -p /run/testbed/prepared; rm -f /run/testbed/prepared/socket;"
        " nohup setsid env --chdir=/ --unset=PYTHONPATH LD_BIND_NOW=1"
        f" /usr/bin/python3 -m apps.start.prepared '{' ' * 1000}' >/dev/null 2>&1 &"
    )
    for _ in range(300):
        if node.inside("test -S /run/testbed/prepared/socket").returncode == 0:
            return
        time.sleep(0.1)
    pytest.fail("the prepared process does not listen")


@pytest.fixture(params=[OWN_PARENT, FORKED_PARENT], ids=["own parent", "forked parent"])
def start_rank(request: pytest.FixtureRequest, node: NodeContainer) -> str:
    """The words that start a rank, for each of the two ways in which it gets a parent."""
    if request.param == FORKED_PARENT:
        start_prepared(node)
    return str(request.param)


def test_a_job_computes_the_same_however_its_ranks_were_started(
    node: NodeContainer, world: ResidentWorld, start_rank: str
) -> None:
    line = "poisson --grid 40 --native --iterations 50"
    resident = world.run(5, line).record
    outcomes = [node.inside(f"{MPIRUN} -n 5 {way} {line}") for way in (start_rank, "python3 -m apps")]
    assert [outcome.returncode for outcome in outcomes] == [0, 0]
    warm, plain = (json.loads(outcome.stdout.splitlines()[-1])["record"] for outcome in outcomes)
    for name in ("global_error", "error_max_norm", "iterations", "processors", "versions"):
        assert warm[name] == plain[name] == resident[name]
    assert not node.ranks_left()


def test_one_parent_forks_all_ranks_and_mpirun_s_signals_reach_them(node: NodeContainer, start_rank: str) -> None:
    job = node.begin(6, f"{start_rank} {ENDLESS}")
    ranks = node.inside("pgrep --full '^python3 -m apps poisson --grid 100 '").stdout.split()
    (parent,) = node.inside("pgrep --full apps.start.parent --ignore-ancestors").stdout.split()
    parents = node.inside(f"ps -o ppid= -p {','.join(ranks)}").stdout.split()
    groups = node.inside("pgrep --full '^python3 -m apps ' | xargs ps -o pgid= -p").stdout.split()
    (grandparent,) = node.inside(f"ps -o ppid= -p {parent}").stdout.split()
    assert len(ranks) == 6
    assert set(parents) == {parent}
    if start_rank == FORKED_PARENT:
        assert grandparent == node.inside(PREPARED).stdout.strip()
        assert set(groups) == {parent}
    else:
        starters = node.inside("pgrep --exact start-rank").stdout.split()
        assert grandparent in starters
        assert set(groups) == set(starters)
    node.inside(f"kill {job.mpirun}")
    job.end()
    assert not node.ranks_left()


def test_what_a_start_needed_has_the_lowest_priority_and_the_iterations_the_usual_one(
    node: NodeContainer, start_rank: str
) -> None:
    job = node.begin(2, f"{start_rank} {ENDLESS}")
    ranks = node.inside("pgrep --full '^python3 -m apps poisson --grid 100 '").stdout.split()
    threads = node.inside(f"ps -L -o pid=,lwp=,ni= -p {','.join(ranks)}").stdout.splitlines()
    iterating: list[str] = []
    others: list[str] = []
    for process, thread, priority in (line.split() for line in threads):
        (iterating if thread == process else others).append(priority)
    assert iterating == ["0", "0"]
    # The thread that started the rank, and those of MPI.
    assert set(others) == {"19"}
    node.inside(f"kill {job.mpirun}")
    job.end()


def test_jobs_outlive_the_prepared_process_and_start_without_it(node: NodeContainer) -> None:
    start_prepared(node)
    job = node.begin(4, f"{FORKED_PARENT} {ENDLESS}")
    node.inside("pkill --signal KILL --full '[-]m apps.start.prepared'")
    later = node.inside(f"{MPIRUN} -n 3 {FORKED_PARENT} poisson --grid 20 --native --iterations 5")
    assert later.returncode == 0, later.stderr
    assert job.client.poll() is None
    node.inside(f"kill {job.mpirun}")
    job.end()
    assert not node.ranks_left()


def test_jobs_that_start_at_the_same_time_have_a_parent_each(node: NodeContainer) -> None:
    start_prepared(node)
    jobs = [node.begin(2, f"{FORKED_PARENT} {ENDLESS}") for _ in range(3)]
    parents = node.inside("pgrep --full apps.start.parent --ignore-ancestors").stdout.split()
    assert len(parents) == len(jobs)
    node.inside(f"kill {' '.join(str(job.mpirun) for job in jobs)}")
    for job in jobs:
        job.end()
    assert not node.ranks_left()


def test_a_rank_works_in_the_folder_where_it_was_started(node: NodeContainer, start_rank: str) -> None:
    line = f"{start_rank} poisson --grid 20 --native --iterations 5 --save 'here it is.npy'"
    assert node.inside(f"cd /exchange && {MPIRUN} -n 3 {line}").returncode == 0
    assert (node.exchange_directory / "here it is.npy").exists()


@pytest.mark.parametrize(
    ("victim", "sentence"),
    [
        ("pkill --signal KILL --newest --full '^python3 -m apps '", "was ended by signal 9 (Killed)."),
        ("pkill --signal SEGV --oldest --full '^python3 -m apps '", "was ended by signal 11 (Segmentation fault)."),
        ("pkill --signal KILL --full apps.start.parent --ignore-ancestors", "were forked from has ended."),
    ],
)
def test_what_is_killed_ends_the_job_with_a_sentence_and_leaves_nothing(
    node: NodeContainer, start_rank: str, victim: str, sentence: str
) -> None:
    job = node.begin(4, f"{start_rank} {ENDLESS}")
    node.inside(victim)
    output, errors = job.end()
    assert not node.ranks_left()
    assert sentence in errors
    said = [json.loads(line) for line in output.splitlines()]
    assert sentence in next(event["reason"] for event in said if event["event"] == "failed")


@pytest.mark.parametrize("oldest_or_newest", ["--oldest", "--newest"])
def test_a_rank_goes_with_its_start_rank(node: NodeContainer, start_rank: str, oldest_or_newest: str) -> None:
    job = node.begin(4, f"{start_rank} {ENDLESS}")
    node.inside(f"pkill --signal KILL {oldest_or_newest} --exact start-rank")
    job.end()
    assert not node.ranks_left()


def test_nothing_stays_when_mpirun_itself_is_killed(node: NodeContainer, start_rank: str) -> None:
    job = node.begin(4, f"{start_rank} {ENDLESS}")
    node.inside(f"kill -KILL {job.mpirun}")
    job.end()
    assert not node.ranks_left()


def test_an_application_s_refusal_is_said_once_and_passed_on(node: NodeContainer, start_rank: str) -> None:
    ended = node.inside(f"{MPIRUN} -n 4 {start_rank} poisson --grid 0 --iterations 1")
    assert ended.returncode == 2
    assert ended.stderr.count("--grid must be at least 1") == 1
    assert not node.ranks_left()


def test_without_mpirun_it_is_the_program_itself(node: NodeContainer) -> None:
    ended = node.inside("start-rank poisson --grid 20 --native --iterations 5")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout.splitlines()[-1])["record"]["processors"] == 1
    refused = node.inside("start-rank quake")
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1


def test_help_needs_no_job(node: NodeContainer) -> None:
    assert "usage: python3 -m apps poisson" in node.inside("start-rank poisson --help").stdout


HOLDS_UP_ITS_DAEMON = """
import os, signal, time
from apps.start.mpi import leave, world

communicator = world()
from mpi4py import MPI

def hold_up(*_):
    daemon = os.getppid()
    os.kill(daemon, signal.SIGSTOP)
    if os.fork() == 0:
        time.sleep(2.5)
        os.kill(daemon, signal.SIGCONT)
        os._exit(0)

if communicator.rank == 1:
    # MPI deletes it at its end, after the ranks have met and before they tell the daemon that they end.
    communicator.Set_attr(MPI.Comm.Create_keyval(delete_fn=hold_up), None)
leave(0)
"""


def test_a_job_ends_well_whose_daemon_is_held_up_at_its_end(node: NodeContainer) -> None:
    (node.exchange_directory / "program.py").write_text(HOLDS_UP_ITS_DAEMON)
    # Without the care for it, about three of four such jobs fail.
    job = f"{MPIRUN} -n 4 python3 /exchange/program.py"
    ended = node.inside(f"for n in 1 2 3 4; do {job} & done; for each in $(jobs -p); do wait $each; echo $?; done")
    assert ended.stdout.split() == ["0"] * 4, ended.stderr
