"""Plans of campaigns and matrices: which jobs overlap, which are tried beforehand, what is refused."""

from __future__ import annotations

import pytest

from emulator.campaigns.live import arrivals_on
from emulator.model.catalogue import topology_named
from emulator.model.errors import Hopeless
from emulator.model.interconnects import Interconnects
from emulator.model.project import PROJECT_ROOT
from emulator.planning.plan import Resources
from emulator.planning.planned_runs import check_possible, planned_campaign, planned_cells
from emulator.runs.matrix import Matrix, lay_out
from workloads.campaign import campaign_named

MINI = topology_named("mini").model_copy(update={"interconnects": Interconnects()})


def cells(**more: object):
    stated = {"applications": ("poisson",), "grids": (400,), "processors": (16,), "clusters": (1, 2), **more}
    return lay_out(Matrix(**stated), MINI).cells


def first_campaign(**changes: object):
    campaign = campaign_named("first").changed(**changes)
    return planned_campaign(campaign, arrivals_on(MINI, campaign, 1), 1, MINI)


def test_cells_run_one_after_another():
    run = planned_cells(cells(), MINI)
    assert [job.name for job in run.jobs] == ["poisson-400-on-16-over-1", "poisson-400-on-16-over-2"]
    assert (run.beside, run.overhead_s, run.full_link_mbit) == ({}, None, 20.0)


def test_jobs_in_one_cluster_need_no_full_links():
    assert planned_cells(cells(clusters=(1,)), MINI).full_link_mbit == 0.0


def test_a_campaign_s_jobs_overlap_more_the_sooner_they_arrive():
    sooner, later = (
        first_campaign(interarrival={"distribution": "exponential", "mean_s": mean_s}) for mean_s in (0.5, 500.0)
    )
    overlaps = [sum(share for beside in each.run.beside.values() for _, share in beside) for each in (sooner, later)]
    assert overlaps[0] > 10 * max(overlaps[1], 0.1)
    assert len(sooner.run.jobs) == len(later.run.jobs) == 20
    assert len(sooner.together) > len(later.together) >= 1


def test_jobs_are_tried_where_the_simulator_placed_them_and_fit_all_at_once():
    planned = first_campaign(interarrival={"distribution": "exponential", "mean_s": 0.5})
    taken: dict[str, int] = {}
    for job in planned.together:
        assert job.request == "fixed"
        for cluster, size in zip(job.clusters, job.components, strict=True):
            taken[cluster] = taken.get(cluster, 0) + size
    assert all(taken[name] <= MINI.cluster(name).processors for name in taken)
    assert len(set(planned.hardest.clusters)) > 1


def shared_nodes_campaign(policy: str, queue: str, **changes: object):
    campaign = campaign_named("sit").changed(policy=policy, queue=queue, jobs=30, time_scale=20.0, **changes)
    topology = topology_named("cisne-shared")
    return planned_campaign(campaign, arrivals_on(topology, campaign, 1), 1, topology)


def test_on_shared_nodes_as_many_jobs_are_tried_at_once_as_share_them():
    """16 nodes for one task each, or for four tasks each, of jobs that come four times as fast."""
    dense = {"interarrival": {"distribution": "exponential", "mean_s": 12.6}}
    alone, shared, of_slurm = (
        sum(sum(job.components) for job in shared_nodes_campaign(policy, queue, **dense).together)
        for policy, queue in (("normal-alone", "just-first"), ("normal", "just-first"), ("wf", "placement"))
    )
    assert alone <= 16
    assert 32 < shared == of_slurm <= 64


TWO_CLUSTERS = """
name: two-clusters
topology: {topology}
jobs: 8
interarrival: {{mean_s: 1}}
choices:
  - {{application: synthetic, splits: {{4: [[2, 2]]}}, memory_mb: 100, processor_share: 0.9, time_alone_s: 5,
     arguments: {{iterations: 100, compute-s: 0.05, pattern: ring, message-bytes: 1000}}}}
"""


@pytest.mark.parametrize(("policy", "queue"), [("normal", "just-first"), ("wf", "placement"), ("cm", "easy")])
def test_jobs_over_clusters_share_nodes_as_well_whoever_chooses_them(tmp_path, policy, queue):
    """Four tasks fit neither the three nodes of one cluster nor the two of the other; on each there is room for two."""
    path = PROJECT_ROOT / "tests/live/shared.yaml"
    (tmp_path / "two.yaml").write_text(TWO_CLUSTERS.format(topology=path), encoding="utf-8")
    campaign, topology = campaign_named(str(tmp_path / "two.yaml")), topology_named(str(path))
    campaign = campaign.changed(policy=policy, queue=queue)
    planned = planned_campaign(campaign, arrivals_on(topology, campaign, 1), 1, topology)
    assert [job.clusters for job in planned.together] == [("east", "west")] * 2


def test_where_the_steps_of_jobs_are_not_known_worst_fit_stands_in_for_a_policy_that_chooses_nodes():
    known = campaign_named("sit").choices[0]
    poisson = {"application": "poisson", "arguments": {"grid": 400, "iterations": 100}, "splits": {"8": [[8]]}}
    choice = known.model_validate({**known.model_dump(exclude={"application", "arguments", "splits"}), **poisson})
    planned = shared_nodes_campaign("normal", "just-first", choices=(choice,))
    assert len(planned.run.jobs) == 30
    assert all(job.clusters == ("cisne",) for job in planned.together)


def test_a_campaign_paces_its_middleware():
    assert first_campaign().run.overhead_s == pytest.approx(MINI.middleware.overhead_s(1))


def test_a_plan_knows_whether_its_jobs_are_those_of_a_campaign():
    assert first_campaign().run.in_a_campaign
    assert not planned_cells(cells(), MINI).in_a_campaign


def test_what_this_host_cannot_hold_is_refused_with_what_is_missing():
    run = planned_cells(cells(), MINI)
    check_possible(run, Resources(2, 10**10, 10**10))
    with pytest.raises(Hopeless, match=r"it needs .* times the memory that is available"):
        check_possible(run, Resources(2, 1000, 10**10))
