"""Sweeps of simulations: loads, cells, files that are the same for any number of workers, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emulator.campaigns.simulated import simulate_workload
from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.campaigns.simulation_sweep import (
    SimulationSweep,
    SimulationSweepCell,
    WorkloadCase,
    parsed_loads,
    sweep_workload,
)
from emulator.campaigns.swept_workload import SweptWorkload
from emulator.model.errors import ImpossibleRequest, InvalidInput, UnknownName
from emulator.reports.simulation_sweep_files import CELLS_FILE, INPUTS_FILE, SIMULATIONS_FILE, cell_rows, write_sweep
from emulator.simulator.parallel_simulations import OUTCOMES_VERSION, ParallelSimulations, Workforce
from tests.unit.workloads.seed_lists import campaign_with_lists


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


def test_other_inputs_are_other_cases(tmp_path):
    jobs = tmp_path / "jobs.jsonl"
    keys = []
    for service_s in (3, 5):
        line = {"id": 1, "arrival_s": 2, "service_s": service_s, "components": [4], "queue": 0}
        jobs.write_text(json.dumps(line) + "\n")
        keys.append(sweep(str(jobs), jobs=None).cases()[0].key)
    assert keys[0] != keys[1]


MINE = (
    "from emulator.policies.placement.worst_fit import WorstFit\n"
    "class Mine:\n"
    "    accepts = WorstFit.accepts\n"
    "    def place(self, request, state):\n"
    "        return WorstFit().place(request, state)\n"
)


def test_a_case_is_not_simulated_with_other_files_than_its_sweep_began_with(tmp_path):
    mine, jobs = tmp_path / "mine.py", tmp_path / "jobs.jsonl"
    line = {"id": 1, "arrival_s": 2, "service_s": 3, "components": [4], "queue": 0}
    for changed in (mine, jobs):
        mine.write_text(MINE)
        jobs.write_text(json.dumps(line) + "\n")
        case = sweep(str(jobs), jobs=None, policies=("wf", f"{mine}:Mine"), loads=(None,), seeds=2).cases()[3]
        assert case.run()["execution_s"] == 3
        changed.write_text(changed.read_text() + "\n")
        with pytest.raises(InvalidInput, match=r"jobs\.jsonl: a file that the sweep reads is not as it was") as refused:
            case.run()
        assert "\n" not in str(refused.value)


def test_a_file_that_changes_during_a_simulation_is_noticed_after_it(tmp_path, monkeypatch):
    mine = tmp_path / "mine.py"
    mine.write_text(MINE)
    case = sweep(policies=(f"{mine}:Mine",)).cases()[0]
    prepared = WorkloadCase.prepared

    def prepared_and_changed(self):
        found = prepared(self)
        mine.write_text(MINE + "# changed\n")
        return found

    monkeypatch.setattr(WorkloadCase, "prepared", prepared_and_changed)
    with pytest.raises(InvalidInput, match="a file that the sweep reads is not as it was"):
        case.run()


def test_a_worker_with_another_version_of_outcomes_refuses_a_case(monkeypatch):
    case = sweep().cases()[0]
    monkeypatch.setattr("emulator.campaigns.simulation_sweep.OUTCOMES_VERSION", OUTCOMES_VERSION + 1)
    with pytest.raises(InvalidInput, match="another version of the testbed"):
        case.run()


def test_each_seed_of_lists_is_compared_with_its_own_list(tmp_path):
    campaign = campaign_with_lists(tmp_path, (0, 1))
    cases = sweep(str(campaign), jobs=None, policies=(None,), loads=(None,), seeds=2).cases()
    (tmp_path / "jobs-1.jsonl").write_text((tmp_path / "jobs-1.jsonl").read_text() + "\n")
    cases[0].run()
    with pytest.raises(InvalidInput, match="a file that the sweep reads is not as it was"):
        cases[1].run()


def test_a_table_of_factors_is_read_for_each_case(tmp_path):
    jobs, table = tmp_path / "jobs.jsonl", tmp_path / "factors.csv"
    line = {"id": 1, "arrival_s": 2, "service_s": 10, "components": [18, 18], "queue": 0, "application": "laplace"}
    jobs.write_text(json.dumps(line) + "\n")
    times_s = []
    for factor in ("1.5", "3.0"):
        table.write_text(f"application,processors,clusters,extension_factor,verdict\nlaplace,36,2,{factor},valid\n")
        stated = {"topology": "four-by-32", "factors": (str(table),), "jobs": None, "loads": (None,)}
        (case,) = sweep(str(jobs), policies=(None,), queues=("gs",), seeds=1, **stated).cases()
        times_s.append(case.run()["execution_s"])
    assert times_s == [15, 30]


def test_the_load_of_a_simulation_given_back_as_the_load_of_a_sweep_changes_nothing():
    own = sweep(policies=("wf",), loads=(None,), seeds=1).cases()[0].run()
    assert own["load"] > 0
    assert sweep(policies=("wf",), loads=(own["load"],), seeds=1).cases()[0].run() == own


def test_a_cell_without_a_stated_load_has_the_mean_of_those_that_its_jobs_offer():
    asked = sweep(policies=("wf",), loads=(None,))
    (cell,) = _cells(asked)
    loads = [outcome["load"] for outcome in cell.outcomes]
    assert len(set(loads)) == 3
    assert cell_rows([cell])[0]["load"] == pytest.approx(sum(loads) / 3)


@pytest.mark.parametrize(
    ("workload", "options"),
    [("W2", {"time_scale": 10.0, "interarrival_factor": 0.5, "middleware": False}), ("W30", {"replicas": 3})],
)
def test_a_sweep_takes_the_options_of_a_simulation(workload, options):
    (case,) = sweep(workload, policies=(None,), loads=(None,), seeds=1, jobs=10, **options).cases()
    _, alone = simulate_workload(workload, SimulationOptions(jobs=10, **options))
    assert case.run()["response_s"] == alone.statistics.total.response_s
    assert json.loads(case.key).items() >= options.items()


def test_an_outcome_says_how_many_jobs_took_a_measured_factor(tmp_path):
    """Four jobs of each application are spread over two clusters, and one job is in one."""
    campaign, jobs = tmp_path / "mine.yaml", tmp_path / "jobs.jsonl"
    campaign.write_text("name: mine\ntopology: mini\njob_list: jobs.jsonl\narguments: {grid: 400}\n")
    listed = [("poisson", [8, 8])] * 4 + [("laplace", [8, 8])] * 4 + [("poisson", [4])]
    lines = [
        {"id": number, "arrival_s": 2000 * number, "service_s": 50, "components": sizes, "application": name}
        for number, (name, sizes) in enumerate(listed)
    ]
    jobs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    tables = {name: tmp_path / f"{name}.csv" for name in ("poisson", "laplace", "heat")}
    for name, table in tables.items():
        table.write_text(f"application,processors,clusters,extension_factor,verdict\n{name},16,2,1.5,valid\n")
    counted = {}
    for named in (("poisson",), ("poisson", "laplace"), ("heat",)):
        factors = tuple(str(tables[name]) for name in named)
        (case,) = sweep(str(campaign), policies=("wf",), loads=(None,), seeds=1, jobs=None, factors=factors).cases()
        outcome = case.run()
        counted[named] = [outcome[f"jobs_{source}"] for source in ("stated", "measured", "predicted", "in_table")]
    assert counted == {
        ("poisson",): [1, 4, 4, 4], ("poisson", "laplace"): [1, 8, 0, 8], ("heat",): [1, 0, 8, 0]
    }  # fmt: skip


def test_an_outcome_counts_no_sources_where_one_factor_is_given():
    (case,) = sweep(policies=("wf",), loads=(None,), seeds=1, factors=("1.25",)).cases()
    outcome = case.run()
    sources = ("jobs_stated", "jobs_measured", "jobs_predicted", "jobs_in_table")
    assert [outcome[source] for source in sources] == [None] * 4


@pytest.mark.parametrize(
    ("workload", "changes", "error", "said"),
    [
        ("W2", {"seeds": 0}, InvalidInput, "--seeds: must be at least 1, not 0"),
        ("W2", {"policies": ("wf", "wf")}, InvalidInput, "--policies: names .* twice"),
        ("W2", {"policies": ("wf", "WF")}, InvalidInput, "--policies: names .* twice"),
        ("W2", {"queues": ("gs", "GS")}, InvalidInput, "--queues: names .* twice"),
        ("W2", {"policies": ("best",)}, UnknownName, "best"),
        ("W9", {}, UnknownName, "no workload 'W9'"),
        ("W2", {"interarrival_factor": 0.5}, InvalidInput, "--interarrival-factor: --loads says how often jobs come"),
        ("W2", {"factors": ("1.2", "none.csv")}, InvalidInput, r"--extension-factors: 1\.2 is one factor for all jobs"),
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
    write_sweep(cells, sweep().record(), folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_any_number_of_workers_leaves_the_same_bytes_and_an_interrupted_sweep_goes_on(tmp_path):
    with Workforce(1).assembled() as client:
        one = swept(tmp_path / "one", client)
    with Workforce(2).assembled() as client:
        assert swept(tmp_path / "two", client) == one
        assert {SIMULATIONS_FILE, CELLS_FILE, INPUTS_FILE, "outcomes.jsonl", "response-by-load.svg"} <= one.keys()
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


def _cells(asked: SimulationSweep) -> list[SimulationSweepCell]:
    (names,) = asked.names().values()
    return [SimulationSweepCell(*names, None, tuple(case.run() for case in asked.cases()))]


def test_a_case_holds_only_what_its_outcome_depends_on():
    case = sweep(loads=(None,), policies=(None,)).cases()[2]
    assert isinstance(case, WorkloadCase)
    assert json.loads(case.key).keys() == {"outcomes", "workload", "seed", "jobs", "warm_up_jobs", "inputs"}


def test_the_key_of_a_case_has_one_level_so_that_stored_outcomes_are_found():
    stated = SweptWorkload("W2", topology="das2-2006", jobs=30, quota=0.9, warm_up_jobs=2, factors=("1.25",))
    case = WorkloadCase(stated, "wf", None, 0.4, seed=1, inputs="0123abcd")
    expected = {
        "outcomes": OUTCOMES_VERSION, "workload": "W2", "policy": "wf", "load": 0.4, "seed": 1,
        "topology": "das2-2006", "jobs": 30, "quota": 0.9, "factors": ["1.25"], "warm_up_jobs": 2, "inputs": "0123abcd",
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
