"""Simulated clusters whose nodes are shared: times worked by hand, and what holds for every simulation."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from apps.partners import PATTERNS
from emulator.model.documents import read_document
from emulator.model.errors import ImpossibleRequest, InvalidInput
from emulator.model.local_users import PROFILES, AskedBurst, LocalUser
from emulator.model.placement import Component, Placement
from emulator.model.project import PROJECT_ROOT, TOPOLOGIES
from emulator.model.request import JobRequest, RequestKind
from emulator.model.time_sharing.processor import SharedProcessor
from emulator.model.time_sharing.rules import RULES, SocialContract
from emulator.model.topology import Topology
from emulator.policies.nodes.compositions import COMPOSITIONS, composition_named
from emulator.policies.nodes.limits import NodeLimits
from emulator.simulator.time_shared.engine import SharedNodes
from emulator.simulator.time_shared.network import SharedNetwork
from emulator.simulator.time_shared.simulation import RecordedStart, SharedSetting, simulate_shared
from emulator.simulator.time_shared.tasks import JobRun
from workloads.local_users import drawn_users
from workloads.parallel_programs import PROGRAMS, SIZES, steps_of
from workloads.shared_node_jobs import SharedNodeJob, published_jobs

CISNE = read_document(TOPOLOGIES / "cisne.yaml", Topology)
ALONE = SharedSetting(CISNE)
SHARED = SharedSetting(CISNE, composition=COMPOSITIONS["normal"])
RATES, DELAYS_S = [[0.0, 5.0], [5.0, 0.0]], [[0.0, 2.0], [2.0, 0.0]]
"""Between two clusters: 5 bytes/s, and 2 s."""


def small(nodes: int, memory_mb: float = 512, clusters: int = 1) -> Topology:
    (cluster,) = CISNE.clusters
    copies = tuple(
        cluster.model_copy(update={"name": f"c{number}", "nodes": nodes, "node_memory_mb": memory_mb})
        for number in range(clusters)
    )
    path = {"default_link": {"delay_s": 0.005}} if clusters > 1 else {}
    return Topology.model_validate({**CISNE.model_dump(by_alias=True), "clusters": copies, **path})


def job(
    number: int,
    tasks: int,
    execution_s: float = 10.0,
    share: float = 1.0,
    *,
    arrival_s: float = 0.0,
    pattern: str = "sweep",
    steps: int = 10,
    memory_mb: int = 10,
    split: int = 1,
) -> SharedNodeJob:
    request = JobRequest(
        RequestKind.TOTAL if split == 1 else RequestKind.UNORDERED,
        (tasks // split,) * split,
        estimate_s=execution_s,
        memory_bytes=memory_mb * 10**6,
        processor_share=share,
    )
    return SharedNodeJob(number, arrival_s, "own", request, steps_of(pattern, steps, execution_s, share))


def one_way(number: int, compute_s: float, message_bytes: float, senders: int = 1) -> JobRun:
    """A job of one step in which all but the last task send it a message, at 10 bytes/s."""
    ranks = tuple(range(senders))
    sends_to, sources = [[*((senders,) for _ in ranks), ()]], [[*(() for _ in ranks), ranks]]
    return JobRun(number, 0.0, 1, compute_s, message_bytes, message_bytes / 10.0, sends_to, sources)


def ends_s(cluster_of: list[int], *started: tuple[JobRun, tuple[int, ...]]) -> dict[int, float]:
    """Run jobs from 0 on, each on its nodes, with interfaces of 10 bytes/s and latency 1; return when each ended."""
    network = SharedNetwork(cluster_of, [10.0] * len(cluster_of), 1.0, 0.0, RATES, DELAYS_S)
    ended_s: dict[int, float] = {}

    def called(_: int, index: int, now_s: float) -> None:
        engine.start(*started[index], now_s)

    def finished(run: JobRun, now_s: float) -> None:
        ended_s[run.id] = now_s

    processors = [SharedProcessor(RULES["linux"], SocialContract()) for _ in cluster_of]
    shares = [1.0] * len(cluster_of)
    engine = SharedNodes(processors, network, shares, False, called, finished, lambda beside, delay_s: None)
    for index in range(len(started)):
        engine.call_at(0.0, 0, index)
    engine.run()
    return ended_s


@pytest.mark.parametrize("program", list(PROGRAMS))
@pytest.mark.parametrize("tasks", SIZES)
def test_a_job_alone_takes_its_time_and_its_share_of_the_processor(program, tasks):
    """The paper's shares are to be met within 5%."""
    ranges = PROGRAMS[program]
    share, execution_s = ranges.processor_percent.of(tasks) / 100, ranges.execution_s.of(tasks)
    alone = job(1, tasks, execution_s, share, pattern=ranges.pattern, steps=ranges.steps)
    (found,) = simulate_shared(ALONE, [alone]).jobs
    assert found.execution_s == pytest.approx(execution_s, rel=1e-6)
    assert found.processor_share == pytest.approx(share, rel=0.05)


