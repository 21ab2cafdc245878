"""A live run on shared nodes: what its jobs do in a simulation is what they did live."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from apps.run import make_parser
from emulator.campaigns.recorded_starts import recorded_starts
from emulator.campaigns.shared_like_run import SharedRun, shared_like_run
from emulator.campaigns.shared_simulated_run import write_shared_run
from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput
from emulator.model.job import JobSpecification
from emulator.model.project import PROJECT_ROOT
from emulator.planning.shared_nodes import steps_of_job
from emulator.reports.compared_runs import compare
from emulator.runs.run_directory import read_run
from emulator.simulator.time_shared.finished import components_of
from emulator.simulator.time_shared.simulation import SharedResult, simulate_shared
from workloads.campaign import campaign_named
from workloads.parallel_programs import PROGRAMS, SIZES
from workloads.shared_node_jobs import INTERARRIVAL_S

RECORDED = PROJECT_ROOT / "docs/results/shared-nodes"
CISNE = topology_named("cisne-shared").interconnects.single_cluster
CHOICES = [(program, tasks) for program in PROGRAMS.values() for tasks in SIZES]


@pytest.mark.parametrize("name", ["SIT", "DIT"])
def test_the_campaigns_have_the_jobs_that_are_simulated(name):
    campaign = campaign_named(name)
    assert campaign.interarrival.mean_s == pytest.approx(INTERARRIVAL_S[name.lower()], rel=1e-3)
    for choice, (program, tasks) in zip(campaign.choices, CHOICES, strict=True):
        assert choice.splits == {tasks: ((tasks,),)}
        job = JobSpecification(application=choice.application, arguments=choice.arguments, components=(tasks,))
        steps = steps_of_job(job, CISNE)
        assert (steps.pattern, steps.steps) == (program.pattern, program.steps)
        assert steps.execution_s == pytest.approx(program.execution_s.of(tasks), rel=1e-4)
        share = steps.steps * steps.compute_s / steps.execution_s
        assert share == pytest.approx(program.processor_percent.of(tasks) / 100, rel=1e-4)
        assert choice.processor_share == pytest.approx(share, rel=1e-3)
        assert choice.memory_mb == pytest.approx(program.memory_mb.of(tasks), abs=0.1)
        assert choice.time_alone_s == pytest.approx(steps.execution_s, rel=1e-3)


def simulated(run: SharedRun, seed: int | None = None) -> SharedResult:
    return simulate_shared(run.setting(seed), run.jobs)


def test_jobs_that_hardly_meet_execute_as_long_in_the_simulation_as_live():
    run = shared_like_run(RECORDED / "sit-8-jobs")
    assert run.live.jobs == len(run.jobs) == 8
    assert simulated(run).execution_s == pytest.approx(run.live.execution_s, rel=0.001)


def test_jobs_that_share_nodes_do_so_within_some_percent():
    """Live each task had a network interface of its own, so it executed faster."""
    run = shared_like_run(RECORDED / "sit-dense-30-jobs")
    result = simulated(run)
    assert result.execution_s == pytest.approx(run.live.execution_s, rel=0.1)
    assert result.makespan_s == pytest.approx(run.live.makespan_s, rel=0.1)
    assert result.slowdown > 1.5


@pytest.mark.parametrize("name", ["sit-dense-normal-90-jobs", "dit-dense-uniform-hard-90-jobs"])
def test_the_ninety_published_jobs_end_within_five_percent_of_when_they_did_live(name):
    run = shared_like_run(RECORDED / name)
    assert run.live.jobs == 90
    result = simulated(run)
    assert result.makespan_s == pytest.approx(run.live.makespan_s, rel=0.05)
    assert result.turnaround_s == pytest.approx(run.live.turnaround_s, rel=0.05)


def test_jobs_that_a_policy_placed_beside_local_users_do_so_too():
    run = shared_like_run(RECORDED / "sit-dense-3dbf-light-30-jobs")
    assert (run.composition.nodes, run.composition.jobs) == ("uniform-light", "backfill")
    assert (run.sharing.rule, run.jobs[0].request.estimate_s is not None) == ("ccs", True)
    result = simulated(run)
    assert result.execution_s == pytest.approx(run.live.execution_s, rel=0.07)
    assert result.makespan_s == pytest.approx(run.live.makespan_s, rel=0.1)
    assert result.latency_beside_s == pytest.approx(run.live.latency_beside_s, rel=0.25)


def test_a_simulation_of_shared_nodes_is_compared_with_its_live_run_job_by_job(tmp_path):
    like, out = RECORDED / "sit-dense-3dbf-light-30-jobs", tmp_path / "simulated"
    run = shared_like_run(like)
    result = simulated(run, seed=5)
    write_shared_run(out, like, run, result, seed=5)
    found = compare(read_run(like), read_run(out))
    found_by_simulation = {(quantity.name, quantity.statistic): quantity.simulated for quantity in found.quantities}
    assert found_by_simulation["execution", "mean"] == pytest.approx(result.execution_s)
    assert found_by_simulation["wait", "mean"] == pytest.approx(result.wait_s)
    assert found_by_simulation["makespan", ""] == pytest.approx(result.makespan_s)
    assert [job.simulated.execution_time_s for job in found.jobs] == pytest.approx(
        [job.execution_s for job in result.jobs]
    )
    assert found.simulated.manifest.simulated["like"] == like.name
    assert found.simulated.manifest.simulated["starting_s"] == pytest.approx(0.09, abs=0.05)
    assert all(job.simulated.started_s > job.simulated.placed_s for job in found.jobs)
    with pytest.raises(InvalidInput, match="simulated"):
        write_shared_run(out, like, run, result, seed=5)


AS_PLACED = ("sit-dense-3dbf-light-30-jobs-as-placed", "dit-dense-normal-40-jobs-as-placed")


@pytest.mark.parametrize("name", AS_PLACED)
def test_started_when_and_where_they_were_live_jobs_take_as_long_as_live(name):
    path = RECORDED / name
    run, live = shared_like_run(path), {job.name: job for job in read_run(path).jobs}
    starts = recorded_starts(path, run.arrivals, run.topology)
    result = simulate_shared(run.setting(None, starts), run.jobs)
    assert [job.start_s for job in result.jobs] == pytest.approx([live[job.name].started_s for job in result.jobs])
    assert result.wait_s == pytest.approx(run.live.wait_s)
    assert result.execution_s == pytest.approx(run.live.execution_s, rel=0.03)
    assert result.makespan_s == pytest.approx(run.live.makespan_s, rel=0.03)


def test_a_run_without_its_decisions_has_no_starts():
    run = shared_like_run(RECORDED / "sit-8-jobs")
    with pytest.raises(InvalidInput, match=r"sit-8-jobs: its decisions.jsonl does not say when job 'sit-1' started"):
        recorded_starts(RECORDED / "sit-8-jobs", run.arrivals, run.topology)


def test_nodes_that_slurm_chose_are_not_recorded(tmp_path):
    path = RECORDED / AS_PLACED[0]
    run = shared_like_run(path)
    events = [json.loads(line) for line in (path / "decisions.jsonl").read_text(encoding="utf-8").splitlines()]
    for part in (part for event in events for part in (event.get("job") or {}).get("components", ())):
        del part["nodes"]
    (tmp_path / "decisions.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    with pytest.raises(InvalidInput, match="left the nodes of job 'sit-1' to Slurm"):
        recorded_starts(tmp_path, run.arrivals, run.topology)


@pytest.mark.parametrize(
    ("clusters", "sizes", "found"),
    [
        ([0, 0, 0, 0], (2, 2), [(0, 2), (0, 2)]),
        ([1, 1, 0], (2, 1), [(1, 2), (0, 1)]),
        ([0, 0, 1, 1, 1], (5,), [(0, 2), (1, 3)]),
    ],
)
def test_a_job_is_recorded_in_the_components_that_it_asked_for_or_by_clusters(clusters, sizes, found):
    assert components_of(clusters, sizes) == found


def test_a_node_takes_as_many_tasks_as_live_where_clusters_differ(monkeypatch):
    path = RECORDED / "sit-8-jobs"
    run = read_run(path)
    (cluster,) = run.manifest.topology.clusters
    wider = cluster.model_copy(update={"name": "wider", "processors_per_node": cluster.processors_per_node + 2})
    topology = run.manifest.topology.model_copy(update={"clusters": (cluster, wider)})
    changed = replace(run, manifest=run.manifest.model_copy(update={"topology": topology}))
    monkeypatch.setattr("emulator.campaigns.shared_like_run.read_run", lambda path: changed)
    assert shared_like_run(path).composition.most_jobs == wider.processors_per_node


def test_what_a_job_does_not_state_is_what_the_application_takes_for_it():
    taken = make_parser("synthetic").parse_args(["synthetic"])
    stated = {"compute-s": 0.1, "pattern": "ring"}
    whole = {**stated, "iterations": taken.iterations, "message-bytes": taken.message_bytes}
    jobs = [JobSpecification(application="synthetic", arguments=each, components=(4,)) for each in (stated, whole)]
    assert steps_of_job(jobs[0], CISNE) == steps_of_job(jobs[1], CISNE)


def test_a_run_whose_nodes_are_not_shared_is_refused():
    with pytest.raises(InvalidInput, match="'das2-2006', whose nodes are not shared"):
        shared_like_run(PROJECT_ROOT / "docs/results/campaigns/w1-fcm-6-jobs")


@pytest.mark.parametrize(
    ("application", "arguments"),
    [
        ("poisson", {"grid": 400}),
        ("synthetic", {"points": 100, "pattern": "ring"}),
        ("synthetic", {"compute-s": 1.0}),
        ("synthetic", {"compute-s": 1.0, "pattern": "ring", "collective-every": 1}),
    ],
)
def test_jobs_whose_steps_are_not_known_are_refused(application, arguments):
    job = JobSpecification(name="other", application=application, arguments=arguments, components=(4,))
    with pytest.raises(InvalidInput, match="job 'other': only the steps of synthetic jobs are known"):
        steps_of_job(job, CISNE)
