"""The verb ``report``: tables of one run directory or of several."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from emulator.cli.completion import runs
from emulator.cli.given_options import refuse_given
from emulator.cli.options import JsonOption
from emulator.cli.report_options import (
    DEFAULT_FORMATS_TEXT,
    FiguresOption,
    FirstOption,
    FormatsOption,
    parsed_formats,
)
from emulator.cli.run_tables import show_summaries
from emulator.cli.tables import show_rows
from emulator.model.counts import number_of
from emulator.model.errors import InvalidInput
from emulator.runs.folders import runs_in

if TYPE_CHECKING:
    from emulator.reports.figures.reported_run import ReportedRun
    from emulator.reports.study_folders import StudyFolder

PAGE: Final = "report.html"
_PAGES: Final = (".html", ".htm")


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command()(report)


def report(
    context: typer.Context,
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
    figures: FiguresOption = None,
    formats: FormatsOption = DEFAULT_FORMATS_TEXT,
    first: FirstOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one run or compare several: times with 95% intervals, utilization, extension factors, verdicts.

    Where factors were attributed to their parts, that figure is drawn again in the run's directory.

    Example: testbed report runs/first-* --html first.html
    """
    # Imported late: a shell that completes the name of a run waits for none of this.
    from emulator.reports.figures.drawing import write_figures
    from emulator.reports.figures.reported_run import labels_of, reported_run
    from emulator.reports.policies_over_seeds import with_first
    from emulator.reports.run_page import all_figures, write_run_page
    from emulator.reports.study_folders import is_study_folder, read_studies

    if figures is None:
        refuse_given(context, {"formats"}, "only figures in files have this", instead="state --figures FOLDER")
    forms = parsed_formats(formats)
    paths, page = _sources_and_page(directories, html=html)
    run_paths = [run for path in paths if not is_study_folder(path) for run in runs_in(path)]
    found = [reported_run(path, name) for path, name in zip(run_paths, labels_of(run_paths), strict=True)]
    found = with_first(first, found, lambda run: run.records.manifest)
    studies = read_studies(*(path for path in paths if is_study_folder(path)))
    if figures is not None:
        written = write_figures(all_figures(found, studies), figures, forms)
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
