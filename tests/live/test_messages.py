"""Messages and collectives in the node image: their contents, and arrivals no earlier than the interconnect allows.

Where a test needs a boundary between clusters, it is simulated inside one container; messages across it are not paced.
"""

import itertools

import pytest

from tests.live.resident_world import ResidentWorld

INTERCONNECT = "Interconnect('slow', 5e-3, 80.0, 1e-3)"
SETTING = """
import json, time
import numpy as np
from apps.application import JobContext
from apps.interconnect import Interconnect
from apps.pacing import DilatedPacer, ProcessorProfile
from apps.record import JobSetting
from emulator.model.clock import Dilation

rank, size = communicator.rank, communicator.size
dilation = Dilation({dilation})
setting = JobSetting(
    dilation, {clusters}, {components}, ProcessorProfile(100.0, 200.0, 1000), interconnect={interconnect}, **{more}
)
job = JobContext.of_rank(communicator, setting, DilatedPacer(dilation))
messenger, collectives = job.messenger, job.collectives
job.collectives.barrier()

def report(**values):
    gathered = communicator.gather(values, root=0)
    if gathered is not None:
        print(json.dumps({{"event": "reported", "ranks": gathered}}), flush=True)
"""


def run_on_ranks(world: ResidentWorld, processes: int, program: str, **setting: object) -> list[dict[str, object]]:
    """Run `program` in this setting as a job; return what each rank reports."""
    given = {"dilation": 1.0, "clusters": 1, "components": (processes,), "interconnect": "None", "more": {}} | setting
    outcome = world.run_program(processes, SETTING.format(**given) + program + "\ncollectives.free()\n")
    assert outcome.exit_code == 0, outcome.errors
    ranks: list[dict[str, object]] = outcome.events["reported"]["ranks"]
    return ranks


COLLECTIVES = """
own = np.random.default_rng(rank).normal(size=(3, 5))
everybody = [np.random.default_rng(other).normal(size=(3, 5)) for other in range(size)]
added, largest = collectives.all_reduce(own), collectives.all_reduce(own, "max")
reduction = job.reduction(2, "sum")
reduced = [reduction.reduce([rank, 1.0]).tolist() for _ in range(3)]
reduction.free()
told = np.full(1000, float(rank))
collectives.broadcast(told, root=size - 1)
outgoing = np.arange(size * 4.0).reshape(size, 4) + 100.0 * rank
incoming = collectives.all_to_all(outgoing)
mine = np.empty(2 + rank)
collectives.scatter([np.full(2 + other, other + 0.5) for other in range(size)] if rank == 0 else None, mine)
blocks = [np.empty(2 + other) for other in range(size)]
collectives.gather(mine * 2, blocks if rank == 0 else None)
report(
    added=bool(np.allclose(added, sum(everybody))),
    bits=added.tobytes().hex(),
    largest=bool(np.array_equal(largest, np.maximum.reduce(everybody))),
    reduced=reduced == [[size * (size - 1) / 2, float(size)]] * 3,
    told=bool((told == size - 1).all()),
    exchanged=all((incoming[other] == np.arange(4.0) + 4 * rank + 100.0 * other).all() for other in range(size)),
    scattered=bool((mine == rank + 0.5).all()),
    collected=rank > 0 or all((block == 2 * other + 1).all() for other, block in enumerate(blocks)),
)
"""


@pytest.mark.parametrize(
    ("processes", "clusters", "components"), [(1, 1, (1,)), (2, 2, (1, 1)), (7, 1, (7,)), (7, 3, (2, 4, 1))]
)
@pytest.mark.parametrize("interconnect", ["None", "Interconnect('quick', 1e-5, 1000.0)"])
def test_collectives_are_numpys(
    world: ResidentWorld, processes: int, clusters: int, components: tuple[int, ...], interconnect: str
) -> None:
    ranks = run_on_ranks(
        world, processes, COLLECTIVES, clusters=clusters, components=components, interconnect=interconnect
    )
    assert len({rank.pop("bits") for rank in ranks}) == 1
    assert all(all(rank.values()) for rank in ranks), ranks


