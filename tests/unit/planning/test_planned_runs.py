"""Plans of campaigns and matrices: which jobs overlap, the dilation settled on, what is refused, what is kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emulator.campaigns.live import arrivals_on
from emulator.model.catalogue import topology_named
from emulator.model.errors import Hopeless
from emulator.model.interconnects import Interconnects
from emulator.model.records import JobRow
from emulator.planning.plan_records import ALL_JOBS, outcomes
from emulator.planning.planned_runs import plan_dilation, planned_campaign, planned_layout, settled_plan
from emulator.runs.control_runs import ATTRIBUTING
from emulator.runs.matrix import Matrix, lay_out
from tests.unit.planning.planned_host import ROOM, host_costs
from workloads.campaign import campaign_named

MINI = topology_named("mini").model_copy(update={"interconnects": Interconnects()})


def layout(**more: object):
    stated = {"applications": ("poisson",), "grids": (400,), "processors": (16,), "clusters": (1, 2), **more}
    return lay_out(Matrix(**stated), MINI)


def first_campaign(**changes: object):
    campaign = campaign_named("first").changed(**changes)
    return planned_campaign(campaign, arrivals_on(MINI, campaign, 1), 1, MINI)


def test_cells_run_one_after_another():
    run = planned_layout(layout(), MINI)
    assert [job.name for job in run.jobs] == ["poisson-400-on-16-over-1", "poisson-400-on-16-over-2"]
    assert (run.beside, run.overhead_s, run.full_link_mbit) == ({}, None, 20.0)


def test_jobs_in_one_cluster_need_no_full_links():
    assert planned_layout(layout(clusters=(1,)), MINI).full_link_mbit == 0.0


def test_control_runs_must_be_faithful_too():
    alone = planned_layout(layout(clusters=(2,)), MINI)
    run = planned_layout(layout(clusters=(2,)), MINI, ATTRIBUTING)
    without_wide_area, latency_alone, rate_alone, unshared = run.controls
    (own,) = alone.jobs
    assert without_wide_area.delays_s < 0.1 * own.delays_s < rate_alone.delays_s
    assert latency_alone.delays_s == pytest.approx(own.delays_s, rel=0.2)
    assert unshared.delays_s == own.delays_s
    costs = host_costs()
    # Where nothing is waited for, an iteration is the shorter, and the host's own time a larger share of it.
    assert plan_dilation(run, costs, ROOM) > plan_dilation(alone, costs, ROOM)
    planned = settled_plan(run, costs, 16.0, resources=ROOM)
    assert planned.jobs == settled_plan(alone, costs, 16.0, resources=ROOM).jobs


def test_a_campaign_s_jobs_overlap_more_the_sooner_they_arrive():
    sooner, later = (
        first_campaign(interarrival={"distribution": "exponential", "mean_s": mean_s}) for mean_s in (0.5, 500.0)
    )
    overlaps = [sum(share for beside in run.beside.values() for _, share in beside) for run in (sooner, later)]
    assert overlaps[0] > 10 * max(overlaps[1], 0.1)
    assert len(sooner.jobs) == len(later.jobs) == 20


def test_a_campaign_paces_its_middleware():
    assert first_campaign().overhead_s == pytest.approx(MINI.middleware.overhead_s(1))


def test_the_dilation_is_the_planner_s_or_the_one_asked_for():
    run, costs = planned_layout(layout(), MINI), host_costs()
    planned = plan_dilation(run, costs, ROOM)
    assert settled_plan(run, costs, resources=ROOM).dilation == planned > 1.0
    assert settled_plan(run, costs, planned * 2, resources=ROOM).dilation == planned * 2


def test_the_hopeless_is_refused_with_the_dilation_that_is_not_unless_told_otherwise():
    run, costs = planned_layout(layout(grids=(100,)), MINI), host_costs()
    with pytest.raises(Hopeless, match=r"At dilation 0.1 this run is hopeless .* \(use --dilation \d+"):
        settled_plan(run, costs, 0.1, resources=ROOM)
    assert settled_plan(run, costs, 0.1, even_if_hopeless=True, resources=ROOM).hopeless


def test_where_no_dilation_helps_the_planner_says_what_binds():
    run = planned_layout(layout(), MINI)
    with pytest.raises(Hopeless, match=r"No dilation up to \d+ is faithful on this host, because of its memory"):
        settled_plan(run, host_costs(), resources=replace(ROOM, memory_bytes=1000))


def test_what_happened_stands_beside_what_was_predicted():
    run = planned_layout(layout(), MINI)
    plan = settled_plan(run, host_costs(), 16.0, resources=ROOM)
    row = JobRow(
        job=1, name=run.jobs[0].name, application="poisson", request="fixed", components=(16,), processors=16,
        state="finished", submitted_s=0.0, verdict="valid", phases=1600, late_phases=400, host_cpu_s=0.5,
    )  # fmt: skip
    failed = row.model_copy(update={"state": "failed", "phases": None})
    found = outcomes(run, plan, [row, row.model_copy(update={"late_phases": 0, "host_cpu_s": 1.5}), failed])
    assert [outcome.name for outcome in found] == [run.jobs[0].name, ALL_JOBS]
    assert found[0].late_phase_share == 0.125
    assert found[0].host_cpu_s == 1.0
    assert found[0].predicted_late_phase_share == plan.jobs[0].late_phase_share
    assert found[1].predicted_host_cpu_s == pytest.approx(2 * plan.jobs[0].host_cpu_s)
