"""The figures of runs, printed: of one run or of several beside each other."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from emulator.cli.controlled_tables import show_controls
from emulator.cli.foreign_text import say
from emulator.cli.tables import show_rows
from emulator.reports.attribution_figure import write_attribution
from emulator.reports.communication_tables import COMMUNICATION_TITLE, communication_table
from emulator.reports.policies_over_seeds import compared_policies
from emulator.reports.summary import Summary, summarize
from emulator.reports.tables import (
    factor_table,
    measured_factor_table,
    policies_object,
    policies_table,
    run_object,
    summary_table,
)
from emulator.runs.run_directory import read_run


def show_run_directories(paths: Sequence[Path], *, as_json: bool) -> list[str]:
    """Print the figures of the runs in `paths`, and return their verdicts."""
    found = [read_run(path) for path in paths]
    show_summaries([summarize(recorded) for recorded in found], as_json=as_json)
    return [recorded.manifest.verdict for recorded in found]


def show_summaries(summaries: Sequence[Summary], *, as_json: bool, labels: Sequence[str] | None = None) -> None:
    """Print the figures of runs, under their labels or the names of their directories."""
    labels = [summary.records.path.name for summary in summaries] if labels is None else labels
    labelled = list(zip(summaries, labels, strict=True))
    found = compared_policies([summary.records for summary in summaries])
    if as_json:
        objects = [run_object(summary, label) for summary, label in labelled]
        print(json.dumps([*objects, *map(policies_object, found)], indent=2))
        return
    show_rows(summary_table(summaries, labels), as_json=False, title="Runs")
    for compared in found:
        seeds = ", ".join(map(str, compared.seeds))
        show_rows(policies_table(compared), as_json=False, title=f"Policies of {compared.label} over the seeds {seeds}")
        if compared.remark:
            say(compared.remark)
    measured = measured_factor_table(summaries, labels)
    if measured:
        show_rows(measured, as_json=False, title="Measured extension factors")
    for summary, label in labelled:
        records = summary.records
        if records.communication:
            rows = communication_table(records.communication, records.manifest.topology)
            show_rows(rows, as_json=False, title=f"{COMMUNICATION_TITLE}: {label}")
        show_controls(records.attribution, records.invariance, label)
        for figure in write_attribution(records.path, records.attribution):
            print(f"Figure: {figure}", file=sys.stderr)
    factors = factor_table(summaries, labels)
    if factors:
        show_rows(factors, as_json=False, title="Extension factors among the jobs of a campaign")
