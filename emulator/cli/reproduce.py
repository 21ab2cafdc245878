"""The verb ``reproduce``: a published table measured again, published values beside it, and its claims decided."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from emulator.cli.dilations import AUTO, DilationOption, EvenIfHopelessOption, parse_dilation
from emulator.cli.foreign_text import say
from emulator.cli.given_options import refuse_given
from emulator.cli.matrix_options import numbers
from emulator.cli.options import DEFAULT_NAME, JsonOption, NameOption, OutOption, run_path
from emulator.cli.progress import run_progress
from emulator.cli.required_verdict import RequireOption, check_required
from emulator.cli.tables import show_rows
from emulator.fidelity.verdict import Judgement
from emulator.model.cell_rows import ReproductionRow
from emulator.model.documents import validate
from emulator.model.errors import InvalidInput, RunFailed, TestbedError
from emulator.reports.claim_tables import claim_table, part_table
from emulator.reports.reproduction_pages import write_page
from emulator.reports.reproduction_tables import QUANTITIES, error_table, factor_table, reproduction_object, total_table
from emulator.runs.container_testbed import testbed_named
from emulator.runs.matrix import DEFAULT_REPEAT
from emulator.runs.run_directory import replace_rows
from emulator.studies.claims import decide
from emulator.studies.published_tables import TABLES, Reproduction
from emulator.studies.reproduction import Reproduced, read_reproduction, reproduce, resume_reproduction
from emulator.studies.reproduction_claims import reproduction_claims
from emulator.studies.reproduction_rows import reproduction_rows

LIST: Final = "list"


def register(app: typer.Typer) -> None:
    """Add the verb of this file to `app`."""
    app.command("reproduce")(reproduce_table)


def reproduce_table(
    context: typer.Context,
    table: Annotated[str, typer.Argument(help="A published table; `list` names them all.", metavar="NAME")],
    grids: Annotated[str, typer.Option("--grid", help="Grids to choose, or others: 50,1000.")] = "",
    processors: Annotated[str, typer.Option(help="Numbers of processors to choose, or others.")] = "",
    repeat: Annotated[int, typer.Option(help="Runs of each cell.")] = DEFAULT_REPEAT,
    iterations: Annotated[int | None, typer.Option(help="Length of each run; chosen for each problem.")] = None,
    dilation: DilationOption = AUTO,
    even_if_hopeless: EvenIfHopelessOption = False,
    processor_speed: Annotated[
        float | None, typer.Option(help="How many times as fast processors compute; 60 for Ensflow, else 1.")
    ] = None,
    resume_directory: Annotated[
        Path | None, typer.Option("--resume", metavar="DIR", help="Run what is missing in that directory.")
    ] = None,
    require: RequireOption = Judgement.SUSPECT,
    out: OutOption = None,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Measure a published table of DAS-2 again: each cell with its published value and error, and the claims.

    Example: testbed reproduce poisson-runtimes --grid 100,400,4000 --processors 16
    """
    if table.lower() == LIST:
        listed = [{"name": known, "title": found.title, "source": found.source} for known, found in TABLES.items()]
        show_rows(listed, as_json=as_json)
        return
    reproduction = _stated_reproduction(
        table, grids, processors, repeat, iterations, parse_dilation(dilation), processor_speed
    )
    if resume_directory is not None:
        refuse_given(context, {"out"}, "what --resume runs goes into its own directory")
    path = resume_directory or run_path(out, f"reproduce-{table}")
    with testbed_named(name) as testbed, _resumable(path, reproduction), run_progress() as report_progress:
        if resume_directory is not None:
            reproduction = _begun(reproduction, path)
        if resume_directory is None:
            reproduced = reproduce(testbed, reproduction, path, report_progress, even_if_hopeless=even_if_hopeless)
        else:
            reproduced = resume_reproduction(testbed, path, report_progress, even_if_hopeless=even_if_hopeless)
    _show(reproduced, path, as_json)
    if reproduced.failures:
        raise RunFailed(
            f"{len(reproduced.failures)} of the cells given up: {reproduced.failures[0].rstrip('.')} "
            f"(try again with `testbed reproduce {table} --resume {path}`)."
        )
    check_required(require, [part.manifest.verdict for part in reproduced.parts])


def _stated_reproduction(
    table: str,
    grids: str,
    processors: str,
    repeat: int,
    iterations: int | None,
    dilation: float | None,
    processor_speed: float | None,
) -> Reproduction:
    """Return what the options ask for.

    Raises:
        InvalidInput: if the table has no such problems, or an option's value cannot be meant.
    """
    stated = {
        "name": table,
        "grids": numbers("grid", grids) if grids else (),
        "processors": numbers("processors", processors) if processors else (),
        "repeat": repeat,
        "iterations": iterations,
        "dilation": dilation,
        "processor_speed": processor_speed,
    }
    reproduction = validate(stated, Reproduction, source="reproduce")
    reproduction.problems()
    return reproduction


def _begun(reproduction: Reproduction, path: Path) -> Reproduction:
    """Return what was asked for when the reproduction in `path` began; beside it only the table's name may be given."""
    begun = read_reproduction(path)
    if reproduction not in (begun, Reproduction(name=begun.name)):
        raise InvalidInput(
            f"--resume takes all but NAME from the directory, which holds {begun.name!r}: leave out what describes it."
        )
    return begun


@contextmanager
def _resumable(path: Path, reproduction: Reproduction) -> Iterator[None]:
    """Say how to resume the reproduction if the context ends early."""
    try:
        yield
    except (KeyboardInterrupt, TestbedError):
        if path.is_dir() and any(part.is_dir() for part in path.iterdir()):
            print(
                f"What is measured is kept: `testbed reproduce {reproduction.name} --resume {path}`.", file=sys.stderr
            )
        raise


def _show(reproduced: Reproduced, path: Path, as_json: bool) -> None:
    table, rows = reproduced.reproduction.table, reproduction_rows(reproduced)
    claims = [decide(claim) for claim in reproduction_claims(reproduced, rows)]
    replace_rows(path, ReproductionRow, rows)
    page = write_page(reproduced, rows, claims, path)
    for sentence in reproduced.left_out:
        say(f"left out: {sentence}", to_error=True)
    if as_json:
        print(
            json.dumps(reproduction_object(reproduced.reproduction.name, rows, claims, reproduced.left_out), indent=2)
        )
        return
    for quantity in QUANTITIES:
        of_quantity = [row for row in rows if row.quantity == quantity]
        if of_quantity:
            show_rows(total_table(of_quantity), as_json=False, title=f"{table.heading}: {quantity}")
            show_rows(factor_table(of_quantity), as_json=False, title=f"Relative to pbs-1: {quantity}")
    show_rows(error_table(rows), as_json=False, title="Mean absolute errors (cells)")
    if claims:
        show_rows(claim_table(claims), as_json=False, title="Claims")
        show_rows(part_table(claims), as_json=False)
    print(f"Page: {page}", file=sys.stderr)
    print(f"Records: {path}", file=sys.stderr)