@pytest.mark.parametrize("rule", list(RULES))
@pytest.mark.parametrize("pattern", list(PATTERNS))
def test_a_job_alone_takes_the_same_time_under_every_rule(rule, pattern):
    (found,) = simulate_shared(replace(ALONE, rule=RULES[rule]), [job(1, 5, 20.0, 0.7, pattern=pattern)]).jobs
    assert found.execution_s == pytest.approx(20.0, rel=1e-6)


def test_a_single_task_computes_all_the_time():
    (found,) = simulate_shared(ALONE, [job(1, 1, 10.0, 0.5)]).jobs
    assert (found.execution_s, found.processor_share) == (pytest.approx(10.0), pytest.approx(1.0))


def test_two_jobs_that_only_compute_halve_each_other():
    setting = replace(SHARED, topology=small(2))
    first, second = simulate_shared(setting, [job(1, 2), job(2, 2, 20.0)]).jobs
    assert first.execution_s == pytest.approx(20.0, abs=0.2)
    assert second.execution_s == pytest.approx(30.0, abs=0.2)
    assert first.nodes == second.nodes == (0, 1)
    assert second.expected_end_s == pytest.approx(second.finish_s, rel=0.01)


def test_without_sharing_the_second_waits():
    setting = replace(ALONE, topology=small(2))
    first, second = simulate_shared(setting, [job(1, 2), job(2, 2, arrival_s=3.0)]).jobs
    assert second.start_s == first.finish_s == pytest.approx(10.0, abs=0.01)
    assert second.wait_s == pytest.approx(7.0, abs=0.01)
    assert second.turnaround_s == pytest.approx(17.0, abs=0.02)


def test_a_job_starts_after_it_is_placed_and_holds_its_places_until_they_are_released():
    """The first ends at 11 and is gone at 11.5; the second, placed then, starts at 12.5 and runs for 10 s."""
    setting = replace(ALONE, topology=small(2), starting_s=1.0, releasing_s=0.5)
    first, second = simulate_shared(setting, [job(1, 2), job(2, 2, arrival_s=3.0)]).jobs
    assert (first.placed_s, first.start_s, first.finish_s, first.released_s) == pytest.approx(
        (0, 1, 11, 11.5), abs=0.01
    )
    assert (second.placed_s, second.start_s, second.finish_s) == pytest.approx((11.5, 12.5, 22.5), abs=0.02)
    assert second.wait_s == pytest.approx(9.5, abs=0.01)


def test_waiting_for_messages_leaves_the_processor_to_others():
    """Two jobs that compute for half of the time disturb each other less than two that always do."""
    setting = replace(SHARED, topology=small(2))
    talking = simulate_shared(setting, [job(1, 2, share=0.5, steps=50), job(2, 2, share=0.5, steps=50)])
    assert 10.0 < talking.execution_s < 16.0


