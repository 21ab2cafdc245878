"""Policies that choose nodes under the broker: which nodes are claimed, by which state, and decisions made again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.broker.state.journal import Journal
from emulator.model.errors import ImpossibleRequest, InvalidInput, PolicyFailed
from emulator.model.job import JobState
from emulator.model.project import PROJECT_ROOT
from emulator.policies.factory import deciders
from emulator.policies.nodes.stated import stated_limits
from emulator.policies.protocols import Arrival
from emulator.policies.replay import replay
from tests.unit.broker.broker_setup import (
    TOPOLOGY,
    BrokerSetup,
    begin_fast_run,
    finish_all,
    kill,
    recorded_decisions,
    recorded_request,
)
from tests.unit.broker.own_policies import BEST_FIT, HEAD

MIDDLEWARE = "middleware: {base_s: 5, per_component_s: 1}\n"
EMPTIEST = (PROJECT_ROOT / "examples" / "policies" / "emptiest_nodes.py").read_text(encoding="utf-8")


class SharedSetup(BrokerSetup):
    """A broker over two scripted clusters of four nodes for two tasks each; somebody works at n1 of the first."""

    stated = (
        TOPOLOGY.replace("nodes: 4", "nodes: 4, node_memory_mb: 512")
        .replace("node_memory_mb: 512", "node_memory_mb: 512, local_users: {n1: internet}", 1)
        .replace(MIDDLEWARE, "time_sharing: {rule: ccs}\n")
    )


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[SharedSetup]:
    setup = SharedSetup(tmp_path)
    yield setup
    setup.close()


def begun(setup: BrokerSetup, policy: str = "normal", queue: str = "just-first", **more) -> int:
    return begin_fast_run(setup, policy=policy, queue=queue, **more)


def starting(setup: BrokerSetup, run: int, tasks: int, **more) -> int:
    job = setup.submit(tasks, run=run, application="synthetic", **more)
    setup.until_state(job, JobState.STARTING)
    return job


def differences(setup: BrokerSetup, run: int):
    request = recorded_request(setup, run)
    limits = stated_limits(setup.topology)
    made = deciders(request.queue, request.policy, request.scanning, request.seed, request.sources, limits=limits)
    return replay(recorded_decisions(setup, run), made, [8, 8]).differences


def test_tasks_get_the_least_loaded_nodes_by_name_and_decisions_are_made_again(setup: SharedSetup) -> None:
    """The user at n1 holds memory, so n1 comes last. A cluster whose nodes are full has no room for the third job."""
    run = begun(setup)
    jobs = [starting(setup, run, tasks, memory_mb=100) for tasks in (3, 4, 2)]
    assert setup.east.nodes_claimed == [["n2", "n3", "n4"], ["n1", "n2", "n3", "n4"]]
    assert setup.west.nodes_claimed == [["n1", "n2"]]
    assert setup.east.memory_claimed_mb + setup.west.memory_claimed_mb == [100.0] * 3
    finish_all(setup, jobs)
    assert differences(setup, run) == ()
    nodes = recorded_decisions(setup, run)[1].surroundings.nodes
    assert [[task.job for task in node.tasks] for node in nodes[0]] == [[], [jobs[0]], [jobs[0]], [jobs[0]]]
    assert nodes[0][1].tasks[0].memory_bytes == 100_000_000
    setup.broker.end_run(run)


def test_a_node_that_slurm_does_not_use_gets_no_task_until_it_does_again(setup: SharedSetup) -> None:
    setup.east.unusable = frozenset({"n2", "n3", "n4"})
    setup.west.unusable = frozenset({"n2"})
    setup.read_clusters()
    run = begun(setup)
    first = starting(setup, run, 3, memory_mb=100)
    assert setup.west.nodes_claimed == [["n1", "n3", "n4"]]
    setup.west.unusable = frozenset({"n1", "n2"})
    setup.read_clusters()
    wide = setup.submit(4, run=run, application="synthetic", memory_mb=100)
    setup.read_clusters()
    assert setup.broker.job(wide).state is JobState.QUEUED
    arrivals = (each for each in recorded_decisions(setup, run) if isinstance(each.event, Arrival))
    west = next(each.surroundings.nodes[1] for each in arrivals if each.event.job.id == wide)
    tasks_and_most = [(len(node.tasks), node.most_tasks) for node in west]
    assert tasks_and_most == [(1, 0), (0, 0), (1, 2), (1, 2)], "n1 drains while it runs a task"
    setup.east.unusable = frozenset()
    setup.read_clusters()
    setup.until_state(wide, JobState.STARTING)
    assert setup.east.nodes_claimed == [["n1", "n2", "n3", "n4"]]
    finish_all(setup, [first, wide])
    assert differences(setup, run) == ()


def test_memory_that_is_not_there_is_waited_for(setup: SharedSetup) -> None:
    run = begun(setup)
    first = [starting(setup, run, 4, memory_mb=400), starting(setup, run, 3, memory_mb=400)]
    waiting = setup.submit(2, run=run, application="synthetic", memory_mb=200)
    small = setup.submit(2, run=run, application="synthetic", memory_mb=50)
    setup.read_clusters()
    assert [setup.broker.job(job).state for job in (waiting, small)] == [JobState.QUEUED] * 2
    finish_all(setup, [*first, waiting, small])
    assert differences(setup, run) == ()


def test_a_job_that_would_not_delay_the_first_is_backfilled(setup: SharedSetup) -> None:
    run = begun(setup, "normal-alone", "backfill")
    long = [starting(setup, run, 4, time_alone_s=100.0) for _ in range(1)]
    wide = setup.submit(4, 4, run=run, application="synthetic", time_alone_s=10.0)
    short = starting(setup, run, 2, time_alone_s=5.0)
    assert setup.broker.job(wide).state is JobState.QUEUED
    finish_all(setup, [*long, short, wide])
    assert differences(setup, run) == ()


def test_all_tasks_of_two_jobs_see_the_same_load_under_uniform(setup: SharedSetup) -> None:
    run = begun(setup, "uniform-hard")
    jobs = [starting(setup, run, 2, processor_share=share) for share in (0.9, 0.6)]
    (first,), (second,) = setup.east.nodes_claimed[:1], (setup.east.nodes_claimed + setup.west.nodes_claimed)[1:]
    assert len(first) == len(second) == 2
    finish_all(setup, jobs)
    assert differences(setup, run) == ()


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"policy": "normal", "queue": "gs"}, "chooses nodes, so its queue"),
        ({"queue": "backfill"}, "goes with a policy"),
    ],
)
def test_a_policy_and_a_queue_that_do_not_go_together_are_refused(setup: SharedSetup, stated, said) -> None:
    with pytest.raises(InvalidInput, match=said):
        begin_fast_run(setup, **stated)


def test_a_job_that_no_node_may_ever_take_and_one_without_the_estimate_that_is_needed_are_refused(
    setup: SharedSetup,
) -> None:
    run = begun(setup, "normal", "backfill")
    with pytest.raises(
        ImpossibleRequest, match=r"can never be placed .* on a node of its own that may give jobs 600 MB"
    ):
        setup.submit(2, run=run, application="synthetic", memory_mb=600, time_alone_s=5.0)
    with pytest.raises(ImpossibleRequest, match="can never be placed"):
        setup.submit(5, run=run, application="synthetic", time_alone_s=5.0)
    with pytest.raises(InvalidInput, match="time_alone_s"):
        setup.submit(2, run=run, application="synthetic")
    setup.broker.end_run(run)


def test_a_broker_that_comes_back_knows_the_nodes_of_its_jobs(tmp_path: Path) -> None:
    setup = SharedSetup(tmp_path)
    setup.east.holds_back = setup.west.holds_back = True
    run = begun(setup)
    job = setup.submit(4, run=run, application="synthetic")
    setup.until(lambda: setup.east.claims or setup.west.claims)
    claimed = setup.east.nodes_claimed + setup.west.nodes_claimed
    kill(setup)
    again = SharedSetup(tmp_path, Journal(tmp_path / "journal"))
    try:
        again.until_state(job, JobState.STARTING)
        assert again.east.nodes_claimed + again.west.nodes_claimed == claimed == [["n1", "n2", "n3", "n4"]]
    finally:
        again.close()


def begun_with_own(setup: BrokerSetup, source: str, policy: str = "mine.py:Mine", queue: str = "just-first") -> int:
    return begun(setup, policy, queue, sources={"mine.py": source})


def on_first_cluster(nodes: str) -> str:
    """Return a policy that names these nodes of the first cluster for every job."""
    return (
        HEAD
        + f"""