def test_strided_views_and_messages_larger_than_are_sent_at_once(world: ResidentWorld) -> None:
    program = """
values = np.arange(300_000.0).reshape(3, 100_000) * (rank + 1)
column, row = np.empty((3, 2)), np.empty(100_000)
other = 1 - rank
for _ in range(3):
    messenger.exchange(
        sends=[(values[:, 7], other, 1), (values[2], other, 2)],
        receives=[(column[:, 1], other, 1), (row, other, 2)],
    )
expected = np.arange(300_000.0).reshape(3, 100_000) * (other + 1)
report(column=bool((column[:, 1] == expected[:, 7]).all()), row=bool((row == expected[2]).all()))
"""
    assert all(all(rank.values()) for rank in run_on_ranks(world, 2, program))


PING = """
values = np.zeros(10_000)
messenger.timestamp_ns = started_ns = time.monotonic_ns()
for _ in range({rounds}):
    if rank == 0:
        messenger.send(values, 1)
        messenger.receive(values, 1)
    elif rank == 1:
        messenger.receive(values, 0)
        messenger.send(values, 0)
timestamp_s = (messenger.timestamp_ns - started_ns) / 1e9
messenger.wait_until_timestamp()
report(timestamp_s=timestamp_s, host_s=(time.monotonic_ns() - started_ns) / 1e9, paced=messenger.count.paced_messages)
"""


@pytest.mark.timed
def test_a_message_takes_the_interconnects_latency_rate_and_overhead(world: ResidentWorld) -> None:
    # 10,000 values are 80,000 bytes: 8 ms at 80 Mbit/s, and 1 ms for the message, and 5 ms of latency.
    for dilation in (1.0, 2.0):
        first, _ = run_on_ranks(world, 2, PING.format(rounds=3), interconnect=INTERCONNECT, dilation=dilation)
        assert first["timestamp_s"] >= 6 * 0.014 * dilation
        assert first["timestamp_s"] == pytest.approx(6 * 0.014 * dilation, rel=0.2)
        assert first["host_s"] >= first["timestamp_s"]


@pytest.mark.timed
def test_messages_between_clusters_are_not_paced(world: ResidentWorld) -> None:
    ranks = run_on_ranks(world, 2, PING.format(rounds=3), interconnect=INTERCONNECT, clusters=2, components=(1, 1))
    assert all(float(str(rank["timestamp_s"])) < 0.014 for rank in ranks)


@pytest.mark.timed
def test_messages_of_one_sender_leave_one_after_another(world: ResidentWorld) -> None:
    program = """
values, incoming = np.zeros(10_000), np.zeros((4, 10_000))
messenger.timestamp_ns = started_ns = time.monotonic_ns()
if rank == 0:
    messenger.exchange(sends=[(values, other, 0) for other in range(1, size)])
else:
    messenger.receive(values, 0)
report(taken_s=(messenger.timestamp_ns - started_ns) / 1e9, timestamp_ns=messenger.timestamp_ns)
"""
    first, *others = run_on_ranks(world, 5, program, interconnect=INTERCONNECT)
    assert float(str(first["taken_s"])) >= 4 * 0.009
    for earlier_ns, later_ns in itertools.pairwise(sorted(int(str(rank["timestamp_ns"])) for rank in others)):
        assert later_ns - earlier_ns == 9_000_000


SHARED_INTERFACES = """
from apps.interfaces import shared_interface
busy_s, own, other = 0.5, f"test-n{rank + 1}", f"test-n{2 - rank}"
interface = shared_interface(own)
communicator.Barrier()
free_ns = time.monotonic_ns() + int(busy_s * 1e9)
interface[0] = free_ns if rank == 0 else 0
collectives.barrier()
outside_ns = interface[0] - (free_ns if rank == 0 else 0)
messenger.enter_network()
values = np.zeros(10_000)
messenger.timestamp_ns = time.monotonic_ns()
if rank == 0:
    messenger.send(values, 1)
else:
    messenger.receive(values, 0)
    arrived_ns = messenger.timestamp_ns
    messenger.send(values, 0)
sent_host_ns = time.monotonic_ns()
if rank == 0:
    messenger.receive(values, 1)
    arrived_ns = sent_host_ns
messenger.leave_network()
collectives.barrier()
report(outside_ns=outside_ns, early_ns=arrived_ns - sent_host_ns, left_after_s=(interface[0] - free_ns) / 1e9)
"""


