"""The report on one run or several as a page: one HTML file that needs nothing else.

What was run stands first, with the verdict and its reasons; then several runs side by side; then each run by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from emulator.model.counts import number_of
from emulator.model.errors import InvalidInput
from emulator.model.records import Manifest, RunKind
from emulator.model.whole_files import written_whole
from emulator.reports.attribution_tables import ATTRIBUTION_TITLE, INVARIANCE_TITLE, attribution_table, invariance_table
from emulator.reports.claim_tables import OF_ONE_RUN, claim_table, part_table
from emulator.reports.communication_tables import COMMUNICATION_TITLE, communication_table
from emulator.reports.figures.choice import figures_of_all, figures_of_run
from emulator.reports.figures.drawing import svg_of
from emulator.reports.figures.figure import ReportFigure, data_csv
from emulator.reports.figures.reported_run import ReportedRun
from emulator.reports.figures.study import study_figures
from emulator.reports.html_parts import badge, bullets, html_figure, html_page, html_table, paragraph
from emulator.reports.study_folders import StudyFolder
from emulator.reports.tables import factor_table, measured_factor_table, summary_table
from emulator.studies.campaign_claims import decided_claims

MOST_BYTES: Final = 3_000_000
"""The size of a page that can still be sent by mail, and opens at once."""

_FIRST: Final = ("verdict", "because")


def write_run_page(runs: Sequence[ReportedRun], studies: Sequence[StudyFolder], path: Path) -> None:
    """Write the report on `runs` and `studies` to `path`.

    Raises:
        InvalidInput: if it cannot be written there, or if it would be larger than a page may be.
    """
    page = run_page(runs, studies)
    if len(page.encode()) > MOST_BYTES:
        raise InvalidInput(
            f"{path}: a page on {number_of(len(runs) + len(studies), 'run')} would have "
            f"{len(page.encode()) / 1e6:.1f} MB, and one may have {MOST_BYTES / 1e6:.0f} MB: report on "
            "fewer runs at a time."
        )
    with written_whole(path) as text:
        text.write(page)


def run_page(runs: Sequence[ReportedRun], studies: Sequence[StudyFolder] = ()) -> str:
    """Return the report on `runs` and `studies` in HTML, with the details of as many runs as fit into a page."""
    labels = ", ".join([run.label for run in runs] + [study.label for study in studies])
    begin = [f"<h1>Report on {escape(labels)}</h1>"]
    if runs:
        begin += ["<h2>What was run</h2>", html_table(_overview(runs))]
    if len(runs) > 1:
        compared = [_shown(figure, "all") for figure in figures_of_all(runs)]
        begin += ["<h2>Side by side</h2>", *compared] if compared else []
    begin += _claims(runs)
    sections = [_study(study, f"study{number}") for number, study in enumerate(studies)]
    sections += [_run(run, f"run{number}") for number, run in enumerate(runs)]
    used = len(html_page(labels, begin).encode())
    for place, section in enumerate(sections):
        size = len("\n".join(section).encode())
        if used + size > MOST_BYTES - 10_000 and place > 0:
            begin.append(paragraph(f"The details of the last {len(sections) - place} do not fit into this page."))
            break
        used += size
        begin += section
    return html_page(f"Report on {labels}", begin)


def _claims(runs: Sequence[ReportedRun]) -> list[str]:
    """Return the published claims of which the runs decide a part; none if they are of no published campaign."""
    heading = "<h2>Published claims</h2>"
    try:
        every = decided_claims(runs)
    except InvalidInput as error:
        return [heading, paragraph(f"Not decided: {error}")]
    decided = [claim for claim in every if any(part.value is not None for part in claim.decisions)]
    if not decided:
        return []
    parts = [row for row in part_table(decided) if row["value [95%]"]]
    left_out = "Parts for which no run is given, or whose quantity no run records, are left out below"
    said = paragraph(f"{left_out}; {OF_ONE_RUN}.")
    return [heading, html_table(claim_table(decided)), said, html_table(parts)]


def all_figures(runs: Sequence[ReportedRun], studies: Sequence[StudyFolder] = ()) -> list[tuple[str, ReportFigure]]:
    """Return every figure of the report, with a name that is unique among them and can name a file."""
    found = [(figure.name, figure) for figure in (figures_of_all(runs) if len(runs) > 1 else [])]
    for run in runs:
        prefix = f"{_file_name(run.label)}-" if len(runs) > 1 else ""
        found += [(f"{prefix}{figure.name}", figure) for figure in figures_of_run(run)]
    for study in studies:
        found += [(f"{_file_name(study.label)}-{figure.name}", figure) for figure in study_figures(study)]
    return _told_apart(found)


def _told_apart(found: Sequence[tuple[str, ReportFigure]]) -> list[tuple[str, ReportFigure]]:
    """Return `found` with a number after each name that was there before."""
    named: dict[str, ReportFigure] = {}
    for name, figure in found:
        free, number = name, 1
        while free in named:
            number += 1
            free = f"{name}-{number}"
        named[free] = figure
    return list(named.items())


def _file_name(label: str) -> str:
    return "".join(character if character.isalnum() or character in "._-" else "_" for character in label)


def _overview(runs: Sequence[ReportedRun]) -> list[dict[str, str]]:
    """Return the table of all runs, the verdict and its reasons first."""
    rows = summary_table([run.summary for run in runs], [run.label for run in runs])
    return sorted(rows, key=lambda row: _FIRST.index(row["quantity"]) if row["quantity"] in _FIRST else len(_FIRST))


def _run(run: ReportedRun, scope: str) -> list[str]:
    manifest = run.records.manifest
    reasons = [*manifest.verdict_reasons, *manifest.defects]
    return [
        f"<h2>{escape(run.label)}</h2>",
        f"<p>{badge(manifest.verdict)} {escape(_in_words(run))}</p>",
        bullets(reasons),
        *_tables(run),
        *(_shown(figure, scope) for figure in figures_of_run(run)),
    ]


def _in_words(run: ReportedRun) -> str:
    manifest = run.records.manifest
    kind = "A measurement" if manifest.kind is RunKind.MEASUREMENT else f"The {manifest.kind.value} {manifest.name}"
    parts = f" It has {run.parts} parts; timelines are those of the first." if run.parts > 1 else ""
    return (
        f"{kind} on {manifest.topology.name} ({number_of(manifest.topology.processors, 'processor')} in "
        f"{number_of(len(manifest.topology.clusters), 'cluster')}), {number_of(manifest.jobs, 'job')}, "
        f"policy {manifest.policy}, queue {manifest.queue}, seed {manifest.seed}, "
        f"{_scales(manifest)}; {manifest.progress.value}.{parts}"
    )


def _scales(manifest: Manifest) -> str:
    scaled = "" if manifest.time_scale == 1 else f", times divided by {manifest.time_scale:g}"
    return f"dilation {manifest.dilation:g}{scaled}"


def _tables(run: ReportedRun) -> list[str]:
    records = run.records
    tables: list[tuple[str, Sequence[dict[str, Any]]]] = [
        ("Measured extension factors", measured_factor_table([run.summary], [run.label])),
        ("Extension factors among the jobs", factor_table([run.summary], [run.label])),
        (ATTRIBUTION_TITLE, attribution_table(records.attribution)),
        (INVARIANCE_TITLE, invariance_table(records.invariance)),
    ]
    if records.communication:
        tables.append((COMMUNICATION_TITLE, communication_table(records.communication, records.manifest.topology)))
    return [f"<h3>{escape(title)}</h3>\n{html_table(rows)}" for title, rows in tables if rows]


def _study(study: StudyFolder, scope: str) -> list[str]:
    parts = [f"<h2>{escape(study.label)}</h2>"]
    if study.claims:
        parts += ["<h3>Claims, part by part</h3>", html_table(study.claims)]
    return parts + [_shown(figure, scope) for figure in study_figures(study)]


def _shown(figure: ReportFigure, scope: str) -> str:
    return html_figure(figure.title, figure.shows, svg_of(figure, scope), data_csv(figure.rows), figure.name)
