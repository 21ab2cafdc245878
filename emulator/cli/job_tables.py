"""Jobs of the broker, printed: the table of several jobs, and the details of one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from emulator.cli.tables import show_rows
from emulator.model.job import Timeline
from emulator.model.views import DEFAULT_RUN, JobView

if TYPE_CHECKING:
    from emulator.client import BrokerClient


def ended_job(client: BrokerClient, job: JobView) -> JobView:
    """Wait until `job` has ended, and return it as it is then."""
    # Asked first: if the job has not ended after that, its end is a later event.
    last_event = client.page_now().last_event
    job = client.job(job.id)
    if job.state.final:
        return job
    for event in client.follow(job.run, after=last_event):
        if event.job is not None and event.job.id == job.id and event.job.state.final:
            return event.job
    return client.job(job.id)


def show_jobs(jobs: Sequence[JobView], *, as_json: bool) -> None:
    """Print one row for each job."""
    if as_json:
        print(json.dumps([job.model_dump(mode="json") for job in jobs], indent=2))
    elif jobs:
        show_rows([_row(job) for job in jobs], as_json=False)
    else:
        print("The broker knows no jobs.")


def show_job(job: JobView, *, as_json: bool) -> None:
    """Print all that is known of a job."""
    if as_json:
        print(json.dumps(job.model_dump(mode="json"), indent=2))
        return
    shown = job.model_dump(mode="json", exclude={"specification", "components", "result"})
    values = {
        **_row(job),
        "reason": job.reason,
        **{key: value for key, value in shown.items() if key.endswith("_s")},
        **(job.result or {}),
    }
    show_rows([{"quantity": key, "value": _plain(value)} for key, value in values.items()], as_json=False)


def _row(job: JobView) -> dict[str, Any]:
    times = Timeline(job.submitted_s, job.placed_s, job.claimed_s, job.started_s, job.finished_s)
    return {
        "job": job.id,
        "run": "" if job.run == DEFAULT_RUN else job.run,
        "name": job.specification.name,
        "application": job.specification.application,
        "components": "+".join(str(size) for size in job.specification.components),
        "clusters": "+".join(part.cluster for part in job.components),
        "state": job.state.value,
        "wait (s)": times.wait_time_s,
        "execution (s)": times.execution_time_s,
    }


def _plain(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list) else value
