"""Runs and jobs restored from the journal, as they were when its last event became durable.

A job is restored from its last event. A discipline and its random numbers are restored from the last snapshot; then the
decisions since that snapshot are replayed. The states that they were made on hold what placements had learned. The
default run, which is never ended, begins again with new deciders if its own failed: all jobs that waited in it have
failed with the reason. Nothing is written and no cluster is asked here; `recovery` settles unfinished jobs.
"""

from __future__ import annotations

import collections
import itertools
import logging
import sqlite3
from collections.abc import Iterator, Sequence

from emulator.broker.deciding import deciding
from emulator.broker.decision import defect
from emulator.broker.state.jobs import LiveJob
from emulator.broker.state.journal import Journal, StoredRun
from emulator.broker.state.runs import Run
from emulator.model.clock import EmulatedClock, boot_identity
from emulator.model.errors import InvalidInput, JournalFailed
from emulator.model.job import JobState, Timeline
from emulator.model.node_names import node_index
from emulator.model.placement import Component, Placement
from emulator.model.topology import Topology
from emulator.model.views import DEFAULT_RUN, EventKind, EventView, JobView, RunState
from emulator.policies.claiming_procedure import ClaimingProcedure
from emulator.policies.decisions import Decision, recorded_decision
from emulator.policies.protocols import Departure
from emulator.policies.replay import replay

log = logging.getLogger(__name__)


def restore_runs(journal: Journal, topology: Topology) -> dict[int, Run]:
    """Restore every run that a former broker began, with its unfinished jobs."""
    runs = {kept.number: _restore_run(kept, topology) for kept in journal.runs()}
    for event in journal.last_events_of_unfinished_jobs():
        if event.job is not None and event.run in runs:
            run = runs[event.run]
            run.add(_restore_after_event(event.kind, event.job, run, topology))
    for run in runs.values():
        if run.state is RunState.RUNNING:
            _replay_decisions(run, journal, topology)
    return runs


def restore_decisions(run: Run, journal: Journal, topology: Topology) -> None:
    """Restore the discipline of `run` to what its decisions in the journal made of it; others are forgotten."""
    try:
        run.decide_anew(deciding(run.request, topology))
        _replay_decisions(run, journal, topology)
    except InvalidInput as error:
        run.failure = str(error)


def restore_job(view: JobView, run: Run, topology: Topology) -> LiveJob:
    """Restore the job of `run` that `view` shows."""
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
        placement=_restore_placement(view, topology),
        claiming=_restore_claiming(view, run),
        claiming_tries=view.claiming_tries,
        claimed=_claimed_components(view),
        released_s=view.released_s,
        overhead_late_s=view.overhead_late_s,
        exit_code=view.exit_code,
        result=view.result,
    )


def _restore_after_event(kind: EventKind, view: JobView, run: Run, topology: Topology) -> LiveJob:
    """Restore a job after its last event; the event of a failed claim still shows what was released."""
    if kind is EventKind.CLAIM_FAILED:
        released = tuple(part.model_copy(update={"allocation": None, "claimed_s": None}) for part in view.components)
        view = view.model_copy(update={"components": released})
    return restore_job(view, run, topology)


def _restore_run(kept: StoredRun, topology: Topology) -> Run:
    """Restore a run; the sources of one that has ended are not executed again."""
    made, failure = None, ""
    if not kept.has_ended:
        try:
            made = deciding(kept.request, topology)
        except InvalidInput as error:
            failure = str(error)
    run = Run(kept.number, kept.request, made)
    run.failure = failure
    if kept.host_origin_s is not None:
        monotonic_s = kept.host_monotonic_origin_s if kept.boot and kept.boot == boot_identity() else None
        run.resume_clock(EmulatedClock.resumed(run.dilation, kept.host_origin_s, monotonic_s))
    if kept.has_ended:
        run.state = RunState.ENDED
    return run


