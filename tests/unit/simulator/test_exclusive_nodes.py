"""Exclusive nodes in a simulation: processors are held in whole nodes, times are those of the processes that run."""

from __future__ import annotations

import numpy
import pytest

from emulator.model.background import Background
from emulator.model.documents import validate
from emulator.model.errors import ImpossibleRequest, InvalidInput
from emulator.model.placement import Placement
from emulator.model.request import JobRequest, RequestKind
from emulator.model.stream import StreamJob
from emulator.model.topology import Topology
from emulator.policies.nodes.stated import node_states
from emulator.simulator import simulate
from emulator.simulator.background import SimulatedBackground
from emulator.simulator.runtime import FactorTable, MeasuredTime
from emulator.simulator.shared_links import SharedLinks
from tests.unit.simulator.exclusive_nodes import exclusive
from tests.unit.simulator.test_background import Local
from tests.unit.simulator.test_engine import random_jobs


def job(number: int, arrival_s: float, service_s: float, *components: int, kind: str = "non-fixed") -> StreamJob:
    return StreamJob(number, arrival_s, service_s, JobRequest(RequestKind(kind), components), 0, "poisson")


def starts(jobs: list[StreamJob], topology: Topology, **options: object) -> dict[int, float]:
    finished = simulate(jobs, clusters=topology, keep_jobs=True, **{"queue": "gs", "policy": "wf", **options}).finished
    return {each.id: each.start_s for each in finished}


def test_a_second_job_waits_for_nodes_of_which_processors_are_idle():
    """Of four dual nodes a job of 5 holds three; a job of 3 needs two, though three processors run nothing."""
    jobs = [job(1, 0, 10, 5), job(2, 1, 10, 3)]
    assert starts(jobs, exclusive(nodes=4, clusters=1)) == {1: 0, 2: 10}
    assert starts(jobs, exclusive(nodes=4, clusters=1, use="shared")) == {1: 0, 2: 1}


@pytest.mark.parametrize("queue", ["gs", "ls-do", "gp", "lp-lf", "placement", "easy", "conservative", "sc"])
def test_jobs_of_whole_nodes_live_as_where_nodes_are_shared(queue):
    jobs = [
        StreamJob(
            each.id, each.arrival_s, each.service_s,
            JobRequest(
                RequestKind.UNORDERED, tuple(2 * (size + 1) // 2 * 2 for size in each.request.components),
                estimate_s=each.service_s,
            ),
            each.queue,
        )
        for each in random_jobs(4, count=120)
    ]  # fmt: skip
    shared, whole = (exclusive(nodes=17, clusters=4, use=use) for use in ("shared", "exclusive"))
    policy = "wf-distinct"
    assert starts(jobs, whole, queue=queue, policy=policy) == starts(jobs, shared, queue=queue, policy=policy)


@pytest.mark.parametrize("queue", ["gs", "ls-do", "placement", "easy"])
def test_jobs_live_as_those_that_ask_for_the_processors_of_their_nodes(queue):
    """What is held decides; only what is recorded as asked for differs."""
    odd = [
        StreamJob(
            each.id, each.arrival_s, each.service_s,
            JobRequest(RequestKind.UNORDERED, each.request.components, estimate_s=each.service_s), each.queue,
        )
        for each in random_jobs(5, count=120)
    ]  # fmt: skip
    even = [
        StreamJob(
            each.id, each.arrival_s, each.service_s,
            JobRequest(
                RequestKind.UNORDERED, tuple(size + size % 2 for size in each.request.components),
                estimate_s=each.request.estimate_s,
            ),
            each.queue,
        )
        for each in odd
    ]  # fmt: skip
    whole, shared = (exclusive(nodes=16, clusters=4, use=use) for use in ("exclusive", "shared"))
    policy = "wf-distinct"
    assert starts(odd, whole, queue=queue, policy=policy) == starts(even, shared, queue=queue, policy=policy)


def test_utilization_counts_what_is_held():
    """A job of 5 holds 6 of 16 processors for the 10 s until the last arrival."""
    jobs = [job(1, 0, 20, 5), job(2, 10, 1, 1)]
    result = simulate(jobs, clusters=exclusive(nodes=4, clusters=2), queue="gs", policy="wf")
    assert result.statistics.gross_utilization == pytest.approx(6 / 16)


def test_execution_times_are_those_of_the_processes_that_run():
    table = FactorTable({("poisson", 7, 2): MeasuredTime(3.0, 1.0)})
    for contention in (None, SharedLinks()):
        result = simulate(
            [job(1, 0, 10, 7, kind="flexible")], clusters=exclusive(nodes=2, clusters=2), queue="gs", policy="fcm",
            runtime=table, contention=contention, keep_jobs=True,
        )  # fmt: skip
        (found,) = result.finished
        assert (found.components, found.finish_s) == ((4, 4), 30)


def test_a_model_of_each_job_gets_the_processes_of_its_placement():
    seen: list[Placement] = []

    class OfJobs:
        def execution_of_s(self, job: int, placement: Placement, service_s: float) -> float:
            seen.append(placement)
            return service_s

    simulate([job(1, 0, 10, 5, 1)], clusters=exclusive(nodes=4, clusters=2), queue="gs", policy="wf", runtime=OfJobs())
    assert [component.processors for component in seen[0].components] == [5, 1]


def test_a_dummy_and_a_local_job_of_one_processor_hold_a_node():
    """Half of 8 processors are two nodes. Where the local job takes one, a dummy job goes: two nodes remain."""
    stated = {"band": [0.4, 0.6], "dummy": {"sizes": [1], "lengths": {"low_s": 900, "high_s": 901}}}
    background = SimulatedBackground(
        validate(stated, Background, source="background"), iter([Local(1, 0, 1, 100)]), [8],
        numpy.random.default_rng(1), 60.0, 2,
    )  # fmt: skip
    background.keep_changes()
    topology = exclusive(nodes=4, clusters=1)
    found = starts([job(1, 5, 10, 2), job(2, 6, 20, 1), job(3, 7, 10, 1)], topology, background=background)
    assert found == {1: 5, 2: 6, 3: 15}
    assert {(change.dummy, change.local) for change in background.changes()} == {(4, 0), (2, 2)}


def test_processors_that_others_hold_throughout_are_whole_nodes():
    topology = exclusive(nodes=4, clusters=1)
    with pytest.raises(ImpossibleRequest, match="in whole nodes of 2"):
        starts([job(1, 0, 10, 5)], topology, occupied=[3])
    assert starts([job(1, 0, 10, 4)], topology, occupied=[3]) == {1: 0}


def test_shared_nodes_cannot_be_exclusive():
    with pytest.raises(InvalidInput, match="nodes: shared nodes cannot be exclusive"):
        node_states(exclusive(nodes=4, clusters=1), [])
