"""Failing jobs in the node image: one clear sentence from one rank, a non-zero exit of the job, and no rank left.

Needs Docker and the node image, as `tests.live.node_container` says.
"""

from collections.abc import Callable

import pytest

from tests.live.node_container import NodeContainer, Outcome
from tests.live.resident_world import ResidentWorld

CANNOT_SAVE = "poisson --grid 20 --iterations 5 --native --save /missing/solution.npy"
OF_EACH_KIND = [
    (7, "poisson --grid 6 --iterations 5", 2, "A grid of 6 x 6 points cannot be divided over 7 processes"),
    (4, "poisson --grid 20 --iterations five", 2, "invalid int value: 'five'"),
    (4, "poisson --grid 20 --iterations 5000 --native --amplitude 1e308", 1, "The values overflowed in iteration"),
    (1, "poisson --grid 20 --iterations 5000 --native --amplitude 1e308", 1, "The values overflowed in iteration"),
]
"""Ranks, command line, exit code and sentence of a refusal by the set-up, one by the parser, and two overflows."""

OTHERS = [
    (4, "poisson --grid 0 --iterations 5", 2, "--grid must be at least 1 point"),
    (4, "poisson --grid 20 --iterations 5 --components 2,3", 2, "but 4 processes run"),
    (4, "poisson --grid 20 --iterations 5 --interconnect myrinet:nan:100", 2, "latency of myrinet must be"),
    (4, "poisson --grid 20 --iterations 5 --weight nan", 2, "--weight must be a positive number"),
    (4, "poisson --grid 20 --iterations 5 --dilation nan", 2, "dilation must be"),
    (
        4,
        "poisson --grid 20 --iterations 5 --native --save /missing/solution.npy",
        1,
        "could not be written to /missing",
    ),
    (5, "heat --grid 3 --steps 5", 2, "A grid of 3 rows cannot be divided over 4 workers"),
    (2, "heat --grid 20 --steps 5 --ratio 0.26", 2, "explicit steps of the heat equation are not stable"),
    (2, "heat --grid 20 --steps 0", 2, "--steps must be at least 1"),
    (1, "heat --grid 20 --steps 5 --native --amplitude 1.5e308", 1, "The values overflowed within"),
    (4, "heat --grid 20 --steps 5 --native --amplitude 1.5e308", 1, "The values overflowed within"),
    (4, "heat --grid 20 --steps 5 --native --save /missing/solution.npy", 1, "could not be written to /missing"),
    (3, "laplace --grid 20 --iterations 5", 2, "A square process grid cannot be made of 3 processes"),
    (8, "laplace --grid 20 --iterations 5", 2, "A square process grid cannot be made of 8 processes"),
    (4, "laplace --grid 3 --iterations 5", 2, "A grid of 3 x 3 points is too small for 2 x 2 processes"),
    (4, "laplace --grid 20 --iterations 5 --relaxation 2", 2, "--relaxation must be between 0 and 2"),
    (4, "laplace --grid 20 --iterations 5000 --native --amplitude 1e308", 1, "The values overflowed within"),
    (
        4,
        "laplace --grid 20 --iterations 5 --native --save /missing/solution.npy",
        1,
        "could not be written to /missing",
    ),
    (7, "ensflow --grid 16", 2, "60 members cannot be divided over 7 processes"),
    (4, "ensflow --grid 16 --members 6", 2, "6 members cannot be divided over 4 processes"),
    (2, "ensflow --grid 4", 2, "--grid must be at least 8 points along a side"),
    (2, "ensflow --grid 16 --currents nan", 2, "--currents must be a positive number of m/s, not nan"),
    (3, "ensflow --grid 16 --native --currents 3 --members 6", 1, "ran dry before the analysis of day 10"),
    (3, "ensflow --grid 16 --native --currents 3 --members 6 --days 5", 1, "ran dry within 5 days"),
    (
        3,
        "ensflow --grid 16 --native --members 6 --days 1 --save /missing/x.npy",
        1,
        "could not be written to /missing",
    ),
    (4, "synthetic", 2, "either --compute-s or --points"),
    (4, "synthetic --points 0", 2, "--points must be at least 1 grid point, not 0"),
    (4, "synthetic --compute-s nan", 2, "--compute-s must be a positive number of emulated seconds, not nan"),
    (4, "synthetic --points 9 --message-bytes 0", 2, "--message-bytes must be a positive multiple of 8"),
    (4, "synthetic --points 9 --pattern star", 2, "invalid choice: 'star'"),
]
"""All other failures that are the same at all ranks."""


