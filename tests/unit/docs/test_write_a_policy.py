"""The page "write a policy in 15 lines": its code is run as it stands, by the commands it names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from emulator.campaigns.simulated import simulate_workload
from emulator.campaigns.simulated_workload import SimulationOptions
from emulator.model.placement import Component, Placement
from emulator.model.project import PROJECT_ROOT

BLOCKS = re.findall(
    r"```python\n(.*?)```", (PROJECT_ROOT / "docs" / "write-a-policy.md").read_text(encoding="utf-8"), re.DOTALL
)


@pytest.fixture
def custom_file(tmp_path: Path) -> Path:
    path = tmp_path / "mypolicy.py"
    path.write_text(BLOCKS[0] + BLOCKS[1], encoding="utf-8")
    return path


def test_the_placement_policy_has_the_promised_length_and_runs(custom_file: Path) -> None:
    body = BLOCKS[0].split("class BestFit:")[1]
    assert len([line for line in body.splitlines() if line.strip()]) <= 15
    _, result = simulate_workload("W2", SimulationOptions(policy=f"{custom_file}:BestFit"))
    assert result.statistics.jobs_finished == 200


def test_the_queue_discipline_runs(custom_file: Path) -> None:
    options = SimulationOptions(queue=f"{custom_file}:SmallestFirst", load=0.8, jobs=3000)
    _, result = simulate_workload("50-25-25-0", options)
    assert result.statistics.jobs_finished == 3000


def test_it_places_a_request_in_a_state_made_by_hand(custom_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(custom_file.parent)
    printed: list[Placement] = []
    exec(BLOCKS[2], {"print": printed.append})
    assert printed == [Placement((Component(0, 4), Component(1, 16)))]


def test_the_notebook_lines_run() -> None:
    names: dict[str, object] = {}
    exec(BLOCKS[3], names)
    assert len(names["result"].jobs) == 20_000  # type: ignore[attr-defined]


def test_a_job_takes_twice_as_long_in_the_slow_cluster() -> None:
    names: dict[str, Any] = {}
    exec(BLOCKS[4], names)
    factors = {
        (1 in job.clusters, round((job.finish_s - job.start_s) / job.service_s, 6)) for job in names["result"].finished
    }
    assert factors == {(True, 2.0), (False, 1.0)}
