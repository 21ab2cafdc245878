"""The synthetic application in the node image: message patterns, times, a wrong message, errors.

Needs Docker and the node image, as `tests.live.node_container` says. Jobs run in the resident MPI world.
"""

import pytest

from tests.live.node_container import NodeContainer
from tests.live.resident_world import ResidentWorld


@pytest.mark.parametrize("pattern", ["neighbours", "all-to-all", "master-worker", "none"])
@pytest.mark.parametrize("processes", [1, 2, 5, 8])
def test_every_message_of_a_pattern_arrives_as_it_was_sent(world: ResidentWorld, pattern: str, processes: int) -> None:
    line = f"synthetic --points 50 --native --iterations 30 --pattern {pattern} --message-bytes 72"
    record = world.run(processes, f"{line} --collective-every 7 --collective-bytes 40").record
    each = {
        # The process grids are 2 x 1, 5 x 1 and 4 x 2, with a message in both directions over each inner edge.
        "neighbours": {1: 0, 2: 2, 5: 8, 8: 20}[processes],
        "all-to-all": processes * (processes - 1),
        "master-worker": 2 * (processes - 1),
        "none": 0,
    }
    assert record["iterations"] == 30
    assert record["messages"] == 30 * each[pattern]
    assert record["message_bytes_sent"] == 72 * 30 * each[pattern]


@pytest.mark.parametrize("size_bytes", [8, 4096, 4104, 1_000_000])
def test_messages_of_any_size_arrive_as_they_were_sent(world: ResidentWorld, size_bytes: int) -> None:
    line = f"synthetic --points 50 --native --iterations 5 --message-bytes {size_bytes} --collective-every 1"
    for pattern in ("neighbours", "all-to-all", "master-worker"):
        record = world.run(3, f"{line} --pattern {pattern} --collective-bytes {size_bytes}").record
        assert record["message_bytes_sent"] == record["messages"] * size_bytes > 0


@pytest.mark.timed
def test_an_iteration_takes_the_time_that_is_stated(world: ResidentWorld) -> None:
    line = "synthetic --compute-s 0.01 --iterations 20 --pattern none --dilation"
    slow, fast = (world.run(4, f"{line} {dilation}").record for dilation in (4, 2))
    for record in (slow, fast):
        # Without messages no rank waits for a rank that the host delays, so all phases end at their planned time.
        assert record["iteration_spread_s"]["min"] == pytest.approx(0.010, rel=1e-6)
        assert record["iteration_spread_s"]["max"] == pytest.approx(0.010, rel=1e-6)
        assert record["runtime_s"] >= 20 * 0.010
        assert record["phases"] == 4 * 20


@pytest.mark.timed
def test_points_take_the_time_of_poissons(world: ResidentWorld) -> None:
    line = "synthetic --points 5000 --in-cache-ns-per-point 2000 --iterations 20 --dilation 2 --pattern none"
    record = world.run(4, line).record
    assert record["iteration_spread_s"]["median"] == pytest.approx(0.010, rel=1e-6)
    assert record["host_kernel_cpu_s"] > 0.0


@pytest.mark.timed
def test_messages_over_a_slow_interconnect_take_its_time(world: ResidentWorld) -> None:
    """An iteration is 10 ms of computing, then two messages in turn of 5 ms latency and 8000 bytes at 8 Mbit/s each."""
    line = "synthetic --compute-s 0.01 --iterations 10 --pattern master-worker --message-bytes 8000"
    record = world.run(2, f"{line} --interconnect slow:0.005:8:0").record
    assert record["interconnects"] == "slow"
    # This is the worker's time; the master continues as soon as it has received the answer.
    assert record["runtime_s"] >= 10 * (0.010 + 2 * (0.005 + 0.008))
    assert record["iteration_spread_s"]["median"] == pytest.approx(0.036, rel=0.10)


def test_a_message_with_another_content_fails_the_job(node: NodeContainer) -> None:
    program = (
        "import sys, numpy, apps.messaging\n"
        "from apps.content import CheckedMessages\n"
        "from apps.run import main\n"
        "fill = CheckedMessages.fill\n"
        "def fill_wrongly(self, iteration):\n"
        "    fill(self, iteration)\n"
        "    if iteration == 7 and len(self.outgoing) == 2:\n"
        "        self.outgoing[1, -1] += 1.0\n"
        "CheckedMessages.fill = fill_wrongly\n"
        "sys.exit(main('synthetic --points 50 --native --iterations 9 --pattern neighbours'.split()))\n"
    )
    outcome = node.run_program(3, program)
    assert outcome.exit_code == 1
    assert outcome.errors.count("1 of 36 messages and 0 sums had another content") == 1
    assert "result" not in outcome.events
    assert not node.ranks_left()
