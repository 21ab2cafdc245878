"""The verbs about single jobs: ``submit``, ``jobs`` and ``cancel``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from emulator.cli.standing import DEFAULT_NAME, NameOption
from emulator.cli.tables import JsonOption, show_rows
from emulator.client import BrokerClient
from emulator.containers.state import standing
from emulator.model.documents import read_document
from emulator.model.errors import RunFailed
from emulator.model.job import JobSpecification, JobState, Timeline
from emulator.model.views import STANDING_RUN, JobView, Submission


def register(app: typer.Typer) -> None:
    """Add the verbs of this file to `app`."""
    app.command()(submit)
    app.command("jobs")(list_jobs)
    app.command()(cancel)


def submit(
    file: Annotated[Path, typer.Argument(help="The job, in YAML.", metavar="JOB.yaml")],
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the job has ended.")] = False,
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """Submit a job.

    Example: testbed submit job.yaml --wait
    """
    specification = read_document(file, JobSpecification)
    state = standing(name)
    specification.request_in(state.topology)
    with BrokerClient(state.api_url, state.token) as client:
        job = client.submit(Submission(specification=specification))
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
    state = standing(name)
    with BrokerClient(state.api_url, state.token) as client:
        if job is None:
            _show(client.jobs(), as_json=as_json)
        elif as_json:
            print(client.job(job).model_dump_json(indent=2))
        else:
            show_rows(_details(client.job(job)), as_json=False)


def cancel(
    job: Annotated[int, typer.Argument(help="The job's number.")],
    name: NameOption = DEFAULT_NAME,
    as_json: JsonOption = False,
) -> None:
    """End a job wherever it is in its life.

    Example: testbed cancel 3
    """
    state = standing(name)
    with BrokerClient(state.api_url, state.token) as client:
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
