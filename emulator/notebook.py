"""A testbed in a notebook: its jobs, queue, clusters and events as pandas tables.

    from emulator.notebook import Testbed

    grid = Testbed.running()
    grid.submit(application="poisson", arguments={"grid": 400}, components=[8, 8])
    grid.jobs()[["job", "state", "wait_time_s"]]

A column that means the same as one of ``jobs.csv`` has the same name (docs/formats.md).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

import pandas

from emulator.client import BrokerClient
from emulator.containers.state import testbed_state
from emulator.model.documents import read_document, validate
from emulator.model.job import JobSpecification, Timeline
from emulator.model.names import DEFAULT_TESTBED, NAME_VARIABLE
from emulator.model.views import (
    DEFAULT_RUN,
    ClusterView,
    EventView,
    JobView,
    OutputView,
    QueueEntryView,
    Submission,
)

DERIVED: Final = ("queue_time_s", "overhead_s", "wait_time_s", "execution_time_s", "response_time_s")
RECORDED: Final = ("iterations", "runtime_s", "iteration_s", "phases", "late_phases")
"""The columns of ``jobs.csv`` that a job's application reports itself."""

_TIMESTAMPS: Final = (
    "intended_arrival_s",
    "submitted_s",
    "placed_s",
    "claimed_s",
    "started_s",
    "finished_s",
    "released_s",
)
_JOB_COLUMNS: Final = (
    *("job", "run", "name", "application", "arguments", "request", "components", "requested_clusters", "processors"),
    *("state", "reason", "placement_tries", "execution_clusters", "clusters"),
    *_TIMESTAMPS,
    *DERIVED,
    *("overhead_late_s", "exit_code"),
    *RECORDED,
)


Job = JobSpecification | Mapping[str, Any] | Path | str | None
"""A job as a specification, as the keys of one, or as the path of a job file."""


class Testbed:
    """A running testbed, whose broker is at `api_url`. Every method raises what `BrokerClient` raises."""

    __test__ = False  # no test, whatever its name begins with

    def __init__(self, api_url: str, token: str) -> None:
        self.client = BrokerClient(api_url, token)

    @classmethod
    def running(cls, name: str | None = None) -> Self:
        """Return the testbed called `name` on this host; by default the one that the command `testbed` uses.

        Raises:
            TestbedNotUp: if none of that name runs.
        """
        state = testbed_state(name or os.environ.get(NAME_VARIABLE) or DEFAULT_TESTBED)
        return cls(state.api_url, state.token)

    def submit(
        self,
        job: Job = None,
        *,
        key: str | None = None,
        **more: Any,
    ) -> int:
        """Submit a job and return its number.

        `job` is a specification, the path of a job file, or the keys of one; `more` adds keys or replaces them. With a
        `key`, the same submission made again gives the same job.

        Raises:
            InvalidInput: if `job` and `more` do not describe a job.
        """
        specification = _specification(job, more)
        submission = Submission(specification=specification, key=key)
        return (self.client.submit(submission) if key is None else self.client.submit_surely(submission)).id

    def cancel(self, job: int) -> None:
        """Cancel a job that waits, starts or runs."""
        self.client.cancel(job)

    def output(self, job: int) -> OutputView:
        """Return what a job wrote."""
        return self.client.output(job)

    def jobs(self, run: int | None = None) -> pandas.DataFrame:
        """Return the jobs of `run`, or all jobs, one per row, as in ``jobs.csv``."""
        return _table([_job_row(job) for job in self.client.jobs(run)], _JOB_COLUMNS)

    def queue(self) -> pandas.DataFrame:
        """Return the waiting jobs in the order in which they would be tried."""
        return _table([entry.model_dump() for entry in self.client.queue()], tuple(QueueEntryView.model_fields))

    def clusters(self) -> pandas.DataFrame:
        """Return the clusters as their local resource managers report them now."""
        return _table([cluster.model_dump() for cluster in self.client.clusters()], tuple(ClusterView.model_fields))

    def events(self, run: int = DEFAULT_RUN, after: int = 0) -> pandas.DataFrame:
        """Return the events of `run` so far, above the number `after`.

        `job` and `state` are empty if an event belongs to no job.
        """
        rows: list[dict[str, Any]] = []
        while page := self.client.events(run, after=after, host_wait_s=0.0):
            rows += [_event_row(event) for event in page]
            after = page[-1].sequence
        return _table(rows, ("sequence", "run", "kind", "time_s", "host_moment_s", "job", "state", "detail"))


def _specification(job: Job, more: dict[str, Any]) -> JobSpecification:
    if isinstance(job, Path | str):
        job = read_document(Path(job), JobSpecification)
    stated = job.model_dump(exclude_unset=True) if isinstance(job, JobSpecification) else job or {}
    return validate({**stated, **more}, JobSpecification, source="job")


def _table(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> pandas.DataFrame:
    return pandas.DataFrame(rows, columns=list(columns))


def _job_row(job: JobView) -> dict[str, Any]:
    specification, result = job.specification, job.result or {}
    times = Timeline(job.submitted_s, job.placed_s, job.claimed_s, job.started_s, job.finished_s)
    executed_on = [part.cluster for part in job.components]
    return {
        "job": job.id,
        "run": job.run,
        "name": specification.name,
        "application": specification.application,
        "arguments": specification.arguments,
        "request": specification.request.value,
        "components": specification.components,
        "requested_clusters": specification.clusters,
        "processors": sum(specification.components),
        "state": job.state.value,
        "reason": job.reason,
        "placement_tries": job.placement_tries,
        "execution_clusters": tuple(executed_on),
        "clusters": len(set(executed_on)) or None,
        "overhead_late_s": job.overhead_late_s,
        "exit_code": job.exit_code,
        **{timestamp: getattr(job, timestamp) for timestamp in _TIMESTAMPS},
        **{derived: getattr(times, derived) for derived in DERIVED},
        **{name: result.get(name) for name in RECORDED},
    }


def _event_row(event: EventView) -> dict[str, Any]:
    job = event.job
    return {
        **event.model_dump(exclude={"job", "kind"}),
        "kind": event.kind.value,
        "job": None if job is None else job.id,
        "state": None if job is None else job.state.value,
    }
