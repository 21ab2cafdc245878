"""The verb ``report``: tables of one run directory or of several."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from emulator.cli.completion import runs
from emulator.cli.controlled_tables import show_controls
from emulator.cli.options import JsonOption
from emulator.cli.tables import show_rows
from emulator.reports.attribution_figure import write_attribution
from emulator.reports.communication_tables import COMMUNICATION_TITLE, communication_table
from emulator.reports.summary import Summary, summarize
from emulator.reports.tables import factor_table, measured_factor_table, run_object, summary_table
from emulator.runs.run_directory import read_run


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command()(report)


def report(
    directories: Annotated[list[Path], typer.Argument(help="Run directories.", metavar="DIR...", autocompletion=runs)],
    as_json: JsonOption = False,
) -> None:
    """Show one run or compare several: times with 95% intervals, utilization, extension factors, verdicts.

    Where factors were attributed to their parts, that figure is drawn again in the run's directory.

    Example: testbed report runs/first-*
    """
    show_summaries([summarize(read_run(directory)) for directory in directories], as_json=as_json)


def show_summaries(summaries: Sequence[Summary], *, as_json: bool) -> None:
    """Print the figures of runs."""
    if as_json:
        print(json.dumps([run_object(summary) for summary in summaries], indent=2))
        return
    show_rows(summary_table(summaries), as_json=False, title="Runs")
    measured = measured_factor_table(summaries)
    if measured:
        show_rows(measured, as_json=False, title="Measured extension factors")
    for records in (summary.records for summary in summaries):
        if records.communication:
            rows = communication_table(records.communication, records.manifest.topology)
            show_rows(rows, as_json=False, title=f"{COMMUNICATION_TITLE}: {records.path.name}")
        show_controls(records.attribution, records.invariance, records.path.name)
        for figure in write_attribution(records.path, records.attribution):
            print(f"Figure: {figure}", file=sys.stderr)
    factors = factor_table(summaries)
    if factors:
        show_rows(factors, as_json=False, title="Extension factors among the jobs of a campaign")
