"""From a job's specification to what the planner knows of it: work, meetings, packets between clusters, memory."""

from __future__ import annotations

import pytest

from apps.registry import APPLICATIONS
from emulator.model.catalogue import topology_named
from emulator.model.interconnects import Interconnects, WhichInterconnect
from emulator.model.job import JobSpecification
from emulator.model.processor import Processor
from emulator.planning.planned_jobs import planned_job

DAS2 = topology_named("das2")
DAS2_2006 = topology_named("das2-2006")
SLOW = Processor(name="slow", in_cache_ns_per_point=115, out_of_cache_ns_per_point=264, cache_bytes=262144)
MINI = topology_named("mini").model_copy(update={"processor": SLOW, "interconnects": Interconnects()})
ONE = [("amsterdam", 16)]
TWO = [("amsterdam", 8), ("delft", 8)]


def poisson(**more: object) -> JobSpecification:
    arguments = {"grid": 400, "iterations": 100, **more}
    return JobSpecification(application="poisson", arguments=arguments, components=(16,))


def test_an_iteration_computes_the_largest_block():
    job = planned_job(poisson(), ONE, MINI)
    assert (job.processors, job.updates, job.iterations) == (16, 160_000, 100)
    assert job.iteration_s == pytest.approx(10_000 * 115e-9)
    assert job.runtime_s == pytest.approx(100 * 10_000 * 115e-9)
    assert (job.real, job.segments) == (True, 0.0)
    assert job.grid_bytes == 2 * 8 * 400 * 400


def test_over_two_clusters_borders_and_reduction_cross_the_wide_area():
    job = planned_job(poisson(), TWO, MINI)
    # Four rows of processes meet at the border, each sends a column of 100 points both ways; then up and down the tree.
    assert job.segments == 2 * 4 + 2
    # Two steps wait for one another, and so does each way of the reduction; 2 ms a delay.
    delays_s = job.iteration_s - planned_job(poisson(), ONE, MINI).iteration_s
    assert 4 * 0.002 < delays_s < 4 * 0.002 + 0.005


def test_overlapped_borders_wait_once():
    steps, overlapped = (planned_job(poisson(exchange=mode), TWO, MINI) for mode in ("steps", "overlapped"))
    # The other cluster is a delay behind, as it learns to go on: its borders and its report then cross together.
    assert steps.iteration_s - overlapped.iteration_s == pytest.approx(2 * 0.002, rel=0.1)


def test_more_clusters_make_more_packets():
    four = [(name, 4) for name in MINI.cluster_names]
    assert planned_job(poisson(), four, MINI).segments > planned_job(poisson(), TWO, MINI).segments


def test_large_borders_take_several_packets():
    assert planned_job(poisson(grid=4000), TWO, MINI).segments == 2 * 4 * 6 + 2


def test_a_stated_interconnect_paces_what_stays_in_one_cluster():
    specification = poisson()
    alone = planned_job(specification, [("vrije-universiteit", 16)], DAS2)
    assert not alone.real
    slower = specification.model_copy(update={"interconnect": WhichInterconnect.COALLOCATED})
    assert planned_job(slower, [("vrije-universiteit", 16)], DAS2).iteration_s > alone.iteration_s


def test_faster_processors_compute_in_less_time():
    scaled = poisson().model_copy(update={"processor_speed": 10.0})
    assert planned_job(scaled, ONE, MINI).iteration_s == pytest.approx(
        planned_job(poisson(), ONE, MINI).iteration_s / 10
    )


def test_what_heat_distributes_and_collects_counts_among_its_runtime():
    arguments = {"grid": 3600, "distributed-share": 0.05}
    specification = JobSpecification(application="heat", arguments=arguments, components=(64,))
    job = planned_job(specification, [("utrecht", 45), ("delft", 19)], DAS2_2006)
    # Measured live on this topology: the job took 1.68 s longer than its iterations.
    assert job.once_s == pytest.approx(1.68, rel=0.03)
    assert job.runtime_s == pytest.approx(job.iterations * job.iteration_s + job.once_s)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_every_application_can_be_planned(application):
    arguments = {"points": 100} if application == "synthetic" else {"grid": 64}
    specification = JobSpecification(application=application, arguments=arguments, components=(4,))
    alone, spread = (
        planned_job(specification, parts, MINI) for parts in ([("delft", 4)], [("delft", 2), ("leiden", 2)])
    )
    assert alone.updates > 0
    assert alone.iterations > 0
    assert spread.segments >= alone.segments == 0


def test_an_ensemble_is_planned_with_the_members_and_the_analyses_that_its_job_states():
    def planned(**arguments: int):
        stated = {"grid": 64, **{name.replace("_", "-"): value for name, value in arguments.items()}}
        specification = JobSpecification(application="ensflow", arguments=stated, components=(6, 6))
        return planned_job(specification, [("delft", 6), ("leiden", 6)], MINI)

    usual, larger, often = planned(), planned(members=120), planned(analysis_every_days=5)
    assert larger.updates == 2 * usual.updates
    assert larger.segments == pytest.approx(2 * usual.segments, rel=0.01)
    assert (often.updates, often.segments) == (usual.updates, pytest.approx(2 * usual.segments))


def test_synthetic_work_may_be_stated_as_a_time():
    specification = JobSpecification(application="synthetic", arguments={"compute-s": 0.25}, components=(4,))
    assert planned_job(specification, [("delft", 4)], MINI).iteration_s == pytest.approx(0.25)
