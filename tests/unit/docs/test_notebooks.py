"""The notebooks of the manual run as they stand, and show what they show when they are executed again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from emulator.model.project import PROJECT_ROOT

NOTEBOOKS = sorted((PROJECT_ROOT / "docs" / "tutorials").glob("*.ipynb"))
LIMIT_S = 600


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell: Any) -> list[str]:
    """What a cell shows as text; of a picture only that there is one."""
    texts = []
    for output in cell.outputs:
        text = output.text if output.output_type == "stream" else output.get("data", {}).get("text/plain", "")
        texts.append(re.sub(r"0x[0-9a-f]+", "0x", text))
    return texts


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_was_executed_from_its_first_cell_to_its_last_without_an_error(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]
    assert not re.search(r"/(home|root|tmp|work)/", path.read_text(encoding="utf-8"))


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_the_same_when_it_is_executed_again(path: Path) -> None:
    recorded = nbformat.read(path, as_version=4)
    again = nbformat.read(path, as_version=4)
    NotebookClient(again, timeout=LIMIT_S, resources={"metadata": {"path": str(path.parent)}}).execute()
    for before, after in zip(code_cells(recorded), code_cells(again), strict=True):
        assert shown(after) == shown(before), before.source