def test_a_message_waits_for_those_before_it():
    """Interfaces at 10 bytes/s, latency 1; from cluster 0 to cluster 1 at 5 bytes/s, delay 2."""
    network = SharedNetwork([0, 0, 1], [10.0] * 3, 1.0, 0.0, RATES, DELAYS_S)
    assert network.sent_s(0, 20.0, 0.0) == 2.0
    assert network.sent_s(0, 20.0, 0.0) == 4.0
    assert network.sent_s(0, 20.0, 3.0) == 6.0
    # The other node's interface is free: its message reaches the access link at 5, and leaves it at 9.
    assert network.sent_s(1, 20.0, 3.0) == 5.0
    assert network.crossed_s(1, 2, 20.0, 5.0) == 12.0
    # This one reaches the link at 6, waits until 9, and leaves it at 13.
    assert network.crossed_s(0, 2, 20.0, 6.0) == 16.0


def test_the_access_link_takes_messages_in_the_order_in_which_they_reach_it():
    """A message of 60 bytes asked for at 0 reaches the link at 6, one of 20 bytes asked for at 3 at 5.

    The second crosses from 5 to 9 and arrives at 12; the first crosses from 9 to 21 and arrives at 24.
    """
    ended_s = ends_s([0, 0, 1, 1], (one_way(1, 0.0, 60.0), (0, 2)), (one_way(2, 3.0, 20.0), (1, 3)))
    assert ended_s == {1: pytest.approx(24.0), 2: pytest.approx(12.0)}


def test_messages_come_in_one_after_another_inside_a_cluster():
    """Two messages of 2 s arrive at 3, the second is in at 5. To another cluster they cross from 2 to 6 and to 10."""
    assert ends_s([0, 0, 0], (one_way(1, 0.0, 20.0, senders=2), (0, 1, 2))) == {1: pytest.approx(5.0)}
    assert ends_s([0, 0, 1], (one_way(1, 0.0, 20.0, senders=2), (0, 1, 2))) == {1: pytest.approx(13.0)}


def test_messages_come_in_while_their_receiver_still_computes():
    """The receiver shares its node and has computed its 4 s at 8.02; two messages that came at 7 are in at 7 and 9."""
    beside = JobRun(1, 0.0, 1, 20.0, 0.0, 0.0, [[()]], [[()]])
    ended_s = ends_s([0, 0, 0], (beside, (2,)), (one_way(2, 4.0, 20.0, senders=2), (0, 1, 2)))
    assert ended_s == {1: pytest.approx(24.0), 2: pytest.approx(9.0)}


def test_a_task_goes_on_when_its_own_messages_have_left_its_node_as_live():
    """Alone a step computes for 1 s and exchanges for 0.25 s, of which its message leaves within 0.24993 s.

    The slower task shares its node, where both have 60 ms in turn. It has computed its first second at 2.02. From then
    on a step takes 2.14 s: 0.24993 s until its message has left, 1 s of its own, and 0.89007 s of the other job, which
    has used 9.93 ms of a quantum when the message has left, and has the rest of it and 14 more. The partner's message
    has come by then, in each of the ten steps. So the tenth second is over at 2.02 + 9 * 2.14 = 21.28, and the message
    of that step is with the partner 0.25 s later.
    """
    setting = replace(SHARED, topology=small(2))
    beside, sweeping = simulate_shared(setting, [job(1, 1, 100.0), job(2, 2, 12.5, share=0.8)]).jobs
    assert sweeping.execution_s == pytest.approx(21.53, abs=1e-3)
    assert beside.execution_s == pytest.approx(110.0, abs=1e-3)


def test_jobs_over_clusters_wait_for_the_wide_area():
    setting = replace(ALONE, topology=small(2, clusters=2))
    (near,) = simulate_shared(setting, [job(1, 2, share=0.8)]).jobs
    (far,) = simulate_shared(setting, [job(1, 2, share=0.8, split=2)]).jobs
    assert (near.clusters, far.clusters) == (1, 2)
    assert far.execution_s > near.execution_s + 10 * 0.005