def test_what_ranks_say_before_the_loop_neither_waits_for_other_jobs_messages_nor_holds_them_up(
    world: ResidentWorld,
) -> None:
    """The interface of the first rank's node sends another job's message; a message in the loop leaves after that.

    The second rank has it in the future, and takes the turn of its answer only then, behind what others send before.
    """
    more = {"shared_nodes": ("test-n1", "test-n2")}
    first, second = run_on_ranks(world, 2, SHARED_INTERFACES, interconnect=INTERCONNECT, more=more)
    assert first["outside_ns"] == second["outside_ns"] == 0
    assert first["left_after_s"] == pytest.approx(0.009, abs=1e-6)
    assert int(str(second["early_ns"])) <= 0


@pytest.mark.timed
def test_messages_to_one_receiver_come_in_one_after_another(world: ResidentWorld) -> None:
    program = """
values, incoming = np.zeros(10_000), np.zeros((4, 10_000))
collectives.barrier()
messenger.timestamp_ns = started_ns = time.monotonic_ns()
if rank == 0:
    messenger.exchange(receives=[(incoming[other - 1], other, 0) for other in range(1, size)])
else:
    messenger.send(values, 0)
report(timestamp_s=(messenger.timestamp_ns - started_ns) / 1e9)
"""
    first, *_ = run_on_ranks(world, 5, program, interconnect=INTERCONNECT)
    # The first message arrives after 14 ms, and each of the other three takes 8 ms more.
    assert float(str(first["timestamp_s"])) >= 0.014 + 3 * 0.008 - 0.004


@pytest.mark.timed
def test_a_message_across_clusters_leaves_no_earlier_than_its_processor_has_come_to_it(world: ResidentWorld) -> None:
    program = """
values = np.zeros(1)
started_ns = time.monotonic_ns()
if rank == 0:
    messenger.timestamp_ns = started_ns + 200_000_000
    messenger.send(values, 1)
else:
    messenger.receive(values, 0)
report(host_s=(time.monotonic_ns() - started_ns) / 1e9)
"""
    ranks = run_on_ranks(world, 2, program, interconnect=INTERCONNECT, clusters=2, components=(1, 1))
    assert float(str(ranks[0]["host_s"])) >= 0.2
    assert float(str(ranks[1]["host_s"])) > 0.15


LATE_RECEIVER = """
values = np.zeros(1)
begin_ns = communicator.bcast(time.monotonic_ns() + 100_000_000, root=0)
messenger.timestamp_ns = begin_ns + (0 if rank == 0 else {receiver_ms} * 1_000_000)
if rank == 0 or not {is_ahead}:
    messenger.wait_until_timestamp()
if rank == 0:
    messenger.send(values, 1)
else:
    messenger.receive(values, 0)
report(timestamp_ms=(messenger.timestamp_ns - begin_ns) / 1e6)
"""
STRETCHED = {"far_delays_s": (0.02, 0.02), "far_stretch": 3.0}


@pytest.mark.timed
@pytest.mark.parametrize(
    ("receiver_ms", "is_ahead", "expected_ms"),
    [
        pytest.param(0, False, 40, id="waits-for-it"),
        pytest.param(50, False, 60, id="looks-after-it-came"),
        pytest.param(90, False, 90, id="comes-later-than-it"),
        pytest.param(90, True, 90, id="is-ahead-of-the-host"),
    ],
)
def test_a_message_that_takes_longer_than_the_wide_area_counts_from_when_it_came(
    world: ResidentWorld, receiver_ms: int, is_ahead: bool, expected_ms: int
) -> None:
    """It leaves at 0 ms and comes at once, or after the stated 20 ms if the receiver looks later; 40 ms are added."""
    program = LATE_RECEIVER.format(receiver_ms=receiver_ms, is_ahead=is_ahead)
    setting = {"interconnect": INTERCONNECT, "clusters": 2, "components": (1, 1), "more": STRETCHED}
    found_ms = [float(str(run_on_ranks(world, 2, program, **setting)[1]["timestamp_ms"])) for _ in range(3)]
    assert min(found_ms) >= expected_ms
    assert min(found_ms) == pytest.approx(expected_ms, abs=8)


