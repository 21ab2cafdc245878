"""Scheduling on shared nodes: the paper's examples, the limits of nodes, and reservations worked by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.placement import Component, Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.model.time_sharing.rules import SocialContract
from emulator.policies.nodes.changes import joined, without
from emulator.policies.nodes.compositions import COMPOSITIONS, composition_named
from emulator.policies.nodes.forward import ends_ahead, expected_start_s, job_rates
from emulator.policies.nodes.job_queue import NodeQueue
from emulator.policies.nodes.job_selection import Backfill, BestFit, JustFirst
from emulator.policies.nodes.limits import NodeLimits
from emulator.policies.nodes.selection import NormalNodes, UniformNodes
from emulator.policies.nodes.stated import stated_limits
from emulator.policies.protocols import Arrival, Departure, WaitingJob
from emulator.policies.registry import JOB_SELECTIONS, NODE_SELECTIONS
from emulator.policies.state import NodeState, Surroundings, SystemState

MB = 10**6
TALKS, COMPUTES = 0.65, 0.9
"""Shares of the processor of a communication-bound and of a computation-bound job."""


def state(*nodes: NodeState, clusters: int = 1) -> SystemState:
    of_all = (nodes,) * clusters
    sizes = tuple(len(of_cluster) for of_cluster in of_all)
    return SystemState(sizes, sizes, 0.0, Surroundings(nodes=of_all))


def empty(nodes: int = 4, memory_mb: int = 512) -> SystemState:
    return state(*(NodeState(memory_mb * MB) for _ in range(nodes)))


def asks(tasks: int, share: float = COMPUTES, memory_mb: int = 50, estimate_s: float | None = 10.0) -> JobRequest:
    return JobRequest(
        RequestKind.TOTAL, (tasks,), estimate_s=estimate_s, memory_bytes=memory_mb * MB, processor_share=share
    )


def on(nodes: tuple[int, ...], cluster: int = 0) -> Placement:
    return Placement((Component(cluster, len(nodes), nodes),))


def nodes_of(placement: Placement | None) -> tuple[int, ...] | None:
    return None if placement is None else placement.components[0].nodes


normal = NormalNodes(NodeLimits())
light = UniformNodes(NodeLimits(), hard=False)
hard = UniformNodes(NodeLimits(), hard=True)


def test_the_papers_example():
    """Nodes 1 and 2 run communication-bound J2, 3 and 4 are idle; J3 is CPU-bound with two tasks."""
    now = joined(empty(), 2, asks(2, TALKS), on((0, 1)))
    assert nodes_of(light.place(asks(2), now)) == nodes_of(hard.place(asks(2), now)) == (0, 1)
    assert nodes_of(normal.place(asks(2), now)) == (2, 3)


def test_the_papers_example_without_a_complement():
    """J2 is CPU-bound too, and nodes 3 and 4 are in use: Hard waits, Light goes where Normal allows."""
    now = joined(empty(), 2, asks(2), on((0, 1)))
    now = joined(now, 1, asks(1, memory_mb=60), on((2,)))
    now = joined(now, 4, asks(1, memory_mb=70), on((3,)))
    assert hard.place(asks(2), now) is None
    assert nodes_of(light.place(asks(2), now)) == nodes_of(normal.place(asks(2), now)) == (0, 1)


def test_idle_nodes_are_uniform():
    now = joined(empty(), 2, asks(2), on((0, 1)))
    assert nodes_of(hard.place(asks(2), now)) == (2, 3)


def test_part_of_a_jobs_nodes_is_no_set_of_its_own():
    now = joined(empty(), 2, asks(4, TALKS), on((0, 1, 2, 3)))
    assert hard.place(asks(2), now) is None
    assert nodes_of(hard.place(asks(4), now)) == (0, 1, 2, 3)


def test_two_jobs_of_different_orientation_take_one_of_either():
    now = joined(joined(empty(2), 1, asks(2), on((0, 1))), 2, asks(2, TALKS), on((0, 1)))
    assert nodes_of(hard.place(asks(2), now)) == (0, 1)
    now = joined(now, 3, asks(2), on((0, 1)))
    assert hard.place(asks(2), now) is None
    assert nodes_of(hard.place(asks(2, TALKS), now)) == (0, 1)


def test_the_least_memory_in_use_comes_first_then_the_fewest_jobs():
    now = joined(empty(4), 1, asks(1, memory_mb=100), on((0,)))
    now = joined(joined(now, 2, asks(1, memory_mb=20), on((1,))), 3, asks(1, memory_mb=30), on((1,)))
    now = joined(now, 4, asks(1, memory_mb=50), on((2,)))
    now = joined(now, 5, asks(1, memory_mb=150), on((3,)))
    assert nodes_of(normal.place(asks(1), now)) == (2,)
    assert nodes_of(normal.place(asks(3), now)) == (0, 1, 2)


def test_local_users_count_as_load():
    used = NodeState(512 * MB, local_share=0.15, local_memory_bytes=180 * MB)
    assert nodes_of(normal.place(asks(2), state(used, *[NodeState(512 * MB)] * 2))) == (1, 2)


def test_local_users_are_no_load_to_uniform():
    """Of four idle nodes somebody works at one: a job of four tasks gets them all at once, also under Hard."""
    used = NodeState(512 * MB, local_share=0.15, local_memory_bytes=179 * MB)
    now = state(used, *[NodeState(512 * MB)] * 3)
    assert nodes_of(hard.place(asks(4), now)) == nodes_of(light.place(asks(4), now)) == (0, 1, 2, 3)
    assert nodes_of(hard.place(asks(3), now)) == (1, 2, 3), "nodes at which nobody works come first"


def test_limits_of_a_node():
    limits = NodeLimits(most_jobs=2, contract=SocialContract(0.5), most_processor_share=1.5)
    free = NodeState(512 * MB)
    assert limits.allow(free, asks(1, memory_mb=512))
    assert not limits.allow(free, asks(1, memory_mb=513))
    window = NodeState(512 * MB, local_share=0.15, local_memory_bytes=179 * MB)
    assert limits.allow(window, asks(1, memory_mb=256))
    assert not limits.allow(window, asks(1, memory_mb=257)), "the contract leaves half"
    browser = NodeState(512 * MB, local_share=0.2, local_memory_bytes=307 * MB)
    assert limits.allow(browser, asks(1, memory_mb=205))
    assert not limits.allow(browser, asks(1, memory_mb=206)), "the user holds the rest"
    one = joined(state(free), 1, asks(1), on((0,))).surroundings.nodes[0][0]
    assert limits.allow(one, asks(1, share=0.6))
    assert not limits.allow(one, asks(1, share=0.7)), "more processor than the limit"
    two = joined(joined(state(free), 1, asks(1), on((0,))), 2, asks(1), on((0,))).surroundings.nodes[0][0]
    assert not NodeLimits(most_jobs=2).allow(two, asks(1))


def test_components_go_to_the_cluster_with_most_eligible_nodes():
    now = state(*[NodeState(512 * MB)] * 3, clusters=2)
    now = joined(now, 1, asks(1), on((0,), 0))
    both = JobRequest(RequestKind.NON_FIXED, (2, 2), memory_bytes=50 * MB)
    found = UniformNodes(NodeLimits(most_jobs=1), hard=True).place(both, now)
    assert [(part.cluster, part.nodes) for part in found.components] == [(1, (0, 1)), (0, (1, 2))]
    three = JobRequest(RequestKind.UNORDERED, (3, 3), memory_bytes=50 * MB)
    assert UniformNodes(NodeLimits(most_jobs=1), hard=True).place(three, now) is None


@given(
    st.lists(st.tuples(st.integers(1, 5), st.floats(0.05, 1.0), st.integers(0, 300)), max_size=12),
    st.sampled_from(sorted(NODE_SELECTIONS)),
    st.integers(1, 4),
)
def test_a_placement_keeps_the_limits_and_names_different_nodes(jobs, selection, most_jobs):
    limits = NodeLimits(most_jobs=most_jobs)
    policy = NODE_SELECTIONS[selection](limits)
    user = NodeState(512 * MB, local_share=0.2, local_memory_bytes=307 * MB)
    now = state(user, *[NodeState(512 * MB)] * 4)
    for number, (tasks, share, memory_mb) in enumerate(jobs):
        request = asks(tasks, share, memory_mb)
        placement = policy.place(request, now)
        if placement is None:
            continue
        chosen = nodes_of(placement)
        assert len(set(chosen)) == len(chosen) == tasks
        assert all(limits.allow(now.surroundings.nodes[0][node], request) for node in chosen)
        now = joined(now, number, request, placement)
    for node in now.surroundings.nodes[0]:
        assert len(node.tasks) <= most_jobs
        assert node.parallel_memory_bytes <= limits.memory_for_jobs(node)


def test_rates_are_those_of_the_slowest_task():
    now = joined(empty(3), 1, asks(2, 1.0), on((0, 1)))
    assert job_rates(now.surroundings.nodes) == {1: 1.0}
    now = joined(now, 2, asks(2, 1.0), on((1, 2)))
    assert job_rates(now.surroundings.nodes) == pytest.approx({1: 0.5, 2: 0.5})


def test_a_job_speeds_up_when_another_ends():
    """Both are CPU-bound and share node 1. With 10 s and 4 s left, job 2 ends after 8 s, job 1 after 6 more."""
    now = joined(joined(empty(3), 1, asks(2, 1.0), on((0, 1))), 2, asks(2, 1.0), on((1, 2)))
    found = [(ahead.after_s, ahead.jobs) for ahead in ends_ahead(now, {1: 10.0, 2: 4.0})]
    assert found == [(pytest.approx(8.0), (2,)), (pytest.approx(14.0), (1,))]


def test_equal_ends_are_one():
    now = joined(joined(empty(2), 1, asks(1, 1.0), on((0,))), 2, asks(1, 1.0), on((1,)))
    (only,) = ends_ahead(now, {1: 5.0, 2: 5.0})
    assert (only.after_s, set(only.jobs)) == (5.0, {1, 2})
    assert all(not node.tasks for node in only.state.surroundings.nodes[0])


def test_a_job_past_its_estimate_is_expected_to_end_now():
    now = joined(empty(1), 1, asks(1), on((0,)))
    assert expected_start_s(asks(1), now, {1: 0.0}, NormalNodes(NodeLimits(most_jobs=1))) == 0.0


def test_a_node_that_drains_takes_no_task_when_its_own_has_ended():
    """Job 1 ends on a draining node after 4 s, job 2 on another one after 9 s: the next job is expected there."""
    draining, used = NodeState(512 * MB, most_tasks=0), NodeState(512 * MB, most_tasks=1)
    now = joined(joined(state(draining, used), 1, asks(1, 1.0), on((0,))), 2, asks(1, 1.0), on((1,)))
    assert expected_start_s(asks(1), now, {1: 4.0, 2: 9.0}, normal) == pytest.approx(9.0)


def test_what_never_fits_never_starts():
    assert expected_start_s(asks(3), empty(2), {}, normal) == float("inf")


def waiting(number: int, tasks: int, estimate_s: float | None = 10.0, share: float = 1.0) -> WaitingJob:
    return WaitingJob(number, asks(tasks, share, estimate_s=estimate_s))


class Cluster:
    """A discipline and the state that its starts leave."""

    def __init__(self, queue: NodeQueue, nodes: int = 4, most_jobs: int = 1, policy=NormalNodes):
        self.queue, self.policy = queue, policy(NodeLimits(most_jobs=most_jobs))
        self.state, self.jobs, self.placements = empty(nodes), {}, {}

    def decide(self, event, time_s: float) -> list[int]:
        if isinstance(event, Arrival):
            self.jobs[event.job.id] = event.job
        if isinstance(event, Departure):
            self.state = without(self.state, {event.job_id})
        now = SystemState(self.state.processors, self.state.idle, time_s, self.state.surroundings)
        starts = self.queue.decide(event, now, self.policy, numpy.random.default_rng(0))
        for start in starts:
            self.placements[start.job_id] = start.placement
            self.state = joined(self.state, start.job_id, self.jobs[start.job_id].request, start.placement)
        return [start.job_id for start in starts]

    def arrive(self, *jobs: WaitingJob, time_s: float = 0.0) -> list[int]:
        return [started for job in jobs for started in self.decide(Arrival(job), time_s)]

    def depart(self, job: int, time_s: float) -> list[int]:
        return self.decide(Departure(job, self.placements[job]), time_s)


def test_only_the_head_is_tried():
    cluster = Cluster(NodeQueue("fcfs", JustFirst()))
    assert cluster.arrive(waiting(1, 3), waiting(2, 4), waiting(3, 1)) == [1]
    assert cluster.depart(1, 10.0) == [2]


@pytest.mark.parametrize(("order", "started"), [("fcfs", [2]), ("sjf", [3]), ("ljf", [4])])
def test_orders(order, started):
    cluster = Cluster(NodeQueue(order, JustFirst()))
    cluster.arrive(waiting(1, 4), waiting(2, 4, 20.0), waiting(3, 4, 10.0), waiting(4, 4, 30.0))
    assert cluster.depart(1, 10.0) == started


def test_the_best_fit_leaves_fewest_nodes():
    cluster = Cluster(NodeQueue("fcfs", BestFit()))
    cluster.arrive(waiting(1, 4), waiting(2, 1), waiting(3, 2), waiting(4, 3), waiting(5, 3))
    assert cluster.depart(1, 10.0) == [4, 2]


@pytest.mark.parametrize(("estimate_s", "started"), [(8.0, [1, 3]), (12.0, [1])])
def test_a_later_job_starts_if_it_does_not_delay_the_head(estimate_s, started):
    """Job 1 holds three nodes until 10; the head wants four then."""
    cluster = Cluster(NodeQueue("fcfs", Backfill()))
    assert cluster.arrive(waiting(1, 3), waiting(2, 4, 5.0), waiting(3, 1, estimate_s)) == started


def test_a_later_job_may_not_slow_the_job_down_that_the_head_waits_for():
    """Where two jobs may share a node, job 3 on the nodes of job 1 would let it end at 20 instead of 10.

    Memory keeps the head from sharing. Job 4, on a node that nobody waits for, may start.
    """
    queue = NodeQueue("fcfs", Backfill())
    cluster = Cluster(queue, nodes=2, most_jobs=2)
    head = WaitingJob(2, asks(2, 1.0, memory_mb=480))
    assert cluster.arrive(waiting(1, 2), head, waiting(3, 2)) == [1]
    wider = Cluster(NodeQueue("fcfs", Backfill()), nodes=3, most_jobs=2)
    assert wider.arrive(waiting(1, 2), WaitingJob(2, asks(3, 1.0, memory_mb=480)), waiting(4, 1, 9.0)) == [1, 4]


def test_the_work_left_is_followed_by_rates():
    """Job 1 runs alone for 4 s, then shares both nodes with job 2 for 6 s: 10 - 4 - 3 = 3 s are left."""
    queue = NodeQueue("fcfs", JustFirst())
    cluster = Cluster(queue, nodes=2, most_jobs=2)
    cluster.arrive(waiting(1, 2))
    cluster.arrive(waiting(2, 2), time_s=4.0)
    cluster.arrive(waiting(3, 2), time_s=10.0)
    assert queue.left_s == pytest.approx({1: 3.0, 2: 7.0})


def test_a_job_in_a_cluster_that_does_not_answer_goes_on_at_the_rate_that_it_had():
    """Job 1 takes 10 s in the first cluster, which does not answer at 2 s, and does at 6 s: 4 s are left then."""
    queue, rng = NodeQueue("fcfs", JustFirst()), numpy.random.default_rng(0)
    empty_ones = state(*[NodeState(512 * MB)] * 2, clusters=2)
    (start,) = queue.decide(Arrival(waiting(1, 2)), empty_ones, normal, rng)
    first, second = joined(empty_ones, 1, asks(2, 1.0), start.placement).surroundings.nodes
    assert start.placement.components[0].cluster == 0
    for number, (time_s, nodes) in enumerate(((2.0, ((), second)), (6.0, (first, second))), start=2):
        now = SystemState((2, 2), (0, 2), time_s, Surroundings(nodes=nodes))
        assert queue.decide(Arrival(waiting(number, 4)), now, normal, rng) == []
    assert queue.left_s == pytest.approx({1: 4.0})


@pytest.mark.parametrize(("order", "selection"), [("fcfs", Backfill()), ("sjf", JustFirst()), ("ljf", BestFit())])
def test_an_estimate_is_needed_where_it_decides(order, selection):
    with pytest.raises(InvalidInput, match="Job 1: estimate_s"):
        Cluster(NodeQueue(order, selection)).arrive(waiting(1, 1, None))


def test_none_is_needed_elsewhere():
    assert Cluster(NodeQueue("fcfs", BestFit())).arrive(waiting(1, 1, None)) == [1]


@pytest.mark.parametrize("selection", [JustFirst, BestFit, Backfill])
def test_a_restored_queue_decides_as_the_one_that_was_remembered(selection):
    def half_way() -> Cluster:
        cluster = Cluster(NodeQueue("sjf", selection()), most_jobs=2)
        cluster.arrive(waiting(1, 3), waiting(2, 4, 30.0), waiting(3, 4, 5.0))
        cluster.arrive(*(waiting(number, number % 4 + 1, 7.0 + number) for number in range(4, 10)), time_s=3.0)
        return cluster

    one, other = half_way(), half_way()
    other.queue = NodeQueue("sjf", selection())
    other.queue.restore(json.loads(json.dumps(one.queue.snapshot())))
    assert other.queue.waiting() == one.queue.waiting()
    for job, time_s in ((1, 12.0), (2, 14.0)):
        assert one.depart(job, time_s) == other.depart(job, time_s)
    assert one.queue.snapshot() == other.queue.snapshot()


def test_those_of_the_paper():
    parts = {name: (one.nodes, one.jobs, one.most_jobs) for name, one in COMPOSITIONS.items()}
    assert parts == {
        "basic": ("normal", "just-first", 1),
        "normal": ("normal", "just-first", 4),
        "uniform-light": ("uniform-light", "just-first", 4),
        "uniform-hard": ("uniform-hard", "just-first", 4),
        "2dbf": ("normal", "backfill", 1),
        "3dbf-light": ("uniform-light", "backfill", 4),
        "3dbf-hard": ("uniform-hard", "backfill", 4),
    }


@pytest.mark.parametrize("nodes", list(NODE_SELECTIONS))
@pytest.mark.parametrize("jobs", list(JOB_SELECTIONS))
@pytest.mark.parametrize("order", ["fcfs", "sjf", "ljf"])
def test_the_parts_are_orthogonal(nodes, jobs, order):
    composition = composition_named(f"{nodes}+{jobs}+{order.upper()}")
    queue = composition.discipline()
    policy = composition.policy(NodeLimits(most_jobs=1))
    assert composition.most_jobs == 4
    assert policy.limits.most_jobs == (1 if nodes == "normal-alone" else 4)
    rng = numpy.random.default_rng(0)
    (start,) = queue.decide(Arrival(waiting(1, 2)), empty(), policy, rng)
    assert len(start.placement.components[0].nodes) == 2


@pytest.mark.parametrize("name", ["3dbf", "normal+greedy+fcfs", "normal+just-first+lifo", "x+y", ""])
def test_unknown_ones_are_named(name):
    with pytest.raises(UnknownName):
        composition_named(name)


def test_limits_out_of_range_are_one_sentence():
    with pytest.raises(InvalidInput, match="multiprogramming level must be at least 1, not 0"):
        NodeLimits(most_jobs=0)
    with pytest.raises(InvalidInput, match="most_processor_share"):
        NodeLimits(most_processor_share=0.0)
    with pytest.raises(InvalidInput, match="communication_below"):
        NodeLimits(communication_below=1.5)
    with pytest.raises(InvalidInput, match="processor_share"):
        asks(1, share=0.0)
    with pytest.raises(InvalidInput, match="multiprogramming level"):
        replace(COMPOSITIONS["basic"], most_jobs=0).policy(NodeLimits())


@pytest.mark.parametrize("processors", [1, 4, 6])
def test_a_node_runs_as_many_tasks_as_its_topology_says(processors):
    shared = topology_named("cisne-shared")
    clusters = tuple(cluster.model_copy(update={"processors_per_node": processors}) for cluster in shared.clusters)
    assert stated_limits(shared.model_copy(update={"clusters": clusters})).most_jobs == processors
