"""One scheduling decision: the clusters' readings become the policy's state, and the discipline answers.

The result is a `Decision`, from which the same decision can be made again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from emulator.broker.readings import Reading
from emulator.broker.state.jobs import LiveJob
from emulator.broker.state.runs import Run
from emulator.model.errors import InvalidInput
from emulator.model.node_names import node_name
from emulator.model.topology import Topology
from emulator.model.views import DEFAULT_RUN
from emulator.policies.answer_checks import check_answers, check_history
from emulator.policies.decisions import SNAPSHOT_EVERY, Decision
from emulator.policies.nodes.changes import occupied, replace_nodes
from emulator.policies.nodes.checks import check_nodes_of_answers
from emulator.policies.nodes.stated import empty_nodes
from emulator.policies.protocols import Scan, SchedulingEvent, Start
from emulator.policies.state import NOTHING_ELSE, NodeState, RunningJob, Surroundings, SystemState

log = logging.getLogger(__name__)
DEFECT = (
    "Queue {queue!r} with policy {policy!r} raised {kind} ({error}), a defect of the testbed: `testbed logs broker` "
    "shows where, please report it."
)
AGAIN = " Run 0 begins again, with an empty queue, when the next job is submitted to it."


def system_state(
    readings: Sequence[Reading | None],
    placed: Sequence[LiveJob],
    topology: Topology,
    time_s: float,
    surroundings: Surroundings = NOTHING_ELSE,
) -> SystemState:
    """Return the state that a policy decides on: the idle processors less those that were given away since the reading.

    These are the processors of every component whose grant was not known when its cluster was asked. So a processor
    never counts as idle if it is busy or was given to a job since the reading. Some idle ones may be missed: processors
    of an allocation that was granted, but whose event had not arrived, are subtracted twice. `CapacityPoller` finds
    them later.
    """
    idle = [reading.occupancy.idle if reading and reading.occupancy else 0 for reading in readings]
    held = [0] * len(idle)
    for job in placed:
        for cluster, size in job.placement.by_cluster().items() if job.placement else ():
            held[cluster] += size
            if not _knows(readings[cluster], topology.clusters[cluster].name, job):
                idle[cluster] = max(0, idle[cluster] - size)
    processors = tuple(cluster.processors for cluster in topology.clusters)
    # A real partition may be larger than the topology says: what jobs hold counts towards the stated processors.
    usable = tuple(
        max(0, min(free, size - of_jobs)) for free, size, of_jobs in zip(idle, processors, held, strict=True)
    )
    return SystemState(processors, usable, time_s, surroundings)


def with_shared_nodes(
    state: SystemState, placed: Sequence[LiveJob], readings: Sequence[Reading | None], topology: Topology
) -> SystemState:
    """Return `state` with the nodes of each cluster, and the tasks of the `placed` jobs on those that a policy chose.

    As many processors are idle as these nodes may run further tasks. A cluster that does not answer has no nodes, and a
    node that its local manager does not use takes no further task.
    """
    nodes = empty_nodes(topology)
    for job in placed:
        if job.placement is not None:
            nodes = occupied(nodes, job.id, job.request, job.placement)
    answering = tuple(
        _usable(of_cluster, reading) if reading else () for of_cluster, reading in zip(nodes, readings, strict=True)
    )
    idle = tuple(
        sum(max(0, (node.most_tasks or 0) - len(node.tasks)) for node in of_cluster) for of_cluster in answering
    )
    return replace_nodes(SystemState(state.processors, idle, state.time_s, state.surroundings), answering)


def _usable(nodes: Sequence[NodeState], reading: Reading) -> tuple[NodeState, ...]:
    """Return `nodes`, where those that the local manager does not use take no task, also when theirs have ended."""
    unusable = reading.occupancy.unusable if reading.occupancy else frozenset[str]()
    return tuple(
        replace(node, most_tasks=0) if node_name(index) in unusable else node for index, node in enumerate(nodes)
    )


def _knows(reading: Reading | None, cluster: str, job: LiveJob) -> bool:
    """Return whether the processors of `job` in `cluster` are surely busy in `reading`."""
    return reading is not None and cluster in job.claimed and (cluster, job.claimed[cluster][0]) in reading.grants


def with_history(run: Run, surroundings: Surroundings) -> Surroundings:
    """Return `surroundings` with the history table of `run` beside what theirs holds already."""
    return replace(surroundings, history=surroundings.history | run.history) if run.history else surroundings


def nothing_idle(run: Run, topology: Topology) -> SystemState:
    """Return a state of `run` without idle processors, in which its discipline can place nothing."""
    processors = tuple(cluster.processors for cluster in topology.clusters)
    return SystemState(processors, (0,) * len(processors), run.now_s(), with_history(run, NOTHING_ELSE))


def decide(run: Run, event: SchedulingEvent, state: SystemState, together: int) -> Decision:
    """Have the run's discipline decide on `event`; returns what it decided, and on what.

    A component of a job takes `together` processors at a time.

    Raises:
        InvalidInput: if a user's discipline or policy fails, or an answer cannot be carried out.
    """
    if isinstance(event, Scan):
        run.host_until_scan_s()  # what failed when it was asked whether a scan is due fails here, too
    snapshot = run.deciders.snapshot() if run.decisions % SNAPSHOT_EVERY == 0 else None
    answers = run.deciders.decide(event, state)
    check_answers(answers, state.idle, run.request_of_waiting, together)
    check_nodes_of_answers(run.request.policy, answers, state.surroundings.nodes, run.request_of_waiting)
    waiting = len(run.discipline.waiting())
    decision = Decision(
        run.decisions, state.time_s, event, state.idle, tuple(answers), waiting, state.surroundings, snapshot
    )
    if len(decision.history_after) > len(state.surroundings.history):
        check_history(decision.history_after)
    run.note_decision(decision)
    for answer in answers:
        run.jobs[answer.job_id].answered = True
    return decision


def decide_all(
    run: Run, events: Sequence[SchedulingEvent], state: SystemState, together: int
) -> tuple[list[Decision], str]:
    """Decide on `events` one after another; returns the decisions, and the reason if the run's deciders failed.

    The decisions before a failure count: their answers have left the discipline's queue.
    """
    decisions: list[Decision] = []
    for event in events:
        try:
            decision = decide(run, event, state, together)
        except InvalidInput as error:
            return decisions, str(error)
        except Exception as error:
            log.exception("run %d: the testbed's own deciders failed", run.id)
            return decisions, defect(run, error)
        decisions.append(decision)
        for answer in decision.answers:
            if isinstance(answer, Start):
                state = _with(run, answer, state.after(answer.placement))
    return decisions, ""


def waiting_in(run: Run) -> tuple[list[int], str]:
    """Return the jobs that the run's discipline says wait, and the reason if asking it failed."""
    try:
        return list(run.discipline.waiting()), ""
    except Exception as error:
        log.exception("run %d: the testbed's own discipline failed", run.id)
        return [], defect(run, error)


def defect(run: Run, error: Exception) -> str:
    """Return the sentence about a defect in the testbed's own queue or policy."""
    kind, (first, *_) = type(error).__name__, [*str(error).splitlines(), ""]
    sentence = DEFECT.format(queue=run.request.queue, policy=run.request.policy, kind=kind, error=first)
    return sentence + AGAIN if run.id == DEFAULT_RUN else sentence


def _with(run: Run, start: Start, state: SystemState) -> SystemState:
    """Return `state` with the job of `start` on its nodes, and among the running ones, if deciders read those."""
    if state.surroundings.nodes:
        nodes = occupied(state.surroundings.nodes, start.job_id, run.jobs[start.job_id].request, start.placement)
        state = replace_nodes(state, nodes)
    if not run.needs_running_jobs:
        return state
    estimate_s = run.jobs[start.job_id].request.estimate_s
    end_s = None if estimate_s is None else state.time_s + estimate_s
    return state.with_running(RunningJob(start.job_id, start.placement, state.time_s, end_s))