@pytest.mark.timed
def test_such_a_message_comes_when_it_did_by_the_receivers_clock_where_the_senders_is_behind(
    world: ResidentWorld,
) -> None:
    """The sender's clock is said to be 15 ms behind: the message left at 15 ms, came at 35 ms, and takes 40 ms more."""
    program = LATE_RECEIVER.format(receiver_ms=50, is_ahead=False)
    more = {**STRETCHED, "clocks_ahead_s": (-0.015, 0.0)}
    setting = {"interconnect": INTERCONNECT, "clusters": 2, "components": (1, 1), "more": more}
    found_ms = [float(str(run_on_ranks(world, 2, program, **setting)[1]["timestamp_ms"])) for _ in range(3)]
    assert min(found_ms) >= 75
    assert min(found_ms) == pytest.approx(75, abs=8)


@pytest.mark.timed
def test_waiting_for_a_neighbour_costs_no_cpu(world: ResidentWorld) -> None:
    program = """
values = np.zeros(1)
cpu_s = 0.0
if rank == 0:
    time.sleep(1.0)
    messenger.send(values, 1)
else:
    started_s = time.process_time()
    messenger.receive(values, 0)
    cpu_s = time.process_time() - started_s
report(cpu_s=cpu_s)
"""
    assert all(float(str(rank["cpu_s"])) < 0.05 for rank in run_on_ranks(world, 2, program))


@pytest.mark.timed
def test_meeting_before_a_blocking_operation_costs_no_cpu(world: ResidentWorld) -> None:
    program = """
from apps.start.mpi import meet
started_s = time.process_time()
if rank == 0:
    time.sleep(1.0)
meet(communicator)
cpu_s = time.process_time() - started_s
report(cpu_s=cpu_s)
"""
    assert all(float(str(rank["cpu_s"])) < 0.1 for rank in run_on_ranks(world, 4, program))


STOPPED = """
import os, signal
processes, values = communicator.allgather(os.getpid()), np.zeros(1)
if rank == 0:
    time.sleep(0.25)
    os.kill(processes[1], signal.SIGSTOP)
    time.sleep(1.0)
    os.kill(processes[1], signal.SIGCONT)
    time.sleep(0.25)
    messenger.send(values, 1)
else:
    messenger.receive(values, 0)
report(stood_s=sum(ended_ns - began_ns for began_ns, ended_ns in messenger.take_standstills_ns()) / 1e9)
"""


@pytest.mark.timed
def test_a_rank_that_was_stopped_while_it_waited_knows_for_how_long(world: ResidentWorld) -> None:
    waiting_for_nobody, stopped = run_on_ranks(world, 2, STOPPED)
    assert waiting_for_nobody["stood_s"] == 0
    assert float(str(stopped["stood_s"])) >= 1.0


@pytest.mark.timed
def test_a_standstill_costs_nothing_where_the_message_says_when_it_arrived(world: ResidentWorld) -> None:
    ranks = run_on_ranks(world, 2, STOPPED, interconnect=INTERCONNECT)
    assert [rank["stood_s"] for rank in ranks] == [0, 0]


STOPPED_BEFORE_THE_START = """
import os, signal, subprocess
from apps.timeline import pass_finish_barrier, pass_start_barrier
process = communicator.bcast(os.getpid(), root=1)
if rank == 0:
    stopping = subprocess.Popen(["sh", "-c", f"sleep 0.3; kill -STOP {{process}}; sleep 1.2; kill -CONT {{process}}"])
pass_start_barrier(job, communicator.bcast(time.time() + 0.6, root=0))
if rank == 0:
    stopping.wait()
pass_finish_barrier(job)
collectives.free()
"""


@pytest.mark.timed
def test_a_rank_that_is_stopped_before_the_announced_start_makes_the_start_late(world: ResidentWorld) -> None:
    program = (SETTING + STOPPED_BEFORE_THE_START).format(
        dilation=1.0, clusters=1, components=(2,), interconnect="None", more={}
    )
    started = world.run_program(2, program).events["started"]
    assert started["host_late_s"] == pytest.approx(0.9, abs=0.3)
