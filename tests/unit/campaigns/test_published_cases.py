"""The published campaigns as simulations: the cases that the claims compare, on any topology."""

from __future__ import annotations

import pytest

from emulator.campaigns.published_cases import published_cases, simulate_cases
from emulator.model.errors import InvalidInput
from emulator.runs.run_directory import read_run
from emulator.simulator.parallel_simulations import OUTCOMES_VERSION


def test_each_seed_has_sixteen_cases_with_folders_of_their_own(tmp_path):
    cases = published_cases(tmp_path, 2)
    assert len({case.path for case in cases}) == len(cases) == 32
    assert cases[0].key == "w1-wf-seed-1"


def test_a_stated_topology_replaces_each_campaigns_own_and_names_the_folders(tmp_path):
    case = next(case for case in published_cases(tmp_path, 1, jobs=3, topology="das2-2006") if case.campaign == "W30")
    case.run()
    assert case.key == "w30-cf-1-replicas-das2-2006-seed-1"
    assert read_run(case.path).manifest.topology.name == "das2-2006"


@pytest.mark.parametrize(
    ("jobs", "topology", "said"), [(4, "das2-2006", "with 3 jobs, not 4"), (3, "das2", "on another topology")]
)
def test_what_was_simulated_otherwise_is_not_taken_for_the_same(tmp_path, jobs, topology, said):
    case = published_cases(tmp_path, 1, jobs=3, topology="das2-2006")[0]
    case.run()
    simulate_cases([case], client=None)
    asked = published_cases(tmp_path, 1, jobs=jobs, topology=topology)[0]
    if asked.path != case.path:
        case.path.rename(asked.path)
    with pytest.raises(InvalidInput, match=said):
        simulate_cases([asked], client=None)


def test_what_another_version_of_the_simulator_left_is_not_taken_for_the_same(tmp_path, monkeypatch):
    case = published_cases(tmp_path, 1, jobs=3, topology="das2-2006")[0]
    case.run()
    monkeypatch.setattr("emulator.campaigns.published_cases.OUTCOMES_VERSION", OUTCOMES_VERSION + 1)
    with pytest.raises(InvalidInput, match="by another version of the simulator"):
        simulate_cases([case], client=None)
