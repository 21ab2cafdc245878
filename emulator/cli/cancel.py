"""The verb ``cancel``: end a job."""

from __future__ import annotations

from typing import Annotated

import typer

from emulator.cli.job_tables import ended_job, show_jobs
from emulator.cli.options import DEFAULT_NAME, JsonOption, NameOption
from emulator.cli.testbeds import broker_of


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command()(cancel)


def cancel(
    job: Annotated[int, typer.Argument(help="The job's number.")],
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Cancel a job that waits, starts or runs.

    Example: testbed cancel 3
    """
    with broker_of(name) as client:
        client.cancel(job)
        show_jobs([ended_job(client, client.job(job))], as_json=as_json)
