"""The files that a study leaves: a page to read, its figure, and the numbers behind both as CSV."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from emulator.model.counts import number_of
from emulator.model.errors import InvalidInput
from emulator.model.whole_files import written_whole
from emulator.reports.study_figures import study_figure
from emulator.reports.study_tables import (
    found_table,
    interval_text,
    study_claim_table,
    study_part_table,
    turning_table,
)
from emulator.reports.text import markdown_table
from emulator.studies.catalogue import Measures
from emulator.studies.shared_cases import VARIED_REPLICATIONS
from emulator.studies.simulation_study import Row, StudyResult
from emulator.studies.statements import Quantity

HEADINGS: Final = {
    Quantity.RESPONSE: "response (s)",
    Quantity.LOCAL_RESPONSE: "1 component (s)",
    Quantity.GLOBAL_RESPONSE: "several (s)",
    Quantity.MAXIMAL_GROSS: "maximal gross utilization",
    Quantity.MAXIMAL_NET: "maximal net utilization",
    Quantity.GROSS_OVER_NET: "gross / net",
    Quantity.EXECUTION: "execution (s)",
    Quantity.WAIT: "wait (s)",
    Quantity.TURNAROUND: "turnaround (s)",
    Quantity.MAKESPAN: "makespan (s)",
    Quantity.LATENCY: "latency beside jobs (s)",
    Quantity.ESTIMATOR_ERROR: "estimator's error",
}
HOW_READ: Final = {
    Measures.RESPONSE: (
        "Loads are gross utilizations, chosen as shares of the maximal utilization of the chart's tightest policy; "
        "the verdicts are those at 0.97. *SAT* marks a policy that saturated in at least one replication."
    ),
    Measures.SATURATION: (
        "The maximal utilization is the largest load whose backlog stays bounded, found by halving; it exceeds the "
        "true one by one to two percent, for all policies alike."
    ),
    Measures.UTILIZATION: "Measured at a gross utilization that every policy carries.",
    Measures.SHARED_NODES: (
        "Every replication is a whole workload, from its first job to its last. A queue is a composition and a "
        "time-sharing rule. The verdicts are those at the interarrival times as read; the paper prints none, so they "
        f"are varied, with at most {VARIED_REPLICATIONS} replications. Latency beside jobs is how long bursts of "
        "local users on nodes with a parallel job are delayed beyond their own processor time; a replication without "
        "such bursts is left out. The estimator's error is that of executions as expected at their start, as a share "
        "of the real ones."
    ),
}


_NOT_COUNTED: Final = ", the first tenth not counted"


def write_study(result: StudyResult, folder: Path) -> list[Path]:
    """Write the page, the figure and the tables of `result` into `folder`; return the paths, the page first.

    Raises:
        InvalidInput: if they cannot be written there.
    """
    name = result.study.name
    page, picture = folder / f"{name}.md", folder / f"{name}.png"
    found, parts = folder / f"{name}.csv", folder / f"{name}-claims.csv"
    _write_rows(found_table(result), found)
    _write_rows(study_part_table(result), parts)
    _write_bytes(study_figure(result), picture)
    with written_whole(page) as text:
        text.write(study_page(result))
    return [page, picture, found, parts]


def study_page(result: StudyResult) -> str:
    """Return the study in Markdown: claims and verdicts, the figure, the numbers, and where orderings turn."""
    study, scale = result.study, result.scale
    sections = [
        f"# {study.title}",
        f"{study.figures}. `testbed study {study.name} --jobs {scale.jobs} --replications {scale.replications}`: "
        f"{number_of(scale.replications, 'replication')} of {number_of(scale.jobs, 'arrival')} each"
        f"{_NOT_COUNTED if scale.steady else ''}; "
        f"intervals are 95%, and ratios are paired by replication. {HOW_READ[study.measures]}",
        "## Claims",
        markdown_table(study_claim_table(result)),
        f"![{study.title}]({study.name}.png)",
        f"## What was found\n\nAll digits: [{study.name}.csv]({study.name}.csv).",
        markdown_table([_shown(row) for row in result.rows]),
    ]
    open_parts = [row for row in study_part_table(result) if row["at"] == result.headline and row["verdict"] != "shown"]
    if open_parts:
        link = f"[{study.name}-claims.csv]({study.name}-claims.csv)"
        sections += [
            f"## Parts of claims that do not show, or are undecided\n\nAll parts at all loads: {link}.",
            markdown_table([_without(row, "at") for row in open_parts]),
        ]
    turning = turning_table(result)
    if turning:
        varied = "the load" if scale.steady else "the interarrival times"
        sections += [f"## Verdicts that change with {varied} (ratios in brackets)", markdown_table(turning)]
    return "\n\n".join(sections) + "\n"


def _shown(row: Row) -> dict[str, Any]:
    load = {} if row.load is None else {"load": f"{row.load:.3f}"}
    at = {"at": row.at.removesuffix(" of the tightest maximum").removeprefix("at ")} if row.at else {}
    found = {HEADINGS[quantity]: interval_text(around) for quantity, around in row.found.items()}
    mark = {"": "SAT" if row.saturated > 0 else ""} if "response (s)" in found else {}
    return {"workload": row.workload, "queue": row.queue, **at, **load, **found, **mark}


def _without(row: Mapping[str, Any], column: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != column}


def _write_rows(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    with written_whole(path) as text:
        writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _write_bytes(content: bytes, path: Path) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written ({error.strerror or error}).") from error