def _replay_decisions(run: Run, journal: Journal, topology: Topology) -> None:
    """Have the deciders of `run` make its decisions again; if they fail, the run has failed, and not the broker.

    Of a run that has failed before, only its end is read.
    """
    ended: dict[int, JobView] = {}
    decisions = _read_decisions(journal.since_snapshot(run.id), run, ended)
    try:
        if not run.failure:
            _make_again(decisions, run, [cluster.processors for cluster in topology.clusters])
    except (sqlite3.Error, JournalFailed):
        raise
    except InvalidInput as error:
        run.failure = str(error)
    except Exception as error:
        log.exception("run %d: the testbed's own deciders could not be restored", run.id)
        run.failure = defect(run, error)
    collections.deque(decisions, maxlen=0)  # what follows the failure, such as the run's ending, counts
    run.undecided_departures = tuple(
        Departure(view.id, placement)
        for view in ended.values()
        if (placement := _restore_placement(view, topology)) is not None
    )
    if run.failure and run.id == DEFAULT_RUN:
        log.warning("run %d begins again, its deciders had failed: %s", run.id, run.failure)
        run.begin_again(deciding(run.request, topology))


def _make_again(decisions: Iterator[Decision], run: Run, sizes: Sequence[int]) -> None:
    first = next(decisions, None)
    if first is not None and first.snapshot is not None:
        run.deciders.restore(dict(first.snapshot))
    replayed = replay(itertools.chain([first] if first else [], decisions), run.deciders, sizes)
    for difference in replayed.differences[:1]:
        log.warning(
            "run %d: decision %d made again differs in its %s: %s was recorded, %s came of it",
            run.id, difference.number, difference.what, difference.recorded, difference.replayed,
        )  # fmt: skip


def _read_decisions(events: Iterator[EventView], run: Run, ended: dict[int, JobView]) -> Iterator[Decision]:
    """Yield the decisions among `events`; in the end `ended` holds jobs that left their placement without a departure.

    A failure of the run's deciders, and its ending, are set in `run` as they come; the default run goes on.
    """
    not_claimed: dict[int, JobView] = {}
    for event in events:
        if event.kind is EventKind.POLICY_FAILED:
            run.failure, run.failure_is_recorded = str(event.detail.get("reason", "")), True
        elif event.kind is EventKind.RUN_ENDING:
            run.is_ending = run.is_ending or run.id != DEFAULT_RUN
        elif event.kind is EventKind.DECISION:
            decision = recorded_decision(event.detail)
            run.keep_history(decision)
            if isinstance(decision.event, Departure):
                ended.pop(decision.event.job_id, None)
            yield decision
        elif event.job is not None and event.kind is EventKind.CLAIM_FAILED:
            not_claimed[event.job.id] = event.job
        elif event.job is not None and event.kind is EventKind.GIVEN_BACK and event.job.id in not_claimed:
            ended[event.job.id] = not_claimed.pop(event.job.id)
        elif event.job is not None and event.job.state.final and event.job.components:
            ended[event.job.id] = event.job


def _restore_placement(view: JobView, topology: Topology) -> Placement | None:
    """Restore the placement without file sites, since replicas brought for the job are removed on a restart."""
    if not view.components:
        return None
    components = tuple(
        Component(topology.index(part.cluster), part.processors, tuple(map(node_index, part.nodes)))
        for part in view.components
    )
    return Placement(components, transfer_s=view.estimated_transfer_s or 0.0)


def _restore_claiming(view: JobView, run: Run) -> ClaimingProcedure | None:
    """Restore the try after the last one that may have begun, due at the same time as that one."""
    if view.placed_s is None or view.claim_due_s is None or view.planned_start_s is None:
        return None
    stated = run.request.claiming
    begun = view.claiming_tries if _claimed_components(view) else view.claiming_tries + 1
    return ClaimingProcedure(
        stated=stated,
        placed_s=view.placed_s,
        transfer_s=view.estimated_transfer_s or 0.0,
        number=view.claiming_tries if view.state.final else begun + 1,
        claim_s=view.claim_due_s,
        start_s=view.planned_start_s,
        postponements=round((view.additional_claiming_s or 0.0) / stated.postponement_s),
    )


def _claimed_components(view: JobView) -> dict[str, tuple[str, float]]:
    return {
        part.cluster: (part.allocation, part.claimed_s)
        for part in view.components
        if part.allocation is not None and part.claimed_s is not None
    }


def was_interrupted(job: LiveJob) -> bool:
    """Return whether a former broker had placed the job, and it has no execution now."""
    return job.execution is None and job.state in (JobState.CLAIMING, JobState.STARTING, JobState.RUNNING)
