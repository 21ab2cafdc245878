"""The verb ``study``: a published simulation study run again, its figure drawn and its claims decided."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from emulator.cli.tables import JsonOption, show_rows
from emulator.model.errors import InvalidInput
from emulator.reports.study_pages import write_study
from emulator.reports.study_tables import claim_table, found_table, part_table
from emulator.simulator.studies.catalogue import STUDIES, study_named
from emulator.simulator.studies.conduct import Scale, StudyResult, conduct
from emulator.simulator.sweep import Sweep, SweepProgress, Tell, Workforce

SHOWN: Final = ("claim", "verdict", "parts shown", "says")


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command("study")(study)


def study(
    name: Annotated[str, typer.Argument(help="The study; `list` names them all, `all` runs them all.")],
    jobs: Annotated[int, typer.Option(help="Arrivals in each simulation.")] = Scale().jobs,
    replications: Annotated[int, typer.Option(help="Replications of each simulation.")] = Scale().replications,
    workers: Annotated[int | None, typer.Option(help="Processes; by default one per processor.")] = None,
    scheduler: Annotated[str | None, typer.Option(help="A dask scheduler elsewhere, host:port.")] = None,
    out: Annotated[Path | None, typer.Option(help="Directory of the results; one used before is resumed.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Run a published simulation study again and decide its claims.

    Example: testbed study compositions --workers 2 --out runs/compositions
    """
    if name == "list":
        rows = [{"name": it.name, "figures": it.figures, "title": it.title} for it in STUDIES.values()]
        show_rows(rows, as_json=as_json)
        return
    chosen = list(STUDIES.values()) if name == "all" else [study_named(name)]
    scale, workforce = Scale(jobs, replications), Workforce(workers, scheduler)
    folder = _folder(out, name)
    results: list[StudyResult] = []
    with workforce.assembled() as client:
        for one in chosen:
            with _progress(one.name) as tell:
                sweep = Sweep(client, folder / f"{one.name}.outcomes.jsonl", tell)
                results.append(conduct(one, scale, sweep))
                sweep.tidy()
            write_study(results[-1], folder)
    _show(results, as_json=as_json)
    print(f"Results: {folder}", file=sys.stderr)


def _folder(out: Path | None, name: str) -> Path:
    folder = Path("runs") / f"study-{name}-{datetime.now():%Y%m%d-%H%M%S}" if out is None else out
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{folder}: cannot be made a directory of results ({error.strerror or error}).") from error
    return folder


def _show(results: list[StudyResult], *, as_json: bool) -> None:
    if not as_json:
        for result in results:
            rows = [{column: row[column] for column in SHOWN} for row in claim_table(result)]
            show_rows(rows, as_json=False, title=result.study.title)
        return
    found = [
        {
            "study": result.study.name,
            "jobs": result.scale.jobs,
            "replications": result.scale.replications,
            "headline": result.headline,
            "claims": claim_table(result),
            "parts": part_table(result),
            "found": found_table(result),
        }
        for result in results
    ]
    print(json.dumps(found, indent=2))


@contextmanager
def _progress(name: str) -> Iterator[Tell]:
    """A bar on a screen, a line now and then where output goes to a file; on standard error either way."""
    if not sys.stderr.isatty():
        yield _Lines(name)
        return
    columns = (
        TextColumn(name),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[case]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        bar = bars.add_task(name, case="")
        yield lambda progress: bars.update(bar, completed=progress.done, total=progress.total, case=progress.key)


class _Lines:
    """Prints a line for every tenth of a sweep."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._last: tuple[int, int] | None = None

    def __call__(self, progress: SweepProgress) -> None:
        now = (progress.total, 10 * progress.done // max(1, progress.total))
        if now != self._last:
            self._last = now
            print(f"{self._name}: {progress.done} of {progress.total} simulations", file=sys.stderr, flush=True)
