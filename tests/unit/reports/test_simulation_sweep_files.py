"""The cells of a sweep of simulations: each policy over the first one, unless one of the two lost jobs or is void."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emulator.campaigns.simulation_sweep import QUANTITIES, SimulationSweep, SimulationSweepCell
from emulator.campaigns.swept_workload import SweptWorkload
from emulator.reports.simulation_sweep_files import cell_rows, cells_without_ratio, simulation_rows


def outcome(load: float, response_s: float, **changes: Any) -> dict[str, Any]:
    """The outcome of a simulation in which every job finished, but for `changes`."""
    counts = {"jobs_given_up": 0, "jobs_reached_limit": 0, "saturated": False, "verdict": "valid"}
    return {**dict.fromkeys(QUANTITIES), "load": load, "response_s": response_s, **counts, **changes}


def cell(policy: str, load: float, *responses_s: float, **changes: Any) -> SimulationSweepCell:
    """A cell of which the first simulation has `changes`."""
    first, *others = responses_s
    outcomes = (outcome(load, first, **changes), *(outcome(load, each) for each in others))
    return SimulationSweepCell(policy, "placement", load, outcomes)


def test_each_policy_is_compared_with_the_first_one_at_its_load_seed_by_seed():
    cells = [cell("wf", 0.4, 10.0, 20.0), cell("wf", 0.8, 30.0, 50.0),
             cell("fcm", 0.4, 5.0, 10.0), cell("fcm", 0.8, 33.0, 47.0)]  # fmt: skip
    rows = cell_rows(cells)
    assert [row["response_over_first"] for row in rows] == [None, None, 0.5, 1.0]
    halved, varied = ((row["response_over_first_low"], row["response_over_first_high"]) for row in rows[2:])
    assert halved == (0.5, 0.5)
    assert varied[0] < 1.0 < varied[1]
    assert [row["load"] for row in rows] == [0.4, 0.8, 0.4, 0.8]
    assert cells_without_ratio(cells) == 0


@pytest.mark.parametrize("changes", [{"verdict": "void"}, {"jobs_given_up": 1}, {"jobs_reached_limit": 1}])
def test_nothing_is_said_over_the_first_policy_where_a_simulation_is_void_or_lost_jobs(changes):
    """Of the policy itself or of the first one, and at that load only."""
    sound = {policy: [cell(policy, load, 10.0, 20.0) for load in (0.4, 0.8)] for policy in ("wf", "cm")}
    for policy in ("wf", "cm"):
        doubtful = {**sound, policy: [cell(policy, 0.4, 10.0, 20.0, **changes), sound[policy][1]]}
        cells = [each for of_policy in doubtful.values() for each in of_policy]
        assert [row["response_over_first"] for row in cell_rows(cells)] == [None, None, None, 1.0]
        assert cells_without_ratio(cells) == 1


def test_the_jobs_that_a_cell_lost_are_counted_over_its_replications():
    varied = cell("wf", 0.4, 10.0, 20.0, jobs_given_up=2, jobs_reached_limit=3)
    alike = SimulationSweepCell("wf", "placement", 0.4, (outcome(0.4, 10.0, jobs_given_up=2),) * 3)
    rows = cell_rows([varied, alike])
    assert [(row["n"], row["jobs_given_up"], row["jobs_reached_limit"]) for row in rows] == [(2, 2, 3), (1, 2, 0)]


def test_the_load_of_a_simulation_is_that_of_its_own_jobs():
    outcomes = (outcome(0.5, 10.0), outcome(0.7, 20.0))
    of_workload = SimulationSweepCell("wf", "placement", None, outcomes)
    assert [row["load"] for row in simulation_rows([of_workload])] == [0.5, 0.7]
    assert cell_rows([of_workload])[0]["load"] == pytest.approx(0.6)
    unknown = SimulationSweepCell("wf", "placement", None, ({**outcomes[0], "load": None}, outcomes[1]))
    assert cell_rows([unknown])[0]["load"] is None


def limited(folder: Path) -> SimulationSweep:
    """Long jobs that worst fit spreads over two clusters, where they reach their limit, and short ones."""
    campaign, jobs = folder / "limited.yaml", folder / "jobs.jsonl"
    campaign.write_text(
        "name: limited\ntopology: mini\njob_list: jobs.jsonl\napplication: poisson\nrun_time_limit_s: 150\n"
    )
    lines = [
        {"id": number, "arrival_s": 500 * number, "service_s": service_s, "components": components}
        for number, (service_s, components) in enumerate([(100, [8, 8]), (10, [4])] * 4)
    ]
    jobs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    swept = SweptWorkload(str(campaign), factors=("2",))
    return SimulationSweep(swept, policies=("cm", "wf"), queues=(None,), loads=(None,), seeds=1)


def test_a_policy_that_loses_its_longest_jobs_is_not_called_faster(tmp_path):
    """Its mean response time is the lower one, because it is that of the short jobs."""
    asked = limited(tmp_path)
    cells = [SimulationSweepCell(str(case.policy), "placement", None, (case.run(),)) for case in asked.cases()]
    minimizing, worst_fit = cell_rows(cells)
    assert (minimizing["jobs_reached_limit"], worst_fit["jobs_reached_limit"]) == (0, 4)
    assert (minimizing["verdicts"], worst_fit["verdicts"]) == ("valid", "void")
    assert worst_fit["response_s"] < minimizing["response_s"]
    assert worst_fit["response_over_first"] is None
