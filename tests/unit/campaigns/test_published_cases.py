"""The published campaigns as simulations: the cases that the claims compare, on any topology."""

from __future__ import annotations

from emulator.campaigns.published_cases import published_cases
from emulator.runs.run_directory import read_run


def test_each_seed_has_sixteen_cases_with_folders_of_their_own(tmp_path):
    cases = published_cases(tmp_path, 2)
    assert len({case.path for case in cases}) == len(cases) == 32
    assert cases[0].key == "w1-wf-seed-1"


def test_a_stated_topology_replaces_each_campaigns_own_and_names_the_folders(tmp_path):
    case = next(case for case in published_cases(tmp_path, 1, jobs=3, topology="das2-2006") if case.campaign == "W30")
    case.run()
    assert case.key == "w30-cf-1-replicas-das2-2006-seed-1"
    assert read_run(case.path).manifest.topology.name == "das2-2006"
