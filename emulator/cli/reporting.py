"""The verb ``report``: what run directories say, several runs side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from emulator.campaigns.run_directory import read_run
from emulator.cli.tables import JsonOption, show_rows
from emulator.reports.communication_tables import COMMUNICATION_TITLE, communication_table
from emulator.reports.summary import Summary, summarize
from emulator.reports.tables import factor_table, measured_factor_table, run_object, summary_table


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command()(report)


def report(
    directories: Annotated[list[Path], typer.Argument(help="Run directories.", metavar="DIR...")],
    as_json: JsonOption = False,
) -> None:
    """Tables of one run or of several side by side: times with 95% intervals, utilization, extension factors, verdicts.

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
    for summary in summaries:
        if summary.records.communication:
            rows = communication_table(summary.records.communication, summary.records.manifest.topology)
            show_rows(rows, as_json=False, title=f"{COMMUNICATION_TITLE}: {summary.records.path.name}")
    factors = factor_table(summaries)
    if factors:
        show_rows(factors, as_json=False, title="Extension factors among the jobs of a campaign")
