"""The verb ``study``: a published simulation study run again, its figure drawn and its claims decided."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from emulator.cli.compiling import compile_simulator
from emulator.cli.options import JsonOption, make_folder
from emulator.cli.progress import simulations_progress
from emulator.cli.tables import show_rows

if TYPE_CHECKING:
    from emulator.studies.simulation_study import StudyResult

SHOWN: Final = ("claim", "verdict", "parts shown", "says")
DEFAULT_JOBS: Final = 50_000
DEFAULT_REPLICATIONS: Final = 10
FINITE: Final = "the published number where a study has one"


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command("study")(study)


def study(
    name: Annotated[str, typer.Argument(help="The study; `list` names them all, `all` runs them all.")],
    jobs: Annotated[
        int | None, typer.Option(help="Arrivals in each simulation.", show_default=f"{DEFAULT_JOBS}, or {FINITE}")
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(help="Replications of each simulation.", show_default=f"{DEFAULT_REPLICATIONS}, or {FINITE}"),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; by default one per processor.")] = None,
    scheduler: Annotated[str | None, typer.Option(help="A dask scheduler elsewhere, host:port.")] = None,
    out: Annotated[Path | None, typer.Option(help="Directory of the results; one used before is resumed.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Run a published simulation study again and decide its claims.

    Example: testbed study compositions --workers 2 --out runs/compositions
    """
    name = name.lower()
    if name != "list":
        compile_simulator(partial(_check_name, name))
    from emulator.reports.study_pages import write_study
    from emulator.simulator.parallel_simulations import ParallelSimulations, Workforce
    from emulator.studies.catalogue import STUDIES, study_named
    from emulator.studies.simulation_study import conduct, scale_of

    if name == "list":
        rows = [{"name": known.name, "figures": known.figures, "title": known.title} for known in STUDIES.values()]
        show_rows(rows, as_json=as_json)
        return
    chosen = list(STUDIES.values()) if name == "all" else [study_named(name)]
    scales = [scale_of(one, jobs, replications) for one in chosen]
    folder = make_folder(out or Path("runs") / f"study-{name}-{datetime.now():%Y%m%d-%H%M%S}")
    results: list[StudyResult] = []
    with Workforce(workers, scheduler).assembled() as client:
        for one, scale in zip(chosen, scales, strict=True):
            with simulations_progress(one.name) as report_progress:
                simulations = ParallelSimulations(client, folder / f"{one.name}.outcomes.jsonl", report_progress)
                results.append(conduct(one, scale, simulations))
                simulations.tidy()
            write_study(results[-1], folder)
    _show(results, as_json=as_json)
    print(f"Results: {folder}", file=sys.stderr)


def _check_name(name: str) -> None:
    from emulator.studies.catalogue import study_named

    if name != "all":
        study_named(name)


def _show(results: list[StudyResult], *, as_json: bool) -> None:
    from emulator.reports.study_tables import found_table, study_claim_table, study_part_table

    if not as_json:
        for result in results:
            rows = [{column: row[column] for column in SHOWN} for row in study_claim_table(result)]
            show_rows(rows, as_json=False, title=result.study.title)
        return
    found = [
        {
            "study": result.study.name,
            "jobs": result.scale.jobs,
            "replications": result.scale.replications,
            "headline": result.headline,
            "claims": study_claim_table(result),
            "parts": study_part_table(result),
            "found": found_table(result),
        }
        for result in results
    ]
    print(json.dumps(found, indent=2))
