"""Folders of runs: the order of a sweep, and simulations that are all there in the end, or none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from emulator.runs.folders import SWEEP_FILE, all_or_none, runs_in


def make(*paths: Path, then: type[BaseException] | None = None) -> None:
    for path in paths:
        path.mkdir(parents=True)
        (path / "manifest.json").write_text("{}")
    if then is not None:
        raise then


def test_what_was_made_stays_when_all_are_made(tmp_path: Path):
    asked = [tmp_path / "out" / name for name in ("wf-1", "wf-2")]
    with all_or_none(asked):
        make(*asked)
    assert all((path / "manifest.json").is_file() for path in asked)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupt_or_a_failure_leaves_none_and_nothing_else_is_touched(tmp_path: Path, error: type[BaseException]):
    asked = [tmp_path / "out" / name for name in ("wf-1", "wf-2")]
    make(tmp_path / "out" / "pilots")
    with pytest.raises(error), all_or_none(asked):
        make(asked[0], then=error)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["pilots"]


def test_runs_of_a_sweep_are_in_its_order_and_repetitions_stand_beside_their_run(tmp_path: Path):
    listed = ["wf-1", "wf-1-repeat-2", "cm-1", "wf-10", "cm-10"]
    (tmp_path / SWEEP_FILE).write_text(json.dumps({"runs": [{"folder": name} for name in listed]}))
    further = ["another", "cm-1-interrupted", "wf-1-2", "wf-1-repeat-2-interrupted"]
    make(*(tmp_path / name for name in sorted([*listed, *further])))
    assert [run.name for run in runs_in(tmp_path)] == [
        "wf-1", "wf-1-2", "wf-1-repeat-2", "wf-1-repeat-2-interrupted", "cm-1", "cm-1-interrupted", "wf-10", "cm-10",
        "another",
    ]  # fmt: skip


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"runs": 3}', '{"runs": [3]}', '{"runs": {"a": 1}}'])
def test_without_a_list_of_a_sweep_runs_are_in_order_of_their_names(tmp_path: Path, content: str | None):
    if content is not None:
        (tmp_path / SWEEP_FILE).write_text(content)
    make(tmp_path / "wf-1", tmp_path / "cm-1")
    assert [run.name for run in runs_in(tmp_path)] == ["cm-1", "wf-1"]
    assert runs_in(tmp_path / "wf-1") == [tmp_path / "wf-1"]
