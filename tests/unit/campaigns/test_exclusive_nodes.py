"""A campaign on exclusive nodes, simulated, simulated again from its records, and planned."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from emulator.campaigns.like_run import like_run
from emulator.campaigns.live import arrivals_on
from emulator.campaigns.simulated import simulate_prepared
from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.model.catalogue import topology_named
from emulator.model.project import CAMPAIGNS, PROJECT_ROOT
from emulator.model.records import BackgroundRow, ComponentRow, ExecutionTimeRow, JobRow, UtilizationRow
from emulator.model.times import Times
from emulator.planning.planned_runs import planned_campaign
from emulator.runs.run_directory import read_rows
from tests.unit.campaigns.test_like_run import again, errors, live_run
from workloads.campaign import campaign_named


@pytest.fixture
def topology(tmp_path: Path) -> str:
    """The path of `mini` with exclusive nodes."""
    file = tmp_path / "whole.yaml"
    file.write_text((PROJECT_ROOT / "compose" / "mini.yaml").read_text(encoding="utf-8") + "nodes: exclusive\n")
    return str(file)


@pytest.fixture
def campaign(tmp_path: Path) -> str:
    """The path of a campaign whose components have odd sizes."""
    file = tmp_path / "odd.yaml"
    text = (CAMPAIGNS / "first.yaml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("component_sizes")]
    file.write_text("\n".join([*lines, "component_sizes: [3, 5, 7]", ""]))
    return str(file)


@pytest.mark.parametrize("policy", ["wf", "cm", "fcm"])
def test_records_count_held_processors_of_components_and_processes_of_jobs(tmp_path, topology, campaign, policy):
    run = live_run(tmp_path / "run", campaign, topology=topology, policy=policy, jobs=15, band="15-30")
    asked = {row.job: row.processors for row in read_rows(run, JobRow)}
    held: dict[int, list[int]] = defaultdict(list)
    for row in read_rows(run, ComponentRow):
        held[row.job].append(row.processors)
    assert all(size % 2 == 0 for sizes in held.values() for size in sizes)
    if policy == "fcm":
        assert {job: sum(sizes) for job, sizes in held.items()} == {job: size + size % 2 for job, size in asked.items()}
    else:
        components = {row.job: row.components for row in read_rows(run, JobRow)}
        assert held == {job: [size + 1 for size in sizes] for job, sizes in components.items()}
    for row in read_rows(run, UtilizationRow):
        assert {row.claimed_processors % 2, row.executing_processors % 2, row.background_processors % 2} == {0}
    for row in read_rows(run, BackgroundRow):
        assert row.dummy_processors % 2 == row.grid_processors % 2 == 0
        assert row.dummy_processors + row.local_processors + row.grid_processors <= row.processors
    for row in read_rows(run, ExecutionTimeRow):
        assert sum(row.components) == row.processors in asked.values()


@pytest.mark.parametrize("policy", ["wf", "fcm"])
def test_it_is_simulated_again_without_any_difference(tmp_path, topology, campaign, policy):
    live = live_run(tmp_path / "live", campaign, topology=topology, policy=policy, jobs=15)
    found: Any = again(live, tmp_path / "again")
    assert set(errors(found).values()) == {0.0}
    assert (found.placements.placed, found.placements.different) == (15, ())


def test_measured_times_are_those_of_the_processes_that_ran(tmp_path, topology, campaign):
    live = live_run(tmp_path / "live", campaign, topology=topology, policy="fcm", jobs=12)
    simulate_prepared(like_run(live, Times.RUN), SimulationOptions(), out=tmp_path / "again")
    sources = {row.source for row in read_rows(tmp_path / "again", ExecutionTimeRow)}
    assert sources == {"measured"}


@pytest.mark.parametrize("policy", ["wf", "fcm"])
def test_a_plan_tries_the_processes_that_run(topology, campaign, policy):
    stated = campaign_named(campaign).changed(topology=topology, jobs=10).scheduled(None, policy)
    system = topology_named(topology)
    planned = planned_campaign(stated, arrivals_on(system, stated, 1), 1, system)
    assert any(job.processors % 2 for job in planned.run.jobs)
    assert {sum(job.components) for job in planned.together} <= {job.processors for job in planned.run.jobs}
