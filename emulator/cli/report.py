"""The verb ``report``: tables of one run directory or of several."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from emulator.cli.completion import runs
from emulator.cli.controlled_tables import show_controls
from emulator.cli.options import JsonOption
from emulator.cli.tables import show_rows
from emulator.model.counts import number_of
from emulator.model.errors import InvalidInput
from emulator.reports.attribution_figure import write_attribution
from emulator.reports.communication_tables import COMMUNICATION_TITLE, communication_table
from emulator.reports.policies_over_seeds import compared_policies
from emulator.reports.summary import Summary, summarize
from emulator.reports.tables import factor_table, measured_factor_table, policies_table, run_object, summary_table
from emulator.runs.folders import runs_in
from emulator.runs.run_directory import read_run

if TYPE_CHECKING:
    from emulator.reports.figures.reported_run import ReportedRun
    from emulator.reports.study_folders import StudyFolder

PAGE: Final = "report.html"
_PAGES: Final = (".html", ".htm")


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command()(report)


def report(
    directories: Annotated[
        list[Path],
        typer.Argument(
            help="Run directories, folders of runs, or folders of studies.", metavar="RUN...", autocompletion=runs
        ),
    ],
    html: Annotated[
        bool,
        typer.Option(
            "--html",
            help="Write a page: to FILE.html if that is the last argument, else to report.html in the run's directory.",
        ),
    ] = False,
    figures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write every figure as SVG and PNG, with its data as CSV.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show one run or compare several: times with 95% intervals, utilization, extension factors, verdicts.

    Where factors were attributed to their parts, that figure is drawn again in the run's directory.

    Example: testbed report runs/first-* --html first.html
    """
    # Imported late: the verbs that only print the table of a run need none of this.
    from emulator.reports.figures.drawing import write_figures
    from emulator.reports.figures.reported_run import labels_of, reported_run
    from emulator.reports.run_page import all_figures, write_run_page
    from emulator.reports.study_folders import is_study_folder, read_studies

    paths, page = _sources_and_page(directories, html=html)
    run_paths = [run for path in paths if not is_study_folder(path) for run in runs_in(path)]
    found = [reported_run(path, name) for path, name in zip(run_paths, labels_of(run_paths), strict=True)]
    studies = read_studies(*(path for path in paths if is_study_folder(path)))
    if figures is not None:
        written = write_figures(all_figures(found, studies), figures)
        print(f"Figures: {figures} ({number_of(len(written), 'file')})", file=sys.stderr)
    if page is not None:
        write_run_page(found, studies, page)
        print(f"Report: {page}", file=sys.stderr)
    if as_json or (figures is None and page is None):
        _show_all(found, studies, as_json=as_json)


def _sources_and_page(paths: Sequence[Path], *, html: bool) -> tuple[list[Path], Path | None]:
    """Return the runs and studies among `paths`, and the page to write; None if none is asked for."""
    if not html:
        return list(paths), None
    sources = [path for path in paths if path.suffix.lower() not in _PAGES]
    pages = [path for path in paths if path not in sources]
    if not sources or len(pages) > 1:
        raise InvalidInput("--html: give the runs to report on, and at most one FILE.html to write.")
    beside = sources[0] if len(sources) == 1 else Path()
    return sources, pages[0] if pages else beside / PAGE


def _show_all(found: Sequence[ReportedRun], studies: Sequence[StudyFolder], *, as_json: bool) -> None:
    if studies and as_json:
        raise InvalidInput("--json: a study's numbers are in its own files; report on runs, or write a page (--html).")
    if found:
        show_summaries([run.summary for run in found], as_json=as_json, labels=[run.label for run in found])
    for study in studies:
        show_rows(study.claims, as_json=False, title=f"Claims of the study {study.label}")


def show_run_directories(paths: Sequence[Path], *, as_json: bool) -> list[str]:
    """Print the figures of the runs in `paths`, and return their verdicts."""
    found = [read_run(path) for path in paths]
    show_summaries([summarize(recorded) for recorded in found], as_json=as_json)
    return [recorded.manifest.verdict for recorded in found]


def show_summaries(summaries: Sequence[Summary], *, as_json: bool, labels: Sequence[str] | None = None) -> None:
    """Print the figures of runs, under their labels or the names of their directories."""
    labels = [summary.records.path.name for summary in summaries] if labels is None else labels
    labelled = list(zip(summaries, labels, strict=True))
    if as_json:
        print(json.dumps([run_object(summary, label) for summary, label in labelled], indent=2))
        return
    show_rows(summary_table(summaries, labels), as_json=False, title="Runs")
    for compared in compared_policies([summary.records for summary in summaries]):
        seeds = ", ".join(map(str, compared.seeds))
        show_rows(policies_table(compared), as_json=False, title=f"Policies of {compared.label} over the seeds {seeds}")
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
