"""The resident world of the application tests: no cost while it waits, no trace of a job, no effect of a failure.

Needs Docker and the node image, as `tests.live.node_container` says.
"""

import time
from collections.abc import Iterator

import pytest

from tests.live.node_container import NodeContainer
from tests.live.resident_world import RANKS, ResidentWorld

CPU_TICKS = f"pgrep --full '^python3 .*resident-{RANKS}' | xargs -I@ cut -d' ' -f14,15 /proc/@/stat"
SMALL_JOB = "poisson --grid 20 --native --iterations 5"


def used_ticks(world: ResidentWorld) -> list[int]:
    """Return the CPU time that each rank of the world has used."""
    lines = world.node.inside(CPU_TICKS).stdout.splitlines()
    return [sum(map(int, line.split())) for line in lines]


@pytest.mark.timed
def test_ranks_that_wait_cost_no_cpu(world: ResidentWorld) -> None:
    world.run(RANKS, SMALL_JOB)
    before = used_ticks(world)
    time.sleep(1.0)
    assert len(before) == RANKS
    assert sum(used_ticks(world)) - sum(before) <= 1


@pytest.mark.timed
def test_ranks_that_a_job_does_not_have_take_no_part_in_it(world: ResidentWorld) -> None:
    world.run(2, SMALL_JOB)
    before = used_ticks(world)
    for _ in range(5):
        assert world.run(2, SMALL_JOB).record["processors"] == 2
    assert sum(after > earlier for earlier, after in zip(before, used_ticks(world), strict=True)) <= 2


@pytest.fixture
def small_world(node: NodeContainer) -> Iterator[ResidentWorld]:
    """Yield a world that one test may break."""
    world = ResidentWorld(node, ranks=3)
    yield world
    world.close()


LEAVING = {
    "open files": "import os; os.open('/dev/null', os.O_RDONLY)",
    "environment": "import os; os.environ['A_JOB_SAID'] = 'yes'",
    "a message": "import numpy; communicator.Isend(numpy.zeros(1), 1 - communicator.rank)",
    "doorbells in memory": "import apps.doorbells, sys; sys.kept = apps.doorbells.open_doorbells(communicator)",
    "garbage collection": "import gc; gc.disable()",
}


def test_what_a_job_leaves_behind_is_seen(small_world: ResidentWorld) -> None:
    for left, program in LEAVING.items():
        with pytest.raises(AssertionError, match=f"left behind: {left}"):
            small_world.run_program(2, program)


def test_a_job_that_fails_at_one_rank_takes_no_other_job_with_it(small_world: ResidentWorld) -> None:
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        small_world.run_program(3, "1 / communicator.rank\ncommunicator.Barrier()")
    assert small_world.run(3, SMALL_JOB).record["processors"] == 3
    refusal = small_world.refuse(3, "poisson --grid 0 --iterations 5")
    assert (refusal.kind, "--grid must be" in refusal.sentence) == ("InvalidInput", True)
    assert small_world.run(3, SMALL_JOB).record["processors"] == 3
