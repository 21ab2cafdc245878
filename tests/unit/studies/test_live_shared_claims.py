"""C41 to C48 by recorded runs on shared nodes: SIT under two compositions, made from one recorded live run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from emulator.model.errors import InvalidInput
from emulator.model.project import PROJECT_ROOT
from emulator.model.records import JobRow, LocalBurstRow, RunProgress
from emulator.runs.run_directory import read_manifest, read_rows, replace_manifest, replace_rows
from emulator.runs.timelines import read_timelines
from emulator.studies.campaign_claims import decided_claims
from emulator.studies.claims import ClaimOutcome, Decision

RECORDED = PROJECT_ROOT / "docs/results/shared-nodes/sit-dense-3dbf-light-30-jobs"
CLAIMS = [f"C{number}" for number in range(41, 49)]


def run_of(
    path: Path, policy: str, queue: str, *, name: str = "sit", slower: float = 1.0, seed: int = 1, mean_s: float = 50.4
) -> Path:
    """Write a run whose jobs take `slower` times as long from their submission on as the recorded ones."""
    shutil.copytree(RECORDED, path)
    manifest = read_manifest(path)
    workload = manifest.workload | {"interarrival": {"distribution": "exponential", "mean_s": mean_s}}
    changes = {"name": name, "policy": policy, "queue": queue, "seed": seed, "workload": workload}
    replace_manifest(path, manifest.model_copy(update=changes))
    rows = [
        row.model_copy(
            update={
                "finished_s": row.submitted_s + slower * (row.finished_s - row.submitted_s),
                "response_time_s": slower * row.response_time_s,
                "execution_time_s": slower * row.execution_time_s,
            }
        )
        for row in read_rows(path, JobRow)
    ]
    replace_rows(path, JobRow, rows)
    return path


def decided(*paths: Path) -> dict[str, Decision]:
    """Return the decisions on all parts, by what they say."""
    claims = decided_claims(read_timelines(path) for path in paths)
    assert [claim.claim.id for claim in claims] == CLAIMS
    return {decision.says: decision for claim in claims for decision in claim.decisions}


def test_claims_on_shared_nodes_are_decided_by_live_runs_of_their_cells(tmp_path):
    basic = run_of(tmp_path / "basic", "normal-alone", "just-first", slower=1.5)
    light = run_of(tmp_path / "light", "uniform-light", "backfill")
    found = decided(basic, light)
    part = found["turnaround: 3dbf-light/ccs < basic/ccs (sit)"]
    assert part.value == pytest.approx(1 / 1.5)
    assert part.verdict is ClaimOutcome.SHOWN
    open_part = found["turnaround: normal/ccs < basic/ccs (sit): no run of sit under normal/ccs is given"]
    assert open_part.verdict is ClaimOutcome.UNDECIDED


def test_one_makespan_decides_nothing_and_those_of_two_seeds_do(tmp_path):
    says = "makespan: 3dbf-light/ccs is 35% below basic/ccs (sit)"
    paths = [
        run_of(tmp_path / f"{policy}-{seed}", policy, queue, slower=slower, seed=seed)
        for policy, queue, slower in (("normal-alone", "just-first", 1.5), ("uniform-light", "backfill", 1.0))
        for seed in (1, 2)
    ]
    alone = decided(paths[0], paths[2])[says]
    assert (alone.low, alone.verdict) == (None, ClaimOutcome.UNDECIDED)
    both = decided(*paths)[says]
    assert both.value == pytest.approx(alone.value)
    assert both.low == pytest.approx(both.value)


def test_makespans_are_those_of_the_jobs_that_finished_in_both_runs(tmp_path):
    paths = [
        run_of(tmp_path / f"{policy}-{seed}", policy, queue, seed=seed)
        for policy, queue in (("normal-alone", "just-first"), ("uniform-light", "backfill"))
        for seed in (1, 2)
    ]
    rows = read_rows(paths[0], JobRow)
    last = max(rows, key=lambda row: row.finished_s)
    failed = last.model_copy(update={"state": "failed"})
    replace_rows(paths[0], JobRow, [failed if row is last else row for row in rows])
    assert decided(*paths)["makespan: 3dbf-light/ccs is 35% below basic/ccs (sit)"].value == pytest.approx(1.0)


def test_a_run_of_which_no_job_has_finished_leaves_its_makespans_open(tmp_path):
    basic = run_of(tmp_path / "basic", "normal-alone", "just-first")
    light = run_of(tmp_path / "light", "uniform-light", "backfill")
    replace_rows(light, JobRow, [])
    replace_manifest(light, read_manifest(light).model_copy(update={"progress": RunProgress.RUNNING}))
    says = [
        each for each in decided(basic, light) if each.startswith("makespan: 3dbf-light/ccs is 35% below basic/ccs")
    ]
    assert len(says) == 1
    assert decided(basic, light)[says[0]].verdict is ClaimOutcome.UNDECIDED


def test_latency_under_ccs_is_that_of_the_recorded_bursts(tmp_path):
    found = decided(run_of(tmp_path / "light", "uniform-light", "backfill"))
    part = found["latency beside 1 < 0.4 s (3dbf-light/ccs, sit)"]
    assert part.verdict is ClaimOutcome.SHOWN
    assert part.low < part.value < part.high < 0.4


def test_bursts_of_one_run_are_not_counted_as_independent(tmp_path):
    """Ten times the same bursts tell no more than they do once."""
    says = "latency beside 1 < 0.4 s (3dbf-light/ccs, sit)"
    light = run_of(tmp_path / "light", "uniform-light", "backfill")
    once = decided(light)[says]
    replace_rows(light, LocalBurstRow, [row for row in read_rows(light, LocalBurstRow) for _ in range(10)])
    again = decided(light)[says]
    assert again.value == pytest.approx(once.value, rel=0.1)
    assert again.high - again.low > 0.8 * (once.high - once.low)


def test_of_several_runs_the_mean_latency_of_each_counts(tmp_path):
    """Those of two seeds here are equal, so that nothing is left to chance."""
    paths = [run_of(tmp_path / str(seed), "uniform-light", "backfill", seed=seed) for seed in (1, 2)]
    part = decided(*paths)["latency beside 1 < 0.4 s (3dbf-light/ccs, sit)"]
    assert part.low == pytest.approx(part.value)
    assert part.high == pytest.approx(part.value)


def test_latency_in_a_void_run_decides_nothing(tmp_path):
    light = run_of(tmp_path / "light", "uniform-light", "backfill")
    replace_manifest(light, read_manifest(light).model_copy(update={"verdict": "void"}))
    part = decided(light)["latency beside 1 < 0.4 s (3dbf-light/ccs, sit)"]
    assert part.high < 0.4
    assert part.verdict is ClaimOutcome.UNDECIDED


def test_runs_of_other_workloads_are_of_no_cell(tmp_path):
    other = run_of(tmp_path / "other", "uniform-light", "backfill", name="mine")
    claims = decided_claims([read_timelines(other)])
    assert not {claim.claim.id for claim in claims} & set(CLAIMS)


@pytest.mark.parametrize("workload", ["sit", "dit"])
def test_the_shipped_runs_of_a_workload_are_alike(workload):
    paths = sorted(RECORDED.parent.glob(f"{workload}-dense-*-90-jobs"))
    assert len(paths) >= 3
    decided(*paths)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"seed": 1}, "light: is a run of the same campaign, policy and seed as"),
        ({"seed": 2, "mean_s": 12.6}, "light: has interarrival time 12.6 s, and .*basic has 50.4 s"),
    ],
)
def test_a_run_that_counts_twice_or_of_another_load_is_refused(tmp_path, changes, sentence):
    basic = run_of(tmp_path / "basic", "uniform-light", "backfill")
    light = run_of(tmp_path / "light", "uniform-light", "backfill", **changes)
    with pytest.raises(InvalidInput, match=sentence):
        decided_claims(read_timelines(path) for path in (basic, light))


def change_topology(path: Path, *, cluster: dict[str, object] | None = None, **sharing: object) -> Path:
    """Record in the run that its topology has another name, and this of its first cluster and its time sharing."""
    manifest = read_manifest(path)
    topology = manifest.topology
    first, *others = topology.clusters
    changes = {
        "name": "mine",
        "clusters": (first.model_copy(update=cluster or {}), *others),
        "time_sharing": topology.time_sharing.model_copy(update=sharing),
    }
    replace_manifest(path, manifest.model_copy(update={"topology": topology.model_copy(update=changes)}))
    return path


@pytest.mark.parametrize("workload", ["sit", "dit"])
@pytest.mark.parametrize(
    "changes", [{"cluster": {"local_users": {}}}, {"cluster": {"node_memory_mb": 1024.0}}, {"parallel_share": 0.8}]
)
def test_runs_on_nodes_with_other_users_memory_or_contract_are_refused(tmp_path, changes, workload):
    """Also of the other workload, because claims compare the two."""
    basic = run_of(tmp_path / "basic", "normal-alone", "just-first")
    light = change_topology(run_of(tmp_path / "light", "uniform-light", "backfill", name=workload), **changes)
    with pytest.raises(InvalidInput, match=r"light: has details of the topology besides its rule \(digest\) ") as found:
        decided_claims(read_timelines(path) for path in (basic, light))
    assert str(found.value).count("\n") == 0


def test_runs_may_differ_in_the_rule_of_their_topologies(tmp_path):
    ccs = run_of(tmp_path / "ccs", "normal-alone", "just-first")
    linux = change_topology(run_of(tmp_path / "linux", "normal-alone", "just-first", slower=1.5), rule="linux")
    part = decided(ccs, linux)["execution: basic/ccs < basic/linux (sit)"]
    assert part.value < 1.0