class Mine:
    accepts = frozenset({{RequestKind.NON_FIXED}})
    chooses_nodes = True

    def place(self, request, state):
        return Placement((Component(0, request.processors, {nodes}),))
"""
    )


def test_ones_own_class_chooses_nodes_and_each_start_of_a_decision_sees_those_before_it(setup: SharedSetup) -> None:
    """Two jobs wait for memory. When the four tasks in the west end, both start at once, on different nodes there."""
    run = begun_with_own(setup, EMPTIEST, "mine.py:EmptiestNodes")
    first = [starting(setup, run, 4, memory_mb=400), starting(setup, run, 3, memory_mb=400)]
    assert setup.east.nodes_claimed == [["n2", "n3", "n4"]], "n1 has 204 MB beside its user"
    waiting = [setup.submit(2, run=run, application="synthetic", memory_mb=200) for _ in range(2)]
    setup.read_clusters()
    assert [setup.broker.job(job).state for job in waiting] == [JobState.QUEUED] * 2
    setup.until(lambda: setup.west.programs)
    setup.west.programs[0].finish()
    for job in waiting:
        setup.until_state(job, JobState.STARTING)
    assert setup.west.nodes_claimed[0] == ["n1", "n2", "n3", "n4"]
    assert sorted(setup.west.nodes_claimed[1:]) == [["n1", "n2"], ["n3", "n4"]]
    decided = [[answer.job_id for answer in decision.answers] for decision in recorded_decisions(setup, run)]
    assert waiting in decided
    finish_all(setup, [*first, *waiting])
    assert differences(setup, run) == ()


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ("(1, 9)", r"mine.py:Mine: places a task on node 9 of cluster 0, but there are only 0 to 3\.$"),
        ("(1, -1)", "places a task on node -1 of cluster 0, but there are only 0 to 3"),
        ("(2, 2)", "places a task on node 2 of cluster 0 twice"),
        ("(2,)", "names 1 nodes of cluster 0 for 2 tasks; each task needs a node of its own"),
        ("()", "names 0 nodes of cluster 0 for 2 tasks"),
        ("(0, 1)", r"node 0 of cluster 0, which has 204\.8 MB left for a task of 300 MB"),
    ],
)
def test_nodes_that_cannot_be_named_are_one_sentence(setup: SharedSetup, nodes: str, said: str) -> None:
    run = begun_with_own(setup, on_first_cluster(nodes))
    with pytest.raises(PolicyFailed, match=said):
        setup.submit(2, run=run, application="synthetic", memory_mb=300)
    setup.broker.end_run(run)


def test_a_full_node_that_is_named_fails_what_waits_in_one_sentence(setup: SharedSetup) -> None:
    run = begun_with_own(setup, on_first_cluster("(1, 2)"))
    running = [starting(setup, run, 2, memory_mb=100) for _ in range(2)]
    third = setup.submit(2, run=run, application="synthetic", memory_mb=100)
    setup.until_state(third, JobState.FAILED)
    said = "mine.py:Mine: places a task on node 1 of cluster 0, which runs 2 tasks and takes no more."
    assert setup.broker.job(third).reason == said
    finish_all(setup, running)


@pytest.mark.parametrize(
    ("source", "queue", "said"),
    [
        (on_first_cluster("(1, 2)"), "gs", "chooses nodes, so its queue is one of just-first"),
        (BEST_FIT, "backfill", "goes with a policy that chooses nodes .* or a class of your own"),
    ],
)
def test_ones_own_class_and_a_queue_that_do_not_go_together_are_refused(setup, source, queue, said) -> None:
    with pytest.raises(InvalidInput, match=said):
        begun_with_own(setup, source, queue=queue)


def test_nodes_that_a_policy_of_clusters_names_are_refused(setup: SharedSetup) -> None:
    source = on_first_cluster("(1, 2)").replace("    chooses_nodes = True\n", "")
    run = begun_with_own(setup, source, queue="gs")
    with pytest.raises(PolicyFailed, match="only a policy with chooses_nodes = True does so"):
        setup.submit(2, run=run, application="synthetic", memory_mb=100)
    setup.broker.end_run(run)
