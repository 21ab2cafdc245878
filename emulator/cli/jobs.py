"""The verb ``jobs``: the jobs that the broker knows."""

from __future__ import annotations

from typing import Annotated

import typer

from emulator.cli.job_tables import show_job, show_jobs
from emulator.cli.options import DEFAULT_NAME, JsonOption, NameOption
from emulator.cli.testbeds import broker_of


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command("jobs")(list_jobs)


def list_jobs(
    job: Annotated[int | None, typer.Argument(help="One job's number; all jobs if left out.")] = None,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """List the jobs that the broker knows, or show all that it knows of one.

    Example: testbed jobs 3 --json
    """
    with broker_of(name) as client:
        if job is None:
            show_jobs(client.jobs(), as_json=as_json)
        else:
            show_job(client.job(job), as_json=as_json)
