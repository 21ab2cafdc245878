"""Draw the pictures of the manual: ``python -m docs.drawing FOLDER``, from the repository's folder."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from docs.drawing.charts import predicted_parts, shared_nodes, table_errors
from docs.drawing.notebook_pictures import write_notebook_pictures
from docs.drawing.systems import host_layout, topology_map
from docs.drawing.tables_of_pages import attributed_parts, reproduced, second_opinion
from docs.drawing.terminal import terminal_picture
from emulator.model.catalogue import topology_named
from emulator.model.documents import parse_document
from emulator.model.topology import Topology
from emulator.reports.figures.drawing import write_figures
from emulator.reports.figures.figure import ReportFigure

DOCS: Final = Path(__file__).parent.parent
FIGURES: Final[Mapping[str, Callable[[], ReportFigure]]] = {
    "topology": lambda: topology_map(topology_named("mini")),
    "real-clusters": lambda: topology_map(topology_on_page("real-clusters.md")),
    "hosts": lambda: host_layout(topology_named("das2")),
    "predicted": predicted_parts,
    "shared-nodes": shared_nodes,
    "attribution": lambda: attributed_parts(DOCS / "attribution.md"),
    "second-opinion": lambda: second_opinion(DOCS / "second-opinion.md"),
}


def topology_on_page(page: str) -> Topology:
    """Return the first topology that a page shows."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return parse_document(text.split("```yaml\n")[1].split("```")[0], Topology, source=page)


def main() -> None:
    """Draw all pictures into the folder asked for."""
    parser = argparse.ArgumentParser(description="Draw the pictures of the manual that no report draws.")
    parser.add_argument("folder", type=Path, help="where to put them")
    parser.add_argument("--table", type=Path, help="the folder that `testbed calibrate --table --out` wrote")
    asked = parser.parse_args()
    figures = {name: draw() for name, draw in FIGURES.items()}
    if asked.table is not None:
        figures["table-errors"] = table_errors(asked.table / "rows.csv")
    write_figures(figures.items(), asked.folder)
    (asked.folder / "reproduced.png").write_bytes(reproduced(DOCS / "reproduce.md"))
    (asked.folder / "plan.svg").write_text(terminal_picture("testbed plan"), encoding="utf-8")
    write_notebook_pictures(DOCS / "tutorials", asked.folder)


if __name__ == "__main__":
    main()
