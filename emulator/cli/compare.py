"""The verb ``compare``: live runs beside simulations of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from emulator.cli.completion import runs
from emulator.cli.foreign_text import say
from emulator.cli.given_options import refuse_given
from emulator.cli.options import JsonOption
from emulator.cli.report_options import (
    DEFAULT_FORMATS_TEXT,
    FiguresOption,
    FirstOption,
    FormatsOption,
    parsed_formats,
)
from emulator.cli.tables import show_rows
from emulator.model.errors import InvalidInput
from emulator.reports.compared_runs import Comparison, compare
from emulator.reports.comparison_tables import (
    columns_of,
    compared_runs_table,
    comparison_object,
    errors_table,
    folders_object,
    left_out_in_words,
    placement_table,
    placements_in_words,
    quantity_table,
    remarks,
    several_table,
    shown_jobs,
)
from emulator.reports.errors_over_seeds import compare_folders
from emulator.reports.figures.compared_folders import figures_of_folders
from emulator.reports.figures.drawing import write_figures
from emulator.reports.figures.overlaid import overlaid
from emulator.reports.figures.reported_run import labels_of
from emulator.reports.policies_live_and_simulated import policies_on_both_sides
from emulator.reports.policy_tables import sides_in_words, sides_table, sides_title
from emulator.runs.folders import is_folder_of_runs
from emulator.runs.run_directory import read_run

_OF_SINGLE_RUNS: Final = {"repeats", "jobs"}
"""The options that two folders of runs do not have."""


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command("compare")(compare_runs)


def compare_runs(
    context: typer.Context,
    live: Annotated[
        Path, typer.Argument(help="The live run, or a folder of live runs.", metavar="LIVE", autocompletion=runs)
    ],
    simulated: Annotated[
        list[Path],
        typer.Argument(
            help="Runs to compare with it, or the folder of their simulations.",
            metavar="SIMULATED...",
            autocompletion=runs,
        ),
    ],
    repeats: Annotated[
        list[Path] | None, typer.Option("--live", help="Another live run of the same seed; may be repeated.")
    ] = None,
    figures: FiguresOption = None,
    formats: FormatsOption = DEFAULT_FORMATS_TEXT,
    first: FirstOption = None,
    jobs: Annotated[bool, typer.Option("--jobs", help="Show every job.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare a live run with simulations of the same schedule: times, utilization, and placements that differ.

    With several simulations, the last table shows between which of their values those of the live run lie. The runs of
    two folders are compared by name, their errors put together over seeds, and their policies compared on both sides.

    Example: testbed compare runs/w1-live runs/w1-simulated --live runs/w1-live-2 --live runs/w1-live-3
    """
    if figures is None:
        refuse_given(context, {"formats"}, "only figures in files have this", instead="state --figures FOLDER")
    forms = parsed_formats(formats)
    if is_folder_of_runs(live):
        refuse_given(context, _OF_SINGLE_RUNS, f"only single runs have this, and {live} is a folder of runs")
        _compare_folders(live, simulated, first, figures, forms, as_json=as_json)
        return
    refuse_given(context, {"first"}, f"only a folder of runs has several policies, and {live} is a run")
    recorded = read_run(live)
    again = [read_run(path) for path in repeats or ()]
    found = [compare(recorded, read_run(path), again) for path in simulated]
    labels = labels_of([live, *simulated])
    if figures is not None:
        write_figures([("live-and-simulated", overlaid(found, labels))], figures, forms)
        say(f"Figures: {figures}", to_error=True)
    if as_json:
        print(json.dumps([comparison_object(comparison) for comparison in found], indent=2))
        return
    for comparison, label in zip(found, labels[1:], strict=True):
        _show(comparison, (labels[0], label), every_job=jobs, every_placement=len(found) == 1)
    if len(found) > 1:
        show_rows(several_table(found), as_json=False, title=f"{labels[0]} and {len(found)} runs")


def _compare_folders(
    live: Path,
    simulated: Sequence[Path],
    first: str | None,
    figures: Path | None,
    formats: Sequence[str],
    *,
    as_json: bool,
) -> None:
    """Show the errors of the simulations in one folder, over the seeds of the live runs in another, and their policies.

    Raises:
        InvalidInput: if more than one folder is named.
    """
    if len(simulated) != 1:
        raise InvalidInput(f"{live} is a folder of runs: name one folder with their simulations, not {len(simulated)}.")
    found = compare_folders(live, simulated[0], first)
    if figures is not None:
        write_figures([(figure.name, figure) for figure in figures_of_folders(found)], figures, formats)
        say(f"Figures: {figures}", to_error=True)
    if as_json:
        print(json.dumps(folders_object(found), indent=2))
        return
    show_rows(compared_runs_table(found.campaigns), as_json=False, title="Errors of each simulation")
    show_rows(errors_table(found.campaigns), as_json=False, title="Errors over seeds")
    for sentence in remarks(found.campaigns):
        say(sentence)
    for compared in policies_on_both_sides(found):
        if compared.seeds:
            show_rows(sides_table(compared), as_json=False, title=sides_title(compared))
        say(sides_in_words(compared))
    if found.left_out:
        say(f"Left out: {', '.join(found.left_out)}.", to_error=True)


def _show(comparison: Comparison, labels: tuple[str, str], *, every_job: bool, every_placement: bool) -> None:
    columns = columns_of(comparison, labels)
    show_rows(quantity_table(comparison, columns), as_json=False, title=" and ".join(labels))
    if left_out := left_out_in_words(comparison):
        say(left_out)
    if every_job:
        title = f"Jobs in {labels[0]}, and how much longer or later in {labels[1]}"
        show_rows(shown_jobs(comparison), as_json=False, title=title)
    say(placements_in_words(comparison))
    different: Sequence[dict[str, str]] = placement_table(comparison, columns)
    if different and every_placement:
        show_rows(different, as_json=False, title=f"Placements that differ, in the order of {labels[0]}")
