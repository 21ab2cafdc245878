"""From a job's specification to what the planner knows of it: work, meetings, packets between clusters, memory."""

from __future__ import annotations

import pytest

from apps.registry import APPLICATIONS
from emulator.model.catalogue import topology_named
from emulator.model.interconnects import Interconnects, WhichInterconnect
from emulator.model.job import JobSpecification
from emulator.model.processor import Processor
from emulator.planning.costs import MessagesOver
from emulator.planning.planned_jobs import planned_job

DAS2 = topology_named("das2")
SLOW = Processor(name="slow", in_cache_ns_per_point=115, out_of_cache_ns_per_point=264, cache_bytes=262144)
MINI = topology_named("mini").model_copy(update={"processor": SLOW, "interconnects": Interconnects()})
ONE = [("amsterdam", 16)]
TWO = [("amsterdam", 8), ("delft", 8)]


def poisson(**more: object) -> JobSpecification:
    arguments = {"grid": 400, "iterations": 100, **more}
    return JobSpecification(application="poisson", arguments=arguments, components=(16,))


def test_a_phase_is_the_largest_block_s_and_all_meet_after_each():
    job = planned_job(poisson(), ONE, MINI)
    assert (job.processors, job.together, job.points, job.meeting_phases) == (16, 16, 10_000, 1)
    assert job.phase_s == pytest.approx(10_000 * 115e-9)
    assert (job.over, job.segments, job.delays_s) == (MessagesOver.SHARED_MEMORY, 0.0, 0.0)
    assert job.grid_bytes == 2 * 8 * 400 * 400


def test_over_two_clusters_borders_and_reduction_cross_the_wide_area():
    job = planned_job(poisson(), TWO, MINI)
    # Four rows of processes meet at the border, each sends a column of 100 points both ways; then up and down the tree.
    assert job.segments == 2 * 4 + 2
    assert (job.over, job.together) == (MessagesOver.WIDE_AREA, 8)
    # Two steps wait for one another, and so does each way of the reduction; 2 ms a delay.
    assert 4 * 0.002 < job.delays_s < 4 * 0.002 + 0.005


def test_overlapped_borders_wait_once():
    steps, overlapped = (planned_job(poisson(exchange=mode), TWO, MINI) for mode in ("steps", "overlapped"))
    assert steps.delays_s - overlapped.delays_s == pytest.approx(0.002, rel=0.7)


def test_more_clusters_make_more_packets():
    four = [(name, 4) for name in MINI.cluster_names]
    assert planned_job(poisson(), four, MINI).segments > planned_job(poisson(), TWO, MINI).segments


def test_large_borders_take_several_packets():
    assert planned_job(poisson(grid=4000), TWO, MINI).segments == 2 * 4 * 6 + 2


def test_a_stated_interconnect_paces_what_stays_in_one_cluster():
    specification = poisson()
    alone = planned_job(specification, [("vrije-universiteit", 16)], DAS2)
    assert alone.over is MessagesOver.INTERCONNECT
    assert alone.delays_s > 4 * 15e-6
    slower = specification.model_copy(update={"interconnect": WhichInterconnect.COALLOCATED})
    assert planned_job(slower, [("vrije-universiteit", 16)], DAS2).delays_s > alone.delays_s


def test_where_all_that_a_rank_sends_is_paced_it_wakes_for_no_phase():
    alone = planned_job(poisson(), [("vrije-universiteit", 16)], DAS2)
    spread = planned_job(poisson(), [("vrije-universiteit", 8), ("delft", 8)], DAS2)
    assert (alone.waking, alone.together) == (0, 0)
    # In 4 x 4 processes the second and the third column talk across, and so do both clusters' first processes.
    assert (spread.waking, spread.together) == (9, 5)


def test_through_shared_memory_every_rank_wakes():
    job = planned_job(poisson(), TWO, MINI)
    assert (job.waking, job.together) == (16, 8)


def test_two_components_in_one_cluster_wake_together():
    job = planned_job(poisson(), [("amsterdam", 8), ("amsterdam", 8)], MINI)
    assert (job.together, job.over) == (16, MessagesOver.SHARED_MEMORY)


def test_a_time_scale_divides_computing():
    scaled = poisson().model_copy(update={"time_scale": 10.0})
    assert planned_job(scaled, ONE, MINI).phase_s == pytest.approx(planned_job(poisson(), ONE, MINI).phase_s / 10)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_every_application_can_be_planned(application):
    arguments = {"points": 100} if application == "synthetic" else {"grid": 64}
    specification = JobSpecification(application=application, arguments=arguments, components=(4,))
    alone, spread = (
        planned_job(specification, parts, MINI) for parts in ([("delft", 4)], [("delft", 2), ("leiden", 2)])
    )
    assert alone.phase_s > 0
    assert alone.iterations > 0
    assert spread.segments >= alone.segments == 0


def test_ranks_that_do_not_meet_after_each_phase_wake_as_messages_come_in():
    spread = [("vrije-universiteit", 8), ("delft", 8)]
    laplace, heat = (
        planned_job(JobSpecification(application=application, arguments={"grid": 400}, components=(16,)), spread, DAS2)
        for application in ("laplace", "heat")
    )
    assert (laplace.waking, laplace.together) == (9, 2)
    # Of the workers in rows one on each side of the border; the master has no phases.
    assert (heat.waking, heat.together) == (2, 1)


def test_laplace_computes_in_two_phases_and_meets_now_and_then():
    specification = JobSpecification(application="laplace", arguments={"grid": 400}, components=(16,))
    job = planned_job(specification, ONE, MINI)
    whole_s = planned_job(poisson(), ONE, MINI).phase_s
    assert (job.phases, job.meeting_phases) == (2, 40)
    assert job.phases * job.phase_s == pytest.approx(whole_s)
    assert job.phases * job.sweeps == 1


def test_synthetic_work_may_be_stated_as_a_time():
    specification = JobSpecification(application="synthetic", arguments={"compute-s": 0.25}, components=(4,))
    assert planned_job(specification, [("delft", 4)], MINI).phase_s == 0.25
