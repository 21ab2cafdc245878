"""Notebooks of the manual that need a testbed: they run as they stand, and show what they showed, but for times."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.live.command_line import CommandLine
from tests.notebooks import NOTEBOOKS, code_cells, executed, has_tag, needs_docker, shown

NAME = "livetutorial"
LIVE = [path for path in NOTEBOOKS if needs_docker(path)]
VARIES = "varies"
"""The tag of a cell whose text depends on what else the host does: the reasons of a verdict."""

MEASURED = "measured"
"""The tag of a cell whose numbers are results: they hold to within a tenth."""

NUMBER = re.compile(r"\d+(?:\.\d+)?")


@pytest.fixture
def name_free(images: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the notebook use a testbed of its own, and find the command on its path; take down what it left."""
    testbed = CommandLine(NAME)
    if testbed.left_over():
        testbed.succeed("down")
    monkeypatch.setenv("TESTBED_NAME", NAME)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    yield
    left = testbed.left_over()
    if left:
        testbed.succeed("down")
    assert left == []


def words(cell: Any) -> list[str]:
    """What a cell shows, without the digits of its numbers and the width of its columns."""
    return [NUMBER.sub("0", " ".join(text.split())) for text in shown(cell)]


def numbers(cell: Any) -> list[float]:
    return [float(number) for text in shown(cell) for number in NUMBER.findall(text)]


@pytest.mark.long
@pytest.mark.parametrize("path", LIVE, ids=lambda path: path.stem)
def test_a_notebook_on_a_testbed_shows_what_it_showed_but_for_times(path: Path, name_free: None) -> None:
    recorded = code_cells(nbformat.read(path, as_version=4))
    for before, after in zip(recorded, code_cells(executed(path)), strict=True):
        assert len(after.outputs) == len(before.outputs), before.source
        if not has_tag(before, VARIES):
            assert words(after) == words(before), before.source
        if has_tag(before, MEASURED):
            assert numbers(after) == pytest.approx(numbers(before), rel=0.1), before.source
