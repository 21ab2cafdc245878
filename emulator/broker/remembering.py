"""Runs and jobs made again from the journal, as they were when its last event became durable.

A job is what its last event says. A discipline and its random numbers are those of the last snapshot, after the
decisions since then were made again: what was decided is the same, so what is remembered of it is the same. Nothing is
written and nothing is asked of anybody here; what was left half done is settled by `recovery`.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator

from emulator.broker.journal import Journal, KeptRun
from emulator.broker.runs import LiveJob, Run
from emulator.model.job import JobState, Timeline
from emulator.model.placement import Component, Placement
from emulator.model.topology import Topology
from emulator.model.views import STANDING_RUN, EventKind, EventView, JobView, RunState
from emulator.policies.claiming import ClaimingProcedure
from emulator.policies.decisions import Decision, recorded_decision
from emulator.policies.protocols import Departure
from emulator.policies.replaying import replay

log = logging.getLogger(__name__)


def remembered_runs(journal: Journal, topology: Topology) -> dict[int, Run]:
    """Every run that a former broker began, with its jobs."""
    runs = {kept.number: _run(kept, topology) for kept in journal.runs()}
    for event in journal.latest_of_each_job():
        if event.job is not None and event.run in runs:
            run = runs[event.run]
            run.add(_job_after(event.kind, event.job, run, topology))
    for run in runs.values():
        if run.state is RunState.RUNNING:
            _decide_again(run, journal, topology)
    return runs


def remembered_job(view: JobView, run: Run, topology: Topology) -> LiveJob:
    """The job of `run` that `view` shows."""
    return LiveJob(
        id=view.id,
        run=view.run,
        specification=view.specification,
        request=view.specification.request_in(topology),
        timeline=Timeline(view.submitted_s, view.placed_s, view.claimed_s, view.started_s, view.finished_s),
        queue=view.specification.queue_in(topology),
        intended_arrival_s=view.intended_arrival_s,
        state=view.state,
        reason=view.reason,
        tries=view.placement_tries,
        placement=_placement(view, topology),
        claiming=_next_try(view, run),
        claiming_tries=view.claiming_tries,
        claimed=_claimed(view),
        released_s=view.released_s,
        overhead_late_s=view.overhead_late_s,
        exit_code=view.exit_code,
        result=view.result,
    )


def _job_after(kind: EventKind, view: JobView, run: Run, topology: Topology) -> LiveJob:
    """The job after its last event; one that tells of a failed claim shows what was released with it."""
    if kind is EventKind.CLAIM_FAILED:
        released = tuple(part.model_copy(update={"allocation": None, "claimed_s": None}) for part in view.components)
        view = view.model_copy(update={"components": released})
    return remembered_job(view, run, topology)


def _run(kept: KeptRun, topology: Topology) -> Run:
    run = Run(kept.number, kept.request, topology)
    if kept.host_origin_s is not None:
        run.go_on(kept.host_origin_s)
    if kept.has_ended:
        run.state = RunState.ENDED
    return run


def _decide_again(run: Run, journal: Journal, topology: Topology) -> None:
    ended: dict[int, None] = {}
    decisions = _decisions(journal.since_snapshot(run.id), run, ended)
    first = next(decisions, None)
    if first is not None and first.snapshot is not None:
        run.deciders.restore(dict(first.snapshot))
    sizes = [cluster.processors for cluster in topology.clusters]
    replayed = replay(itertools.chain([first] if first else [], decisions), run.deciders, sizes)
    run.undeparted = tuple(run.jobs[number] for number in ended)
    for difference in replayed.differences[:1]:
        log.warning(
            "run %d: decision %d made again differs in its %s: %s was recorded, %s came of it",
            run.id, difference.number, difference.what, difference.recorded, difference.replayed,
        )  # fmt: skip


def _decisions(events: Iterator[EventView], run: Run, ended: dict[int, None]) -> Iterator[Decision]:
    """The decisions among `events`; at their end `ended` holds the placed jobs that ended and did not depart.

    A failure of the run's own code is told to `run` as it comes, and that it is being ended; the standing run goes on.
    """
    for event in events:
        if event.kind is EventKind.POLICY_FAILED:
            run.failure = str(event.detail.get("reason", ""))
        elif event.kind is EventKind.RUN_ENDING:
            run.is_ending = run.id != STANDING_RUN
        elif event.kind is EventKind.DECISION:
            decision = recorded_decision(event.detail)
            if isinstance(decision.event, Departure):
                ended.pop(decision.event.job_id, None)
            yield decision
        elif event.job is not None and event.job.state.final and event.job.components:
            ended[event.job.id] = None


def _placement(view: JobView, topology: Topology) -> Placement | None:
    """Where the job was placed. Its input file is looked for anew: what was brought for it is swept with the broker."""
    if not view.components:
        return None
    components = tuple(Component(topology.index(part.cluster), part.processors) for part in view.components)
    return Placement(components, transfer_s=view.estimated_transfer_s or 0.0)


def _next_try(view: JobView, run: Run) -> ClaimingProcedure | None:
    """The try after the last one that may have been begun, at the moment at which that was due."""
    if view.placed_s is None or view.claim_due_s is None or view.planned_start_s is None:
        return None
    stated = run.request.claiming
    begun = view.claiming_tries if _claimed(view) else view.claiming_tries + 1
    return ClaimingProcedure(
        stated=stated,
        placed_s=view.placed_s,
        transfer_s=view.estimated_transfer_s or 0.0,
        number=view.claiming_tries if view.state.final else begun + 1,
        claim_s=view.claim_due_s,
        start_s=view.planned_start_s,
        postponements=round((view.additional_claiming_s or 0.0) / stated.postponement_s),
    )


def _claimed(view: JobView) -> dict[str, tuple[str, float]]:
    return {
        part.cluster: (part.allocation, part.claimed_s)
        for part in view.components
        if part.allocation is not None and part.claimed_s is not None
    }


def was_interrupted(job: LiveJob) -> bool:
    """Whether a former broker had placed the job, and nobody follows it now."""
    return job.life is None and job.state in (JobState.CLAIMING, JobState.STARTING, JobState.RUNNING)
