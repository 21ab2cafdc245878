"""The verb ``reproduce``: a published table measured again, each cell beside what was published, and claims decided."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from emulator.campaigns.conduct import Tell
from emulator.campaigns.matrix import DEFAULT_REPEAT, Layout
from emulator.campaigns.plan_records import Settled, kept_outcome
from emulator.campaigns.planning import planned_layout
from emulator.campaigns.published_tables import TABLES, Reproduction
from emulator.campaigns.reproduction import Planned, Reproduced, asked_in, reproduce, resume_reproduction
from emulator.campaigns.reproduction_claims import decided_claims
from emulator.campaigns.reproduction_rows import reproduction_rows
from emulator.campaigns.run_directory import replace_rows
from emulator.campaigns.standing_testbed import testbed_named
from emulator.cli.dilations import (
    AUTO,
    OUTCOMES_TITLE,
    DilationOption,
    EvenIfHopelessOption,
    announce,
    asked_dilation,
    outcome_table,
    settle,
)
from emulator.cli.matrix_words import numbers
from emulator.cli.run_paths import OutOption, run_path
from emulator.cli.run_progress import run_progress
from emulator.cli.standing import DEFAULT_NAME, NameOption
from emulator.cli.tables import JsonOption, show_rows
from emulator.model.documents import validate
from emulator.model.errors import Hopeless, InvalidInput, RunFailed, TestbedError
from emulator.model.reproduction import ReproductionRow
from emulator.model.topology import Topology
from emulator.reports.reproduction_pages import write_page
from emulator.reports.reproduction_tables import (
    QUANTITIES,
    claim_table,
    error_table,
    factor_table,
    part_table,
    reproduction_object,
    total_table,
)

LIST: Final = "list"
LARGEST_DILATION: Final = 32.0
"""At which a problem is measured that no dilation makes faithful: larger ones gain little and take as much longer."""


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command("reproduce")(reproduce_table)


def reproduce_table(
    table: Annotated[str, typer.Argument(help="A published table; `list` names them all.", metavar="NAME")],
    grids: Annotated[str, typer.Option("--grid", help="Grids to choose, or others: 50,1000.")] = "",
    processors: Annotated[str, typer.Option(help="Numbers of processors to choose, or others.")] = "",
    repeat: Annotated[int, typer.Option(help="Runs of each cell.")] = DEFAULT_REPEAT,
    iterations: Annotated[int | None, typer.Option(help="Length of each run; chosen for each problem.")] = None,
    dilation: DilationOption = AUTO,
    even_if_hopeless: EvenIfHopelessOption = False,
    time_scale: Annotated[
        float | None, typer.Option(help="Divides what computing takes; 60 for Ensflow, else 1.")
    ] = None,
    resume_directory: Annotated[
        Path | None, typer.Option("--resume", metavar="DIR", help="Run what is missing in that directory.")
    ] = None,
    out: OutOption = None,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Measure a published table of DAS-2 again: published, measured and error of each cell, and what became of claims.

    Example: testbed reproduce poisson-runtimes --grid 100,400,4000 --processors 16
    """
    if table == LIST:
        listed = [{"name": known, "title": it.title, "source": it.source} for known, it in TABLES.items()]
        show_rows(listed, as_json=as_json)
        return
    factor = asked_dilation(dilation)
    asked = validate(
        {
            "name": table,
            "grids": numbers("grid", grids) if grids else (),
            "processors": numbers("processors", processors) if processors else (),
            "repeat": repeat,
            "iterations": iterations,
            "dilation": factor,
            "time_scale": time_scale,
        },
        Reproduction,
        source="reproduce",
    )
    asked.problems()
    path = resume_directory or run_path(out, f"reproduce-{table}")
    with testbed_named(name) as testbed, _resumable(path, asked), run_progress() as tell:
        if resume_directory is not None:
            asked = _begun(asked, path)
        planned = _planner(testbed.topology, asked.dilation, tell, even_if_hopeless=even_if_hopeless)
        if resume_directory is None:
            reproduced = reproduce(testbed, asked, path, tell, planned)
        else:
            reproduced = resume_reproduction(testbed, path, tell, planned)
    _show(reproduced, path, as_json)
    if reproduced.failures:
        raise RunFailed(
            f"{len(reproduced.failures)} of the cells given up: {reproduced.failures[0].rstrip('.')} "
            f"(try again with `testbed reproduce {table} --resume {path}`)."
        )


def _planner(topology: Topology, asked: float | None, tell: Tell, *, even_if_hopeless: bool) -> Planned:
    """Settles the dilation of each problem, as asked or as planned, and says so.

    Where no dilation is faithful the problem is measured all the same: its verdict says what that is worth.
    """

    def planned(layout: Layout) -> Settled:
        run = planned_layout(layout, topology)
        try:
            settled = settle(run, asked, tell, even_if_hopeless=even_if_hopeless and asked is not None)
        except Hopeless as error:
            if asked is not None:
                raise
            print(f"{error} It is measured at {LARGEST_DILATION:g}.", file=sys.stderr)
            return settle(run, LARGEST_DILATION, tell, even_if_hopeless=True)
        announce(settled, planned=asked is None)
        return settled

    return planned


def _begun(asked: Reproduction, path: Path) -> Reproduction:
    """What was asked for when the reproduction in `path` began; only the table's name is said again."""
    begun = asked_in(path)
    if asked not in (begun, Reproduction(name=begun.name)):
        raise InvalidInput(
            f"--resume takes all but NAME from the directory, which holds {begun.name!r}: leave out what describes it."
        )
    return begun


@contextmanager
def _resumable(path: Path, asked: Reproduction) -> Iterator[None]:
    """If what is done in here ends early, say how it is taken up again."""
    try:
        yield
    except (KeyboardInterrupt, TestbedError):
        if path.is_dir() and any(it.is_dir() for it in path.iterdir()):
            print(f"What is measured is kept: `testbed reproduce {asked.name} --resume {path}`.", file=sys.stderr)
        raise


def _show(reproduced: Reproduced, path: Path, as_json: bool) -> None:
    table, rows = reproduced.asked.table, reproduction_rows(reproduced)
    claims = decided_claims(reproduced, rows)
    replace_rows(path, ReproductionRow, rows)
    page = write_page(reproduced, rows, claims, path)
    for sentence in reproduced.left_out:
        print(f"left out: {sentence}", file=sys.stderr)
    if as_json:
        print(json.dumps(reproduction_object(reproduced.asked.name, rows, claims, reproduced.left_out), indent=2))
        return
    for quantity in QUANTITIES:
        of_quantity = [row for row in rows if row.quantity == quantity]
        if of_quantity:
            show_rows(total_table(of_quantity), as_json=False, title=f"{table.heading}: {quantity}")
            show_rows(factor_table(of_quantity), as_json=False, title=f"Relative to pbs-1: {quantity}")
    show_rows(error_table(rows), as_json=False, title="Mean absolute errors (cells)")
    outcomes = [(part.path.name, found) for part in reproduced.parts if (found := kept_outcome(part.manifest))]
    if outcomes:
        show_rows(outcome_table([replace(it, name=name) for name, it in outcomes]), as_json=False, title=OUTCOMES_TITLE)
    if claims:
        show_rows(claim_table(claims), as_json=False, title="Claims")
        show_rows(part_table(claims), as_json=False)
    print(f"Page: {page}", file=sys.stderr)
    print(f"Records: {path}", file=sys.stderr)
