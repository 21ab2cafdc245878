"""Sweeps of simulations: loads, cells, files that are the same for any number of workers, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.campaigns.simulation_sweep import (
    QUANTITIES,
    SimulationSweep,
    SimulationSweepCell,
    SweptWorkload,
    WorkloadCase,
    at_load,
    parsed_loads,
    sweep_workload,
)
from emulator.campaigns.workload_sources import prepared
from emulator.model.errors import ImpossibleRequest, InvalidInput, UnknownName
from emulator.model.project import CAMPAIGNS, TOPOLOGIES
from emulator.model.stream import StreamJob
from emulator.reports.simulation_sweep_files import CELLS_FILE, SIMULATIONS_FILE, cell_rows, write_sweep
from emulator.simulator.parallel_simulations import OUTCOMES_VERSION, ParallelSimulations, Workforce


def sweep(workload: str = "W2", **changes: Any) -> SimulationSweep:
    over = {"policies": ("wf", "fcm"), "queues": (None,), "loads": (0.4, 0.8), "seeds": 3}
    stated: dict[str, Any] = {"jobs": 30, **over, **changes}
    goes_over = {name: stated.pop(name) for name in over}
    return SimulationSweep(SweptWorkload(workload, **stated), **goes_over)


@pytest.mark.parametrize(
    ("text", "loads"),
    [
        (None, (None,)),
        ("0.7", (0.7,)),
        ("0.5,0.9", (0.5, 0.9)),
        ("0.5:0.7:0.05", (0.5, 0.55, 0.6, 0.65, 0.7)),
        ("0.5:0.69:0.1,0.9", (0.5, 0.6, 0.9)),
    ],
)
def test_loads_are_a_list_or_a_range_with_its_end(text, loads):
    assert parsed_loads(text) == loads


NO_LOADS = ["", "a", "0.5:0.9", "0.9:0.5:0.1", "0.5:0.9:0", "-1", "nan", "0.5:1e9:0.0001", "0.5:0.9:1e-320", "1:2:3:4"]


@pytest.mark.parametrize("text", NO_LOADS)
def test_what_are_no_loads_is_refused_in_a_sentence(text):
    with pytest.raises(InvalidInput, match=r"^--loads: "):
        parsed_loads(text)


@pytest.mark.parametrize("load", [0.3, 1.0, 1.7])
def test_a_load_is_the_work_of_all_jobs_over_what_the_processors_can_do_between_arrivals(load):
    subject = prepared("W2", SimulationOptions(jobs=50, seed=5))
    jobs = at_load(tuple(subject.jobs), subject.topology.processors, load)
    work_s = sum(job.request.processors * job.service_s for job in jobs)
    period_s = jobs[-1].arrival_s - jobs[0].arrival_s
    assert work_s / (subject.topology.processors * period_s) == pytest.approx(load)
    assert [job.service_s for job in jobs] == [job.service_s for job in subject.jobs]


def test_a_load_does_not_depend_on_when_a_log_begins():
    jobs = tuple(prepared("W2", SimulationOptions(jobs=50, seed=5)).jobs)
    later = tuple(
        StreamJob(job.id, 1e6 + job.arrival_s, job.service_s, job.request, job.queue, job.application) for job in jobs
    )
    expected = [1e6 + job.arrival_s for job in at_load(jobs, 64, 0.7)]
    assert [job.arrival_s for job in at_load(later, 64, 0.7)] == pytest.approx(expected)


def test_jobs_that_arrive_at_once_have_no_load():
    with pytest.raises(InvalidInput, match="all jobs arrive at once"):
        at_load((), 64, 0.5)


def test_a_larger_load_waits_longer_and_every_seed_differs():
    cases = sweep(policies=("wf",), loads=(0.3, 0.9)).cases()
    outcomes = [case.run() for case in cases]
    assert sum(found["wait_s"] for found in outcomes[:3]) < sum(found["wait_s"] for found in outcomes[3:])
    assert len({found["response_s"] for found in outcomes}) == 6
    assert len({case.key for case in cases}) == 6


def test_outcomes_of_another_version_are_other_cases(monkeypatch):
    key = sweep().cases()[0].key
    monkeypatch.setattr("emulator.campaigns.simulation_sweep.OUTCOMES_VERSION", OUTCOMES_VERSION + 1)
    assert sweep().cases()[0].key != key


def test_a_changed_file_gives_other_cases(tmp_path):
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text('{"id": 1, "arrival_s": 2, "service_s": 3, "components": [4], "queue": 0}\n')
    keys = [sweep(str(jobs), jobs=None).cases()[0].key]
    jobs.write_text('{"id": 1, "arrival_s": 2, "service_s": 5, "components": [4], "queue": 0}\n')
    keys.append(sweep(str(jobs), jobs=None).cases()[0].key)
    assert keys[0] != keys[1]


def test_a_campaigns_own_policy_and_topology_count_among_the_files_that_may_change(tmp_path):
    """They stand in files beside the campaign's, which stays as it is."""
    campaign, policy, topology = tmp_path / "mine.yaml", tmp_path / "mine.py", tmp_path / "two.yaml"
    text = (CAMPAIGNS / "W2.yaml").read_text().replace("topology: das2-2006", f"topology: {topology}")
    campaign.write_text(text.replace("policy: wf", f"policy: {policy}:Mine"))
    source, system = "class Mine: pass\n", (TOPOLOGIES / "das2-2006.yaml").read_text()
    keys = []
    for last_line, nodes in (("", "67"), ("# changed", "67"), ("# changed", "66")):
        policy.write_text(source + last_line)
        topology.write_text(system.replace("nodes: 67", f"nodes: {nodes}"))
        keys.append(sweep(str(campaign), policies=(None,), loads=(None,)).cases()[0].key)
    assert len(set(keys)) == 3


