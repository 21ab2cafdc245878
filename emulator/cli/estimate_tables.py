"""Estimates of how long a measurement takes, printed cell by cell before anything runs."""

from __future__ import annotations

from emulator.cli.foreign_text import say
from emulator.cli.tables import show_rows
from emulator.model.topology import Topology
from emulator.planning.choices import estimates, guessed_choices
from emulator.planning.planned_runs import available_resources
from emulator.runs.control_runs import control_runs_of
from emulator.runs.matrix import Matrix, lay_out


def show_estimates(matrix: Matrix, topology: Topology, *, as_json: bool) -> None:
    """Print about how long each cell of `matrix` takes on `topology`, at the dilation that pilots likely find."""
    layout = lay_out(matrix, topology)
    for sentence in layout.left_out:
        say(f"left out: {sentence}", to_error=True)
    choices = guessed_choices(layout, matrix, topology, available_resources())
    cells, host_s = estimates(choices, matrix, topology)
    rows: list[dict[str, object]] = [
        {
            "cell": each.cell.shown,
            "dilation": each.dilation,
            "runs": matrix.repeat,
            "length": each.cell.length,
            "host_s": round(each.host_s, 1),
        }
        for each in cells
    ]
    if as_json:
        show_rows(rows, as_json=True)
        return
    show_rows(rows, as_json=False, title=f"About how long it takes on {topology.name}: nothing is run")
    pilots = "" if matrix.dilation is not None else f", and pilots for each of its problems ({len(layout.problems)})"
    checks = "control runs and checks" if control_runs_of(matrix) else "checks"
    print(f"About {max(1, round(host_s / 60))} min in all, with {checks} of the links{pilots}.")
