"""The verbs that speak to the broker: ``submit``, ``jobs``, ``queue``, ``clusters``, ``output`` and ``cancel``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from emulator.cli.brokers import broker_of
from emulator.cli.standing import DEFAULT_NAME, NameOption
from emulator.cli.tables import JsonOption, show_rows
from emulator.client import BrokerClient
from emulator.containers.state import standing
from emulator.model.documents import read_document, validate
from emulator.model.errors import InvalidInput, RunFailed
from emulator.model.job import JobSpecification, JobState, Timeline
from emulator.model.views import STANDING_RUN, JobView, QueueEntryView, Submission


def register(app: typer.Typer) -> None:
    """Add the verbs of this file to `app`."""
    app.command()(submit)
    app.command("jobs")(list_jobs)
    app.command("queue")(show_queue)
    app.command("clusters")(show_clusters)
    app.command("output")(show_output)
    app.command()(cancel)


def submit(
    file: Annotated[Path | None, typer.Argument(help="The job, in YAML or JSON.", metavar="[JOB.yaml]")] = None,
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
        print(json.dumps(JobSpecification.model_json_schema(), indent=2))
        return
    if file is None:
        raise InvalidInput("A job file is missing: name one, or see with `testbed submit --schema` what it holds.")
    specification = read_document(file, JobSpecification)
    submission = validate({"specification": specification, "key": key}, Submission, source="submit")
    specification.request_in(standing(name).topology)
    with broker_of(name) as client:
        job = client.submit(submission) if key is None else client.submit_surely(submission)
        if wait:
            job = _awaited(client, job)
    _show([job], as_json=as_json)
    if wait and job.state is not JobState.FINISHED:
        raise RunFailed(f"Job {job.id} ({job.specification.name}) {job.state.value}: {job.reason.rstrip('.')}.")


def list_jobs(
    job: Annotated[int | None, typer.Argument(help="One job's number; all jobs if left out.")] = None,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """The jobs the broker knows, or all it knows of one.

    Example: testbed jobs 3 --json
    """
    with broker_of(name) as client:
        if job is None:
            _show(client.jobs(), as_json=as_json)
        elif as_json:
            print(client.job(job).model_dump_json(indent=2))
        else:
            show_rows(_details(client.job(job)), as_json=False)


def show_queue(name: NameOption = DEFAULT_NAME, as_json: JsonOption = False) -> None:
    """The jobs that wait, in the order in which they would be tried.

    Example: testbed queue --json
    """
    with broker_of(name) as client:
        entries = client.queue()
    if as_json:
        print(json.dumps([entry.model_dump(mode="json") for entry in entries], indent=2))
    elif entries:
        show_rows([_queue_row(entry) for entry in entries], as_json=False)
    else:
        print("No job waits.")


def show_clusters(name: NameOption = DEFAULT_NAME, as_json: JsonOption = False) -> None:
    """The clusters as their local resource managers report them now.

    Example: testbed clusters --json
    """
    with broker_of(name) as client:
        show_rows([cluster.model_dump(mode="json") for cluster in client.clusters()], as_json=as_json)


def show_output(
    job: Annotated[int, typer.Argument(help="The job's number.")],
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """What a job wrote: its standard output, and on standard error its standard error.

    Example: testbed output 3
    """
    with broker_of(name) as client:
        written = client.output(job)
    if as_json:
        print(written.model_dump_json(indent=2))
        return
    print(written.output, end="" if written.output.endswith("\n") or not written.output else "\n")
    print(written.error, end="" if written.error.endswith("\n") or not written.error else "\n", file=sys.stderr)


def cancel(
    job: Annotated[int, typer.Argument(help="The job's number.")],
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """End a job wherever it is in its life.

    Example: testbed cancel 3
    """
    with broker_of(name) as client:
        client.cancel(job)
        _show([_awaited(client, client.job(job))], as_json=as_json)


def _awaited(client: BrokerClient, job: JobView) -> JobView:
    """The job once it has ended."""
    if job.state.final:
        return job
    for event in client.follow(job.run):
        if event.job is not None and event.job.id == job.id and event.job.state.final:
            return event.job
    return client.job(job.id)


def _show(jobs: list[JobView], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([job.model_dump(mode="json") for job in jobs], indent=2))
        return
    if not jobs:
        print("The broker knows no jobs.")
        return
    show_rows([_row(job) for job in jobs], as_json=False)


def _row(job: JobView) -> dict[str, Any]:
    times = Timeline(job.submitted_s, job.placed_s, job.claimed_s, job.started_s, job.finished_s)
    return {
        "job": job.id,
        "run": "" if job.run == STANDING_RUN else job.run,
        "name": job.specification.name,
        "application": job.specification.application,
        "components": "+".join(str(size) for size in job.specification.components),
        "clusters": "+".join(part.cluster for part in job.components),
        "state": job.state.value,
        "wait (s)": times.wait_time_s,
        "execution (s)": times.execution_time_s,
    }


def _queue_row(entry: QueueEntryView) -> dict[str, Any]:
    return {
        "position": entry.position,
        "job": entry.job,
        "name": entry.name,
        "application": entry.application,
        "request": entry.request,
        "components": "+".join(str(size) for size in entry.components),
        "waited (s)": entry.waited_s,
        "tries": entry.placement_tries,
    }


def _details(job: JobView) -> list[dict[str, Any]]:
    shown = job.model_dump(mode="json", exclude={"specification", "components", "result"})
    parts = {
        **_row(job),
        "reason": job.reason,
        **{key: value for key, value in shown.items() if key.endswith("_s")},
        **(job.result or {}),
    }
    return [{"quantity": key, "value": _plain(value)} for key, value in parts.items()]


def _plain(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list) else value