def test_local_users_are_delayed_less_where_they_are_protected():
    users = (LocalUser(0, PROFILES["internet"]), LocalUser(1, PROFILES["xwindows"]))
    jobs = [job(number, 2, 60.0) for number in range(4)]
    delayed = {
        rule: simulate_shared(replace(SHARED, topology=small(2), users=users, rule=RULES[rule]), jobs).latency_s()
        for rule in ("linux", "ccs")
    }
    assert 0 < delayed["ccs"] < delayed["linux"]


def test_a_contract_of_nothing_leaves_local_users_alone():
    users = (LocalUser(0, PROFILES["internet"]),)
    limits = NodeLimits(contract=SocialContract(0.0))
    setting = replace(SHARED, topology=small(1), users=users, rule=RULES["ccs"], limits=limits)
    result = simulate_shared(setting, [job(1, 1, 30.0, memory_mb=0)])
    assert result.latency_s() == pytest.approx(0.0, abs=1e-6)
    assert result.execution_s > 30.0


def test_the_jobs_of_a_seed_give_the_same_result_again():
    jobs = published_jobs("sit", 5, jobs=3)
    setting = replace(SHARED, users=drawn_users(5, [16]), composition=COMPOSITIONS["3dbf-hard"], rule=RULES["ccs"])
    assert simulate_shared(setting, jobs) == simulate_shared(setting, jobs)


def test_recorded_bursts_come_when_they_were_asked_for_and_never_before_the_last_one_ends():
    """The task computes for 10 s; the user asks for 0.5 s at 2, and for 0.25 s as soon as that is done."""
    recorded = (AskedBurst(2.0, 0.5), AskedBurst(2.1, 0.25), AskedBurst(1000.0, 1.0))
    setting = replace(ALONE, topology=small(1), users=(LocalUser(0, PROFILES["xwindows"]),), bursts=(recorded,))
    result = simulate_shared(setting, [job(1, 1)])
    assert [found.execution_s for found in result.jobs] == [pytest.approx(10.75)]
    assert [len(of_bursts) for of_bursts in result.latencies_s.values()] == [2]


def test_after_what_was_recorded_bursts_are_drawn():
    users = (LocalUser(0, PROFILES["internet"]),)
    setting = replace(ALONE, topology=small(1), users=users, bursts=((AskedBurst(0.0, 1.0),),))
    (found,) = simulate_shared(setting, [job(1, 1, 200.0)]).jobs
    assert found.execution_s == pytest.approx(200 / (1 - PROFILES["internet"].processor_share), rel=0.2)