def check_failed(node: NodeContainer, outcome: Outcome, exit_code: int, complaint: str) -> None:
    assert outcome.exit_code == exit_code, outcome.errors
    assert outcome.errors.count(complaint) == 1
    assert "Traceback" not in outcome.errors
    assert "result" not in outcome.events
    assert not node.ranks_left()


@pytest.mark.parametrize(("processes", "line", "exit_code", "complaint"), OF_EACH_KIND + OTHERS)
def test_every_rank_fails_by_the_same_sentence(
    world: ResidentWorld, processes: int, line: str, exit_code: int, complaint: str
) -> None:
    refusal = world.refuse(processes, line)
    assert complaint in refusal.sentence
    assert refusal.kind == {1: "RunFailed", 2: "InvalidInput"}[exit_code]


@pytest.mark.parametrize(
    ("processes", "line", "exit_code", "complaint"),
    OF_EACH_KIND + [pytest.param(*case, marks=pytest.mark.long) for case in OTHERS],
)
def test_an_error_is_one_sentence_and_ends_every_rank(
    node: NodeContainer, processes: int, line: str, exit_code: int, complaint: str
) -> None:
    check_failed(node, node.run(processes, line), exit_code, complaint)


@pytest.mark.parametrize("start", [NodeContainer.run, NodeContainer.run_from_parent])
@pytest.mark.parametrize("times", [2, pytest.param(20, marks=pytest.mark.long)])
def test_a_job_that_fails_at_its_end_ends_every_time(
    node: NodeContainer, start: Callable[..., Outcome], times: int
) -> None:
    for _ in range(times):
        outcome = start(node, 4, CANNOT_SAVE)
        check_failed(node, outcome, 1, "could not be written to /missing")
        assert outcome.events["failed"]["reason"] in outcome.errors


@pytest.mark.parametrize(
    ("raised", "exit_code", "sentence"),
    [
        ("RunFailed('Only this rank knows.')", 1, "Only this rank knows."),
        ("InvalidInput('Only this rank minds.')", 2, "Only this rank minds."),
        ("MemoryError('nothing left')", 1, "Rank 2 failed with MemoryError: nothing left"),
    ],
)
def test_what_one_rank_alone_raises_ends_the_others_wherever_they_wait(
    node: NodeContainer, raised: str, exit_code: int, sentence: str
) -> None:
    program = f"""
import sys
import apps.failing, apps.run
from apps.start.mpi import world
from emulator.model.errors import InvalidInput, RunFailed
apps.failing._OTHERS_WAIT_HOST_S = 0.5
def run(communicator, arguments, options):
    if communicator.rank == 2:
        raise {raised}
    communicator.Barrier()
apps.run.run = run
sys.exit(apps.run.main("poisson --grid 20 --iterations 1".split()))
"""
    check_failed(node, node.run_program(4, program), exit_code, sentence)


def test_a_rank_that_is_killed_under_a_plain_mpirun_ends_the_job(node: NodeContainer) -> None:
    """Only mpirun can report the signal, and it does."""
    job = node.begin(4, "python3 -m apps poisson --grid 100 --native --iterations 10000000")
    node.inside("pkill --signal KILL --newest --full '^python3 -m apps poisson'")
    _, errors = job.end()
    assert errors.count("exited on signal 9 (Killed)") == 1
    assert not node.ranks_left()