def test_a_log_of_local_jobs_counts_among_the_files_that_may_change(tmp_path):
    campaign, log = tmp_path / "mine.yaml", tmp_path / "local.swf"
    text = (CAMPAIGNS / "W1.yaml").read_text()
    assert "local_jobs: none" in text
    campaign.write_text(text.replace("local_jobs: none", f"local_jobs: {log}"))
    keys = []
    for length in (100, 200):
        log.write_text(f"1 0 -1 {length} 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n")
        keys.append(sweep(str(campaign)).cases()[0].key)
    assert keys[0] != keys[1]


def test_a_campaign_s_job_list_counts_among_the_files_that_may_change(tmp_path):
    campaign, jobs = tmp_path / "mine.yaml", tmp_path / "jobs.jsonl"
    campaign.write_text("name: mine\ntopology: mini\njob_list: jobs.jsonl\napplication: poisson\n")
    keys = []
    for service_s in (10, 20):
        jobs.write_text(f'{{"id": 1, "arrival_s": 0, "service_s": {service_s}, "components": [4]}}\n')
        keys.append(sweep(str(campaign)).cases()[0].key)
    assert keys[0] != keys[1]


@pytest.mark.parametrize(
    ("workload", "changes", "error", "said"),
    [
        ("W2", {"seeds": 0}, InvalidInput, "--seeds: must be at least 1, not 0"),
        ("W2", {"policies": ("wf", "wf")}, InvalidInput, "--policies: names .* twice"),
        ("W2", {"policies": ("wf", "WF")}, InvalidInput, "--policies: names .* twice"),
        ("W2", {"queues": ("gs", "GS")}, InvalidInput, "--queues: names .* twice"),
        ("W2", {"policies": ("best",)}, UnknownName, "best"),
        ("W9", {}, UnknownName, "no workload 'W9'"),
        ("W2", {"topology": "mini"}, ImpossibleRequest, "72|64"),
        ("25-25-25-25", {"loads": (None,), "policies": (None,)}, InvalidInput, "--loads: the stream '25-25-25-25'"),
    ],
)
def test_what_cannot_be_swept_is_refused_before_any_worker_starts(workload, changes, error, said):
    with pytest.raises(error, match=said):
        sweep(workload, **changes).names()


