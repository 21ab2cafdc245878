"""The verb ``submit``: a job for the broker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from emulator.cli.completion import documents
from emulator.cli.job_tables import ended_job, show_jobs
from emulator.cli.options import DEFAULT_NAME, JsonOption, NameOption
from emulator.cli.testbeds import broker_of
from emulator.model.documents import read_document, validate
from emulator.model.errors import InvalidInput, RunFailed
from emulator.model.job import JobSpecification, JobState
from emulator.model.views import Submission


def register(app: typer.Typer) -> None:
    """Add the verb to `app`."""
    app.command()(submit)


def submit(
    file: Annotated[
        Path | None, typer.Argument(help="The job, in YAML or JSON.", metavar="[JOB.yaml]", autocompletion=documents)
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(help="A name for this submission: the same one again gives the same job instead of another."),
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Only print the JSON schema of a job file.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the job has ended.")] = False,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Submit a job.

    Example: testbed submit job.yaml --key night-1 --wait
    """
    if schema:
        from emulator.cli.document_kinds import schema_text

        print(schema_text("job"), end="")
        return
    if file is None:
        raise InvalidInput("A job file is missing: name one, or see with `testbed schema job` what it holds.")
    from emulator.containers.state import testbed_state

    specification = read_document(file, JobSpecification)
    submission = validate({"specification": specification, "key": key}, Submission, source="submit")
    specification.request_in(testbed_state(name).topology)
    with broker_of(name) as client:
        job = client.submit(submission) if key is None else client.submit_surely(submission)
        if wait:
            job = ended_job(client, job)
    show_jobs([job], as_json=as_json)
    if wait and job.state is not JobState.FINISHED:
        raise RunFailed(f"Job {job.id} ({job.specification.name}) {job.state.value}: {job.reason.rstrip('.')}.")
