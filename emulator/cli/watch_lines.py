"""A watched testbed as lines: one for each change of a job, where no terminal shows a screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from emulator.cli.durations import duration
from emulator.cli.foreign_text import say
from emulator.model.counts import number_of
from emulator.model.escapes import escaped
from emulator.model.job import Timeline
from emulator.model.views import DEFAULT_RUN, EventKind, EventView, JobView, RunView
from emulator.watch.following import Back, Began, Happened, Lost, News


def say_news(news: News) -> None:
    """Print what is new, if it is something to say: jobs on standard output, the connection on standard error."""
    match news:
        case Began():
            say(_beginning(news), flush=True)
        case Happened(event):
            if sentence := event_sentence(event):
                say(f"{event.time_s:10.1f} s  {escaped(sentence)}", flush=True)
        case Lost(reason):
            say(f"testbed: {escaped(reason)} Trying again.", to_error=True, flush=True)
        case Back(after_host_s):
            say(f"testbed: the broker answers again, after {after_host_s:.0f} s.", to_error=True, flush=True)


def run_name(run: RunView) -> str:
    """Return how a run is called."""
    return "outside of runs" if run.id == DEFAULT_RUN else f"run {run.id} {run.request.name}"


def asked(job: JobView) -> str:
    """Return what a job asks for."""
    stated = job.specification
    if stated.clusters:
        return "+".join(f"{size} {name}" for size, name in zip(stated.components, stated.clusters, strict=False))
    return f"{'+'.join(str(size) for size in stated.components)} {stated.request}"


def placed(job: JobView) -> str:
    """Return where the components of a job are."""
    return "+".join(f"{part.processors} {part.cluster}" for part in job.components)


def event_sentence(event: EventView) -> str:
    """Return what an event changes, in words; empty if it changes no job and no cluster."""
    if event.job is not None and event.kind in _OF_A_JOB:
        job = event.job
        return f"job {job.id} {job.specification.name}: {_OF_A_JOB[event.kind](job, event.detail)}"
    if event.kind in _OF_A_RUN:
        return _OF_A_RUN[event.kind](event.detail)
    return ""


def _beginning(began: Began) -> str:
    request = began.run.request
    what = f"{run_name(began.run)}: policy {request.policy}, queue {request.queue}, K {request.dilation:g}"
    wait = "waits" if began.waiting == 1 else "wait"
    return f"{what}; {number_of(began.waiting, 'job')} {wait}, {began.active} placed or running"


def _finished(job: JobView) -> str:
    times = Timeline(job.submitted_s, job.placed_s, job.claimed_s, job.started_s, job.finished_s)
    return f"finished, waited {duration(times.wait_time_s)}, ran {duration(times.execution_time_s)}"


_OF_A_JOB: Final[Mapping[EventKind, Callable[[JobView, Mapping[str, object]], str]]] = {
    EventKind.SUBMITTED: lambda job, _: f"submitted, asks for {asked(job)} ({job.specification.application})",
    EventKind.PLACED: lambda job, _: f"placed on {placed(job)} after {number_of(job.placement_tries, 'try', 'tries')}",
    EventKind.COMPONENT_CLAIMED: lambda _, detail: f"claimed at {detail.get('cluster')}",
    EventKind.CLAIM_FAILED: lambda _, detail: (
        f"claiming try {detail.get('claiming_try')} failed at {detail.get('cluster')}: {detail.get('reason')}"
    ),
    EventKind.GIVEN_BACK: lambda _, detail: f"waits again, to be placed elsewhere: {detail.get('reason')}",
    EventKind.CLAIMED: lambda job, _: "has all its processors",
    EventKind.STARTED: lambda job, _: f"started on {placed(job)}",
    EventKind.FINISHED: lambda job, _: _finished(job),
    EventKind.FAILED: lambda job, _: f"failed: {job.reason}",
    EventKind.CANCELLED: lambda job, _: f"cancelled: {job.reason}" if job.reason else "cancelled",
}
_OF_A_RUN: Final[Mapping[EventKind, Callable[[Mapping[str, object]], str]]] = {
    EventKind.RUN_STARTED: lambda _: "the run starts",
    EventKind.RUN_ENDING: lambda _: "the run is being ended",
    EventKind.RUN_ENDED: lambda _: "the run has ended",
    EventKind.CLUSTER_LOST: lambda detail: f"cluster {detail.get('cluster')} is lost: {detail.get('reason')}",
    EventKind.CLUSTER_SILENT: lambda detail: (
        f"cluster {detail.get('cluster')} does not say how many processors are idle: {detail.get('reason')}"
    ),
    EventKind.CLUSTER_ANSWERS: lambda detail: f"cluster {detail.get('cluster')} answers again",
    EventKind.POLICY_FAILED: lambda detail: f"the policy failed: {detail.get('reason')}",
}