streams = st.lists(
    st.builds(
        dict,
        tasks=st.integers(1, 4),
        execution_s=st.floats(0.5, 5.0),
        share=st.floats(0.3, 1.0),
        arrival_s=st.floats(0.0, 10.0),
        pattern=st.sampled_from(sorted(PATTERNS)),
        memory_mb=st.integers(0, 200),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=40)
@given(streams, st.sampled_from(sorted(COMPOSITIONS)), st.sampled_from(sorted(RULES)), st.integers(0, 3))
def test_every_job_ends_and_nodes_hold_what_they_may(stream, composition, rule, seed):
    jobs = sorted((job(number, steps=4, **each) for number, each in enumerate(stream)), key=lambda one: one.arrival_s)
    users = drawn_users(seed, [4])
    setting = SharedSetting(small(4), users, COMPOSITIONS[composition], rule=RULES[rule], seed=seed)
    result = simulate_shared(setting, jobs)
    assert sorted(found.id for found in result.jobs) == list(range(len(jobs)))
    for found in result.jobs:
        assert found.arrival_s <= found.start_s
        assert found.execution_s >= found.alone_s * (1 - 1e-9)
    for now in [found.start_s for found in result.jobs]:
        for node in range(4):
            here = [one for one in result.jobs if one.start_s <= now < one.finish_s and node in one.nodes]
            assert len(here) <= COMPOSITIONS[composition].most_jobs
            held = sum(jobs_of(jobs, one.id).request.memory_bytes for one in here)
            assert held <= (256 if any(user.node == node for user in users) else 512) * 10**6


@settings(max_examples=20)
@given(streams, st.sampled_from(sorted(COMPOSITIONS)), st.integers(0, 3))
def test_started_when_and_where_a_simulation_started_them_jobs_take_as_long(stream, composition, seed):
    jobs = sorted((job(number, steps=4, **each) for number, each in enumerate(stream)), key=lambda one: one.arrival_s)
    users, composed = drawn_users(seed, [4]), COMPOSITIONS[composition]
    setting = SharedSetting(small(4), users, composed, rule=RULES["ccs"], seed=seed, starting_s=0.5)
    decided = simulate_shared(setting, jobs)
    starts = {
        each.id: RecordedStart(each.placed_s, each.start_s, Placement((Component(0, each.tasks, each.nodes),)))
        for each in decided.jobs
    }
    # Which of two that start at once comes first is not recorded.
    assume(len({each.start_s for each in starts.values()}) == len(starts))
    again = simulate_shared(replace(setting, starts=starts), jobs)
    assert [replace(each, expected_end_s=None) for each in decided.jobs] == list(again.jobs)


def jobs_of(jobs: list[SharedNodeJob], number: int) -> SharedNodeJob:
    return next(each for each in jobs if each.id == number)


@pytest.mark.parametrize(
    ("setting", "jobs", "sentence"),
    [
        (ALONE, [job(1, 2, memory_mb=600)], r"Job 1: memory_bytes: a task needs 600000000 bytes .*\(512000000\)"),
        (
            ALONE,
            [job(7, 17)],
            r"Job 7: 17 tasks of 10000000 bytes .* and \d+% .* never fit: there are 16 nodes",
        ),
        (
            replace(ALONE, users=tuple(LocalUser(node, PROFILES["xwindows"]) for node in range(16))),
            [job(1, 1, memory_mb=300)],
            "never fit.*local users",
        ),
        (
            replace(ALONE, limits=NodeLimits(most_processor_share=0.5)),
            [job(1, 2, share=0.6)],
            r"Job 1: processor_share: a task alone uses 60% of a processor, more than the 50%",
        ),
    ],
)
def test_a_job_that_can_never_start_is_one_sentence(setting, jobs, sentence):
    with pytest.raises(ImpossibleRequest, match=sentence):
        simulate_shared(setting, jobs)


def test_a_missing_estimate_is_one_sentence():
    (one,) = published_jobs("dit", 1, jobs=1, estimate_factor=None)
    with pytest.raises(InvalidInput, match="Job 1: estimate_s: '2dbf' needs the user's estimate"):
        simulate_shared(replace(ALONE, composition=COMPOSITIONS["2dbf"]), [one])
    assert len(simulate_shared(ALONE, [one]).jobs) == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"node_memory_mb": None}, "node_memory_mb: is missing"),
        ({"processors_per_node": 2}, "processors_per_node: shared nodes have 1 processor, not 2"),
    ],
)
def test_a_topology_that_does_not_say_enough_is_one_sentence(change, sentence):
    (cluster,) = CISNE.clusters
    topology = CISNE.model_copy(update={"clusters": (cluster.model_copy(update=change),)})
    with pytest.raises(InvalidInput, match=sentence):
        simulate_shared(replace(ALONE, topology=topology), [job(1, 1)])


def test_a_topology_without_an_interconnect_is_one_sentence():
    topology = Topology.model_validate({**CISNE.model_dump(by_alias=True), "interconnects": {}})
    with pytest.raises(InvalidInput, match="interconnects: shared nodes need"):
        simulate_shared(replace(ALONE, topology=topology), [job(1, 1)])


