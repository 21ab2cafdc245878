"""The verb `share` as a user meets it."""

from __future__ import annotations

import json

import pytest

from emulator.model.project import PROJECT_ROOT, TOPOLOGIES
from emulator.simulator.time_shared import simulation

JOBS = (
    '{"id": 1, "arrival_s": 0, "tasks": 2, "program": "mg", "steps": 5}\n'
    '{"id": 2, "arrival_s": 1, "tasks": 2, "program": "cg", "steps": 5}\n'
)


@pytest.fixture
def jobs(tmp_path):
    (tmp_path / "jobs.jsonl").write_text(JOBS, encoding="utf-8")
    return "jobs.jsonl"


def test_a_list_of_jobs(call, jobs, tmp_path):
    options = ("--policy", "normal", "--local-users", "none", "--jobs-out", "out.jsonl", "--json")
    code, out, _ = call("share", jobs, *options)
    assert code == 0
    (row,) = json.loads(out)
    assert (row["jobs"], row["wait_s"], row["latency_s"]) == (2, 0.0, None)
    assert row["turnaround_s"] == pytest.approx(row["execution_s"])
    first, second = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert first["finish_s"] == pytest.approx(240.0)
    assert set(first["nodes"]).isdisjoint(second["nodes"])


def test_a_published_workload(call):
    code, out, _ = call("share", "sit", "--jobs", "2", "--seed", "4")
    assert code == 0
    assert "sit under 3dbf-light, ccs" in out


def test_a_topology_says_how_tasks_share_its_nodes_unless_an_option_does(call, tmp_path, monkeypatch):
    settings = []

    def noting(setting, jobs, simulate=simulation.simulate_shared):
        settings.append(setting)
        return simulate(setting, jobs)

    monkeypatch.setattr(simulation, "simulate_shared", noting)
    stated = (TOPOLOGIES / "cisne-shared.yaml").read_text(encoding="utf-8")
    for old, new in {
        "{rule: ccs, parallel_share: 0.5}": "{rule: dcs, parallel_share: 0.7}",
        "processors_per_node: 4": "processors_per_node: 5",
    }.items():
        assert old in stated
        stated = stated.replace(old, new)
    (tmp_path / "mine.yaml").write_text(stated, encoding="utf-8")
    for options in ((), ("--policy", "basic"), ("--rule", "linux", "--contract", "60", "--mpl", "2")):
        code, _, err = call("share", "SIT", "--jobs", "2", "--topology", "mine.yaml", *options)
        assert code == 0, err
    assert [
        (setting.rule.name, setting.limits.contract.parallel_share, setting.composition.most_jobs)
        for setting in settings
    ] == [("dcs", 0.7, 5), ("dcs", 0.7, 1), ("linux", 0.6, 2)]
    assert all(setting.limits.most_jobs == setting.composition.most_jobs for setting in settings)


@pytest.mark.parametrize(("options", "share"), [((), None), (("--most-processor-share", "150"), 1.5)])
def test_the_processor_use_of_a_node_has_no_limit_unless_one_is_given(call, monkeypatch, options, share):
    settings = []

    def noting(setting, jobs, simulate=simulation.simulate_shared):
        settings.append(setting)
        return simulate(setting, jobs)

    monkeypatch.setattr(simulation, "simulate_shared", noting)
    code, _, err = call("share", "SIT", "--jobs", "2", *options)
    assert code == 0, err
    (setting,) = settings
    assert setting.composition.policy(setting.limits).limits.most_processor_share == share


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "State a workload: SIT, DIT or a list of jobs"),
        (("--like", "nothing"), "nothing"),
        (("--like", "run", "--mpl", "2"), "--mpl: the run that --like names says this; leave it out."),
        (("SIT", "--like", "run"), "WORKLOAD: the run that --like names says this; leave it out."),
        (("SIT", "--out", "run"), "--out: goes with --like; take --jobs-out, which writes"),
        (("W1",), "workload 'W1'"),
        (("none.jsonl",), "none.jsonl: cannot be read"),
        (("NONE.JSONL",), "NONE.JSONL: cannot be read"),
        (("SIT", "--policy", "4dbf"), "composition '4dbf'"),
        (("SIT", "--rule", "bvt"), "time-sharing rule 'bvt'"),
        (("SIT", "--topology", "mini"), "processors_per_node"),
        (("SIT", "--mpl", "0"), "multiprogramming level must be at least 1, not 0"),
        (("SIT", "--topology", "cisne-shared", "--mpl", "5"), "takes at most 4 tasks (processors_per_node), not 5"),
        (("SIT", "--most-processor-share", "0"), "most_processor_share: must be positive, not 0.0"),
        (("SIT", "--contract", "101"), "from 0 to 100% of a node, not 101%"),
        (("SIT", "--contract", "nan"), "from 0 to 100% of a node, not nan%"),
        (("SIT", "--local-users", "16:internet"), "there is no node 16 (the cluster has nodes 0 to 15)"),
        (("SIT", "--local-users", "2:gamer"), "local user's profile 'gamer'"),
        (("SIT", "--jobs", "0"), "jobs: must be positive"),
        (("SIT", "--interarrival-factor", "0"), "interarrival factor: must be positive"),
        (("jobs.jsonl", "--jobs", "3"), "--jobs: only SIT and DIT have this"),
        (("jobs.jsonl", "--jobs", "3", "--components", "1"), "--components, --jobs: only SIT and DIT have this"),
        (("jobs.jsonl", "--policy", "2dbf"), "Job 1: estimate_s: '2dbf' needs"),
    ],
)
def test_bad_input_is_one_sentence(call, jobs, arguments, sentence):
    code, out, err = call("share", *arguments)
    assert code != 0
    assert sentence in " ".join(err.split())
    assert "Traceback" not in err + out


def test_a_live_run_s_jobs_start_as_live_if_they_are_to(call):
    like = str(PROJECT_ROOT / "docs/results/shared-nodes/sit-dense-3dbf-light-30-jobs-as-placed")
    code, out, err = call("share", "--like", like, "--as-placed", "--json")
    assert code == 0, err
    live, simulated = json.loads(out)
    assert live["wait_s"] == pytest.approx(simulated["wait_s"])
    assert live["execution_s"] == pytest.approx(simulated["execution_s"], rel=0.03)
    code, _, err = call("share", "SIT", "--as-placed")
    assert (code, "goes with --like" in err) == (1, True)