def swept(folder: Path, client: Any) -> dict[str, bytes]:
    folder.mkdir()
    simulations = ParallelSimulations(client, folder / "outcomes.jsonl")
    cells = sweep_workload(sweep(), simulations)
    simulations.tidy()
    write_sweep(cells, folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_any_number_of_workers_leaves_the_same_bytes_and_an_interrupted_sweep_goes_on(tmp_path):
    with Workforce(1).assembled() as client:
        one = swept(tmp_path / "one", client)
    with Workforce(2).assembled() as client:
        assert swept(tmp_path / "two", client) == one
        assert {SIMULATIONS_FILE, CELLS_FILE, "outcomes.jsonl", "response-by-load.svg"} <= one.keys()
        lines = one["outcomes.jsonl"].decode().splitlines()
        assert len(lines) == 12
        store = tmp_path / "outcomes.jsonl"
        store.write_text("\n".join(lines[3:]) + '\n{"case": "torn')
        simulations = ParallelSimulations(client, store)
        cells = sweep_workload(sweep(), simulations)
        simulations.tidy()
    assert store.read_bytes() == one["outcomes.jsonl"]
    assert [(cell.policy, cell.queue, cell.load) for cell in cells] == [
        ("wf", "placement", 0.4), ("wf", "placement", 0.8), ("fcm", "placement", 0.4), ("fcm", "placement", 0.8)
    ]  # fmt: skip
    assert all(cell.means["response_s"].low is not None for cell in cells)


def test_seeds_that_vary_nothing_are_one_replication_without_an_interval(tmp_path):
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text(
        "".join(
            f'{{"id": {number}, "arrival_s": {number}, "service_s": 3, "components": [4], "queue": 0}}\n'
            for number in range(1, 6)
        )
    )
    fixed = sweep(str(jobs), policies=("wf",), loads=(None,), jobs=None, topology="mini")
    drawn = sweep(policies=("wf",), loads=(0.8,))
    (same,), (varied,) = (_cells(each) for each in (fixed, drawn))
    assert (same.replications, varied.replications) == (1, 3)
    assert (same.means["response_s"].low, same.means["response_s"].high) == (None, None)
    assert cell_rows([same])[0]["n"] == 1
    assert varied.means["response_s"].low < varied.means["response_s"].high


def test_each_policy_is_compared_with_the_first_one_at_its_load_seed_by_seed():
    def cell(policy, load, *responses_s):
        outcomes = tuple({**dict.fromkeys(QUANTITIES), "response_s": response_s, "saturated": False, "verdict": "valid"}
                         for response_s in responses_s)  # fmt: skip
        return SimulationSweepCell(policy, "placement", load, outcomes)

    rows = cell_rows([cell("wf", 0.4, 10.0, 20.0), cell("wf", 0.8, 30.0, 50.0),
                      cell("fcm", 0.4, 5.0, 10.0), cell("fcm", 0.8, 33.0, 47.0)])  # fmt: skip
    assert [row["response_over_first"] for row in rows] == [None, None, 0.5, 1.0]
    halved, varied = ((row["response_over_first_low"], row["response_over_first_high"]) for row in rows[2:])
    assert halved == (0.5, 0.5)
    assert varied[0] < 1.0 < varied[1]


def _cells(asked: SimulationSweep) -> list[SimulationSweepCell]:
    (names,) = asked.names().values()
    return [SimulationSweepCell(*names, None, tuple(case.run() for case in asked.cases()))]


def test_a_case_holds_only_what_its_outcome_depends_on():
    case = sweep(loads=(None,), policies=(None,)).cases()[2]
    assert isinstance(case, WorkloadCase)
    assert json.loads(case.key).keys() == {"outcomes", "workload", "seed", "jobs", "warm_up_jobs", "inputs"}


def test_the_key_of_a_case_has_one_level_so_that_stored_outcomes_are_found():
    stated = SweptWorkload("W2", topology="das2-2006", jobs=30, quota=0.9, warm_up_jobs=2, factors="1.25")
    case = WorkloadCase(stated, "wf", None, 0.4, seed=1, inputs="0123abcd")
    expected = {
        "outcomes": OUTCOMES_VERSION, "workload": "W2", "policy": "wf", "load": 0.4, "seed": 1,
        "topology": "das2-2006", "jobs": 30, "quota": 0.9, "factors": "1.25", "warm_up_jobs": 2, "inputs": "0123abcd",
    }  # fmt: skip
    assert case.key == json.dumps(expected, sort_keys=True)


def test_estimates_are_drawn_where_jobs_have_none(tmp_path):
    jobs = tmp_path / "jobs.jsonl"
    lines = [{"id": number, "arrival_s": number, "service_s": 100, "components": [16]} for number in range(1, 40)]
    jobs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    stated = {"policies": (None,), "queues": ("sjf",), "loads": (None,), "jobs": None, "topology": "mini"}
    with pytest.raises(InvalidInput, match="estimate"):
        sweep(str(jobs), **stated).names()
    asked = sweep(str(jobs), estimate_factor=5.0, **stated)
    (cell,) = _cells(asked)
    assert cell.outcomes[0]["jobs_finished"] == 39
    assert cell.outcomes[0] == asked.cases()[0].run()
    assert [json.loads(case.key)["estimate_factor"] for case in asked.cases()] == [5.0] * 3
    with pytest.raises(InvalidInput, match=r"--estimate-factor: must be a number, at least 1, not 0\.5"):
        sweep(str(jobs), estimate_factor=0.5, **stated).names()


@pytest.mark.parametrize("queue", [None, "fcfs"])
def test_a_campaign_whose_jobs_read_files_is_swept(queue):
    asked = sweep("W30", policies=("wf", "cf", "fcm"), queues=(queue,), loads=(None,), jobs=5)
    assert set(asked.names()) == {("wf", queue), ("cf", queue), ("fcm", queue)}


def test_a_changed_default_topology_gives_other_cases(tmp_path, monkeypatch):
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text('{"id": 1, "arrival_s": 1, "service_s": 2, "components": [2], "queue": 0}\n')
    swept = sweep(str(jobs), loads=(None,), policies=("wf",), jobs=None)
    before = swept.cases()[0].inputs
    monkeypatch.setattr("emulator.campaigns.simulation_sweep.DEFAULT_TOPOLOGY", "das2")
    assert swept.cases()[0].inputs != before
