"""The notebooks of the manual run as they stand, and show what they show when they are executed again."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from tests.notebooks import NOTEBOOKS, code_cells, executed, needs_docker, shown

SIMULATED = [path for path in NOTEBOOKS if not needs_docker(path)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_was_executed_from_its_first_cell_to_its_last_without_an_error(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]
    assert not re.search(r"/(home|root|tmp|work)/", path.read_text(encoding="utf-8"))


@pytest.mark.long
@pytest.mark.parametrize("path", SIMULATED, ids=lambda path: path.stem)
def test_a_notebook_shows_the_same_when_it_is_executed_again(path: Path) -> None:
    recorded = nbformat.read(path, as_version=4)
    for before, after in zip(code_cells(recorded), code_cells(executed(path)), strict=True):
        assert shown(after) == shown(before), before.source
