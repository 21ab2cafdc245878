"""The notebooks of the manual: which there are, their execution, and what they show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import nbformat
from nbclient import NotebookClient

from emulator.model.project import PROJECT_ROOT

NOTEBOOKS: Final = sorted((PROJECT_ROOT / "docs" / "tutorials").glob("*.ipynb"))
LIMIT_S: Final = 900


def needs_docker(path: Path) -> bool:
    """Whether a notebook brings a testbed up: it says so in its metadata."""
    return bool(nbformat.read(path, as_version=4).metadata.get("needs") == "docker")


def executed(path: Path) -> Any:
    """Return the notebook after all its cells ran again."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=LIMIT_S, resources={"metadata": {"path": str(path.parent)}}).execute()
    return notebook


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell: Any) -> list[str]:
    """What a cell shows as text; of a picture only that there is one."""
    texts = []
    for output in cell.outputs:
        text = output.text if output.output_type == "stream" else output.get("data", {}).get("text/plain", "")
        texts.append(re.sub(r"0x[0-9a-f]+", "0x", text))
    return texts


def has_tag(cell: Any, tag: str) -> bool:
    return tag in cell.metadata.get("tags", ())
