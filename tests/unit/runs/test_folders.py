"""A folder of simulations: all of them are there in the end, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.runs.folders import all_or_none


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
