"""The plan of a run: shares, what binds, the dilation proposed. The host's costs are values, so nothing is measured."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.model.clock import Dilation
from emulator.planning.costs import MessagesOver
from emulator.planning.lateness import Lateness, Waking
from emulator.planning.plan import DILATIONS, PlannedRun, plan, propose
from emulator.planning.predicted_jobs import PlannedJob
from tests.unit.planning.planned_host import ROOM, host_costs

SMALL = PlannedJob(
    "small", "poisson", processors=16, clusters=1, waking=16, together=16, over=MessagesOver.SHARED_MEMORY,
    iterations=100, phase_s=1.15e-3, points=10_000,
)  # fmt: skip
WIDE = replace(
    SMALL, name="wide", clusters=2, waking=16, together=8, over=MessagesOver.WIDE_AREA, delays_s=8e-3, segments=20.0
)


def run_of(*jobs: PlannedJob, **more: object) -> PlannedRun:
    return PlannedRun(jobs, clusters=4, **more)


def planned(run: PlannedRun, dilation: float):
    return plan(run, Dilation(dilation), host_costs(), ROOM)


def shares(run: PlannedRun, dilation: float) -> dict[str, float]:
    return {constraint.name: constraint.share for constraint in planned(run, dilation).constraints}


jobs = st.builds(
    PlannedJob,
    name=st.just("any"),
    application=st.sampled_from(["poisson", "laplace", "heat"]),
    processors=st.just(400),
    waking=st.integers(0, 400),
    together=st.integers(1, 100),
    over=st.sampled_from(MessagesOver),
    iterations=st.integers(1, 3000),
    phase_s=st.floats(1e-5, 10.0),
    points=st.integers(1, 1_000_000),
    phases=st.sampled_from([1, 2]),
    meeting_phases=st.sampled_from([None, 1, 40]),
    delays_s=st.floats(0.0, 0.1),
    segments=st.floats(0.0, 1000.0),
)


@given(jobs, st.floats(0.1, 200.0), st.floats(1.0, 8.0))
def test_a_larger_dilation_never_makes_anything_worse(job, dilation, larger):
    run = run_of(job, full_link_mbit=100.0, overhead_s=5.0)
    before, after = shares(run, dilation), shares(run, dilation * larger)
    assert {name: share for name, share in after.items() if share > before[name] * (1 + 1e-9)} == {}


@given(jobs, jobs, st.floats(0.1, 200.0), st.floats(1.0, 8.0))
def test_nor_where_jobs_run_beside_one_another(job, other, dilation, larger):
    run = run_of(job, other, beside={0: ((1, 0.5),), 1: ((0, 1.0),)})
    before, after = shares(run, dilation), shares(run, dilation * larger)
    assert {name: share for name, share in after.items() if share > before[name] * (1 + 1e-9)} == {}


@given(jobs, st.floats(0.1, 200.0))
def test_shares_of_phases_are_shares(job, dilation):
    (predicted,) = planned(run_of(job), dilation).jobs
    assert 0.0 <= predicted.late_phase_share <= 1.0
    assert 0.0 <= predicted.own_time_share <= 1.0
    assert predicted.lateness_share >= 0.0


@given(jobs)
def test_what_is_proposed_is_faithful_and_so_is_every_larger_dilation_and_the_next_smaller_is_not(job):
    found = propose(run_of(job), host_costs(), ROOM)
    if not found.faithful:
        assert found.dilation == DILATIONS[-1]
        return
    assert found.hopeless == ()
    at = DILATIONS.index(found.dilation)
    assert all(planned(run_of(job), factor).faithful for factor in DILATIONS[at:])
    assert at == 0 or not planned(run_of(job), DILATIONS[at - 1]).faithful


@given(jobs, st.integers(1, 5))
def test_a_run_needs_at_least_the_dilation_of_each_of_its_jobs(job, factor):
    smaller = replace(job, points=max(1, job.points // factor))
    together = propose(run_of(job, smaller), host_costs(), ROOM).dilation
    assert together >= max(propose(run_of(each), host_costs(), ROOM).dilation for each in (job, smaller))


def test_small_grids_need_a_larger_dilation_than_large_ones():
    large = replace(SMALL, points=1_000_000, phase_s=0.264)
    assert propose(run_of(SMALL), host_costs(), ROOM).dilation > propose(run_of(large), host_costs(), ROOM).dilation


@pytest.mark.parametrize("dilation", [2.0, 16.0])
def test_a_phase_is_late_if_its_rank_is_not_ready_by_its_end_and_the_tolerance(dilation):
    # Half of 16 ranks need more than 1200 us, half as many more than twice of it, and so on.
    (predicted,) = planned(run_of(SMALL), dilation).jobs
    phase_s = 1.15e-3 * dilation
    allowed_s = phase_s + max(0.01 * phase_s, 100e-6)
    assert predicted.late_phase_share == pytest.approx(0.5 * 1200e-6 / allowed_s, rel=0.15)


def test_ranks_on_idle_cores_are_ready_sooner_than_on_busy_ones():
    waking = Waking(16, 2, 8, 1.0, MessagesOver.WIDE_AREA, 0.001, 20e-6, core_share=0.1)
    lateness = Lateness(host_costs())
    shares = [lateness.late_share(replace(waking, core_share=busy), 0.1) for busy in (0.05, 0.1, 0.3, 0.7, 1.0)]
    assert shares == sorted(shares)
    assert shares[0] == shares[1] < shares[2] < shares[3] == shares[4]


def test_over_more_clusters_ranks_become_ready_at_more_different_moments():
    shares = [
        planned(run_of(replace(WIDE, clusters=clusters)), 1.0).late_phase_share for clusters in (2, 3, 4, 5)
    ]  # fmt: skip
    assert shares[0] > shares[1] > shares[2] == shares[3]
    assert shares[1] ** 2 == pytest.approx(shares[0] * shares[2], rel=0.2)


def test_ranks_with_longer_kernels_are_ready_later():
    longer = replace(SMALL, points=200_000)
    assert planned(run_of(longer), 8.0).late_phase_share > planned(run_of(SMALL), 8.0).late_phase_share


def test_in_phases_too_short_for_anybody_all_are_late():
    hasty = replace(WIDE, points=10, phase_s=1e-6)
    (predicted,) = planned(run_of(hasty), 1.0).jobs
    assert predicted.late_phase_share > 0.85


def test_more_ranks_than_were_measured_are_later_in_proportion():
    measured, more = (replace(SMALL, processors=ranks, waking=ranks, together=ranks) for ranks in (64, 128))
    first, second = (planned(run_of(job), 20.0).jobs[0] for job in (measured, more))
    assert second.late_phase_share == pytest.approx(2 * first.late_phase_share, rel=0.3)


def test_lateness_does_not_add_up_where_all_messages_are_paced():
    paced = replace(SMALL, over=MessagesOver.INTERCONNECT, waking=0, together=0)
    unpaced, made_up = (planned(run_of(job), 8.0).jobs[0].lateness_share for job in (SMALL, paced))
    assert unpaced > 0.02
    assert made_up < 0.001


def test_in_one_cluster_over_an_interconnect_phases_end_late_where_ranks_take_too_long_in_turn():
    # The host's own time through shared memory is 0.8 ms, kernels take 0.16 ms: at K = 1.67 half of a phase of 1.15 ms.
    paced = replace(SMALL, over=MessagesOver.INTERCONNECT, waking=0, together=0)
    at = {dilation: planned(run_of(paced), dilation).jobs[0].late_phase_share for dilation in (8.0, 1.67, 1.2, 0.05)}
    assert at[8.0] == 0.0
    assert at[1.67] == pytest.approx(0.1, rel=0.05)
    assert 0.1 < at[1.2] < 0.5
    assert at[0.05] == pytest.approx(1.0)


def test_kernels_that_need_more_than_a_phase_make_every_phase_late():
    dense = replace(SMALL, points=250_000, phase_s=1e-3)
    found = planned(run_of(dense), 2.0)
    assert found.jobs[0].late_phase_share == 1.0
    assert "lateness" in [constraint.name for constraint in found.hopeless]


def test_jobs_beside_one_another_make_each_other_late():
    job = replace(SMALL, points=1_000_000, phase_s=0.264)
    alone = planned(run_of(job, job), 1.0)
    beside = planned(run_of(job, job, beside={0: ((1, 1.0),), 1: ((0, 1.0),)}), 1.0)
    assert beside.late_phase_share > alone.late_phase_share
    assert beside.memory_bytes > alone.memory_bytes


def test_unpaced_processors_are_never_late():
    native = replace(SMALL, phase_s=None)
    assert planned(run_of(native), 1.0).jobs[0].late_phase_share == 0.0


def test_memory_is_hopeless_at_any_dilation():
    huge = replace(SMALL, grid_bytes=32_000_000_000)
    found = propose(run_of(huge), host_costs(), ROOM)
    assert not found.faithful
    assert [constraint.name for constraint in found.hopeless] == ["memory"]


def test_the_wide_area_asks_for_packets_and_full_links():
    found = planned(run_of(WIDE, full_link_mbit=100.0), 1.0)
    assert found.host_packets_per_s == pytest.approx(1.8 * 20 / (1.15e-3 + 8e-3 + 2e-3), rel=0.05)
    assert {constraint.name: constraint.share for constraint in found.constraints}["links"] == pytest.approx(
        0.69, abs=0.02
    )


def test_starting_ranks_must_fit_the_stated_middleware():
    run = run_of(replace(SMALL, processors=64), overhead_s=6.0)
    assert shares(run, 2.0)["middleware"] == 0.0
    assert shares(run, 0.25)["middleware"] > 0.05
