"""What a run asks of a host, the smallest dilation that this allows, and how long it takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emulator.fidelity.pilots import LARGEST_DILATION, SMALLEST_DILATION
from emulator.model.clock import Dilation
from emulator.planning.plan import (
    CLUSTER_BYTES,
    HOST_START_RANK_S,
    HOST_START_S,
    RANK_BYTES,
    PlannedHost,
    PlannedRun,
    Resources,
    floor_dilation,
    host_run_s,
    likely_dilation,
    needed_dilation,
    plan,
)
from emulator.planning.planned_jobs import PlannedJob

ROOM = Resources(processors=2, memory_bytes=8 * 10**9, disk_bytes=10**11, guest_router=False)
JOB = PlannedJob("job", 16, 2, 100, 0.02, 160_000.0, 10.0, real=True, grid_bytes=10**6)


def run_of(*jobs: PlannedJob, **more: object) -> PlannedRun:
    return PlannedRun(jobs, 4, **more)


def test_an_easy_job_may_be_tried_at_the_smallest_dilation():
    assert floor_dilation(run_of(replace(JOB, iteration_s=1.0)), ROOM) == SMALLEST_DILATION


def test_the_shorter_an_iteration_is_the_larger_the_floor_and_the_guess():
    jobs = [replace(JOB, iteration_s=iteration_s) for iteration_s in (0.1, 0.01, 0.001)]
    floors = [floor_dilation(run_of(job), ROOM) for job in jobs]
    assert floors == sorted(floors)
    assert floors[0] < floors[-1]
    assert all(likely_dilation(run_of(job), ROOM) >= floor for job, floor in zip(jobs, floors, strict=True))


def test_the_most_demanding_job_decides():
    hard = replace(JOB, iteration_s=0.001)
    assert floor_dilation(run_of(JOB, hard), ROOM) == floor_dilation(run_of(hard), ROOM)


def test_jobs_that_run_at_once_share_the_cores():
    alone = run_of(replace(JOB, clusters=1, iteration_s=0.001), replace(JOB, clusters=1, iteration_s=0.001))
    beside = replace(alone, beside={0: ((1, 1.0),), 1: ((0, 1.0),)})
    assert floor_dilation(beside, ROOM) == 2 * floor_dilation(alone, ROOM)


def test_over_hosts_the_one_with_the_most_work_for_a_core_binds():
    """Twelve ranks are on one core of `small`, four on the two of `large`: six times as many for each core."""
    hosts = (PlannedHost("small", 1.0, 10**9, ("delft",)), PlannedHost("large", 2.0, 10**10, ("leiden", "utrecht")))
    run = run_of(replace(JOB, iteration_s=0.001, parts=(("delft", 12), ("leiden", 4))))
    here, spread = plan(run, Dilation(1), ROOM), plan(run, Dilation(1), replace(ROOM, hosts=hosts))
    cores = {constraint.name: constraint.share for constraint in (*here.constraints, *spread.constraints)}
    assert cores["cores of small"] == pytest.approx(0.75 * 2 * cores["cores"])
    assert cores["memory of small"] == pytest.approx((CLUSTER_BYTES + 0.75 * (16 * RANK_BYTES + 10**6)) / 10**9)
    assert spread.memory_bytes == here.memory_bytes
    more = plan(run, Dilation(1), replace(ROOM, hosts=(replace(hosts[0], cores=8.0), hosts[1])))
    assert "cores of large" in [constraint.name for constraint in more.constraints]


def test_a_guest_needs_slower_links_than_the_host_s_own_kernel():
    run = run_of(replace(JOB, iteration_s=1.0), full_link_mbit=100.0)
    assert floor_dilation(run, ROOM) == SMALLEST_DILATION
    assert floor_dilation(run, replace(ROOM, guest_router=True)) == 2.0


def test_starting_ranks_must_fit_into_the_middleware_s_time():
    assert floor_dilation(run_of(replace(JOB, iteration_s=1.0), overhead_s=0.5), ROOM) == 4.0


def test_the_starts_of_a_campaign_s_jobs_leave_the_cores_to_ranks_that_iterate():
    """A hundred jobs of 16 ranks take 89 s of processor time to start; two cores offer 15% of 200 s in 100 s."""
    jobs = [replace(JOB, iteration_s=1.0)] * 100
    assert needed_dilation(run_of(*jobs, span_s=100.0), ROOM) == pytest.approx(89 / 30)
    assert plan(run_of(*jobs, span_s=100.0), Dilation(1), ROOM).binding.name == "starts"
    assert floor_dilation(run_of(*jobs), ROOM) == SMALLEST_DILATION, "one after another, no rank waits for a start"


def test_over_hosts_the_one_that_starts_most_ranks_for_a_core_binds():
    hosts = (PlannedHost("small", 1.0, 10**10, ("delft",)), PlannedHost("large", 2.0, 10**10, ("leiden",)))
    job = replace(JOB, iteration_s=1.0, parts=(("delft", 12), ("leiden", 4)))
    found = plan(run_of(*[job] * 100, span_s=10.0), Dilation(1), replace(ROOM, hosts=hosts))
    assert found.binding.name == "starts of small"


def test_a_full_disk_holds_no_run_at_any_dilation():
    found = plan(run_of(JOB), Dilation(8.0), replace(ROOM, disk_bytes=0))
    assert [constraint.name for constraint in found.impossible] == ["disk"]


def test_what_needs_more_memory_than_there_is_is_impossible_at_any_dilation():
    shown = plan(run_of(replace(JOB, grid_bytes=10**10)), Dilation(8.0), ROOM)
    assert [constraint.name for constraint in shown.impossible] == ["memory"]
    assert shown.binding.name == "memory"
    assert not shown.carried


def test_a_run_takes_its_starts_and_its_dilated_runtimes():
    job_s = HOST_START_S + 16 * HOST_START_RANK_S + 8 * 100 * 0.02
    assert host_run_s(JOB, Dilation(8.0)) == pytest.approx(job_s)
    assert plan(run_of(JOB, JOB, repeat=3), Dilation(8.0), ROOM).host_duration_s == pytest.approx(6 * job_s)
    assert plan(run_of(JOB, span_s=50.0), Dilation(8.0), ROOM).host_duration_s == 400.0


def test_a_campaign_s_jobs_may_lose_as_much_to_the_host_as_its_pilots_accept():
    alone, campaign = (run_of(replace(JOB, iteration_s=0.004), in_a_campaign=each) for each in (False, True))
    assert (floor_dilation(alone, ROOM), floor_dilation(campaign, ROOM)) == (8.0, 2.0)


def test_a_run_that_needs_more_than_is_tried_is_not_carried_at_the_largest_dilation_tried():
    run = run_of(JOB, overhead_s=0.006)
    largest = plan(run, Dilation(LARGEST_DILATION), ROOM)
    assert floor_dilation(run, ROOM) == likely_dilation(run, ROOM) == LARGEST_DILATION < needed_dilation(run, ROOM)
    assert (largest.carried, largest.binding.name) == (False, "middleware")
    assert plan(run, Dilation(needed_dilation(run, ROOM)), ROOM).carried


def test_no_floor_is_beyond_what_is_tried():
    assert floor_dilation(run_of(replace(JOB, iteration_s=1e-9)), ROOM) == LARGEST_DILATION