@pytest.mark.parametrize(
    ("users", "sentence"),
    [
        ([LocalUser(16, PROFILES["internet"])], "there is no node 16"),
        ([LocalUser(3, PROFILES["internet"])] * 2, "node 3 has a user already"),
        ([LocalUser(0, PROFILES["internet"], cluster=1)], "no node 0 in cluster 1"),
    ],
)
def test_local_users_that_cannot_be_are_one_sentence(users, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        simulate_shared(replace(ALONE, users=tuple(users)), [job(1, 1)])


OWN = f"{PROJECT_ROOT}/examples/policies/emptiest_nodes.py:EmptiestNodes"


def test_ones_own_class_chooses_nodes_and_sees_those_of_earlier_starts():
    """Both jobs of 2 tasks have nodes of their own; that of 4 joins them, as nodes run four jobs at most."""
    composition = composition_named(f"{OWN}+Backfill+FCFS")
    assert composition.name == "emptiest_nodes.py:EmptiestNodes+backfill+fcfs"
    setting = SharedSetting(small(4), composition=composition)
    found = simulate_shared(setting, [job(1, 2), job(2, 2), job(3, 4)]).jobs
    assert [each.nodes for each in found] == [(0, 1), (2, 3), (0, 1, 2, 3)]
    assert [each.start_s for each in found] == [0.0, 0.0, 0.0]


def test_ones_own_class_keeps_the_most_jobs_on_a_node_and_the_contract():
    """One job on a node: the second waits. The user at node 0 leaves jobs 204 MB there, so a task of 300 MB goes on."""
    one_job = replace(composition_named(f"{OWN}+just-first+fcfs"), most_jobs=1)
    first, second = simulate_shared(SharedSetting(small(2), composition=one_job), [job(1, 2), job(2, 2)]).jobs
    assert second.start_s == pytest.approx(first.finish_s)
    user = LocalUser(0, PROFILES["internet"])
    (found,) = simulate_shared(SharedSetting(small(2), (user,), one_job), [job(1, 1, memory_mb=300)]).jobs
    assert found.nodes == (1,)


LEARNS = """
from emulator.model.placement import Component, Placement
from emulator.model.request import RequestKind


class Learns:
    accepts = frozenset({RequestKind.TOTAL})
    chooses_nodes = True

    def place(self, request, state):
        node = len(state.surroundings.history)
        return Placement((Component(0, 1, (node,)),), learned=frozenset({(0, node)}))
"""


def test_ones_own_class_finds_what_its_placements_learned_as_it_does_live(tmp_path):
    (tmp_path / "c++").mkdir()
    own = tmp_path / "c++" / "mine.py"
    own.write_text(LEARNS)
    composition = composition_named(f"{own}:Learns+just-first+fcfs")
    found = simulate_shared(SharedSetting(small(3), composition=composition), [job(1, 1), job(2, 1), job(3, 1)]).jobs
    assert [each.nodes for each in found] == [(0,), (1,), (2,)]


def test_what_ones_own_class_does_not_get_here_is_refused(tmp_path):
    own = tmp_path / "mine.py"
    own.write_text(LEARNS.replace("chooses_nodes = True", "chooses_nodes = needs_running_jobs = True"))
    setting = SharedSetting(small(3), composition=composition_named(f"{own}:Learns+just-first+fcfs"))
    with pytest.raises(InvalidInput, match=r"needs_running_jobs: .* run it live"):
        simulate_shared(setting, [job(1, 1)])
    limited = SharedSetting(small(3), composition=composition_named(f"{OWN}+just-first+fcfs"))
    with pytest.raises(InvalidInput, match=r"most-processor-share: .* chooses nodes by rules of its own"):
        simulate_shared(replace(limited, limits=NodeLimits(most_processor_share=1.0)), [job(1, 1)])


def test_a_class_that_chooses_no_nodes_is_no_node_selection():
    of_clusters = f"{PROJECT_ROOT}/examples/policies/one_cluster_first.py:OneClusterFirst"
    composition = composition_named(f"{of_clusters}+just-first+fcfs")
    with pytest.raises(InvalidInput, match="is no node selection, because it lacks chooses_nodes = True"):
        simulate_shared(SharedSetting(small(2), composition=composition), [job(1, 1)])
