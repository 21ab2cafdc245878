"""Making a run's recorded decisions again, offline: from its directory, with the discipline and policy it names.

The record of a run begins with its request. The decisions follow, each with the state it was made on. Each attempt of a
resumed run is replayed separately, and so is each run in a folder.

Decisions that were moved within the record, or removed from it, are differences, too. Many of them change nothing that
later decisions show, so that this is read from the numbers of the events and decisions. A decision that is missing
after all others is only noticed if it placed a job.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from pydantic import ValidationError

from emulator.model.documents import validate
from emulator.model.errors import InvalidInput
from emulator.model.faults import first_fault
from emulator.model.records import DECISIONS_FILE
from emulator.model.views import EventKind, EventView, RunRequest
from emulator.policies.decisions import Decision, recorded_decision
from emulator.policies.factory import deciders
from emulator.policies.nodes.stated import stated_limits
from emulator.policies.protocols import Start
from emulator.policies.replay import Difference, Replay, replay
from emulator.runs.folders import runs_in
from emulator.runs.run_directory import attempts, read_manifest


def replay_run(path: Path) -> Replay:
    """Make all decisions in the run directory at `path` again, and return how they differ from those recorded.

    Raises:
        InvalidInput: if there is no run's directory, or its record is not one of decisions, or holds none.
    """
    found = _replay_attempts(path)
    if not found.decisions:
        raise InvalidInput(
            f"{path}: holds no decisions ({DECISIONS_FILE}), so nothing can be replayed; "
            "name the directory of a live run with this file."
        )
    return found


def replay_runs(folder: Path) -> dict[str, Replay]:
    """Make all decisions of each run in `folder` again, and return how they differ, by the names of the runs.

    A run without decisions, such as a simulation, has none.

    Raises:
        InvalidInput: if no run there has decisions, or a record is not one of decisions.
    """
    found = {run.name: _replay_attempts(run) for run in runs_in(folder)}
    if not any(each.decisions for each in found.values()):
        raise InvalidInput(
            f"{folder}: none of its runs holds decisions ({DECISIONS_FILE}), so nothing can be replayed; name a folder "
            "of live runs with these files."
        )
    return found


def together(replays: Iterable[Replay]) -> Replay:
    """Return several replays as one."""
    found = list(replays)
    return Replay(
        sum(each.decisions for each in found),
        tuple(difference for each in found for difference in each.differences),
    )


def _replay_attempts(path: Path) -> Replay:
    return together(_replay_attempt(folder) for folder in attempts(path))


def _replay_attempt(folder: Path) -> Replay:
    topology = read_manifest(folder).topology
    events = list(recorded_events(folder / DECISIONS_FILE))
    if not any(event.kind is EventKind.DECISION for event in events):
        return Replay(0, ())
    request = _request_in(folder, events)
    made = deciders(
        request.queue, request.policy, request.scanning, request.seed, request.sources, request.quota,
        topology.processors_taken_together, stated_limits(topology),
    )  # fmt: skip
    decisions = [(event, _decision(folder, event)) for event in events if event.kind is EventKind.DECISION]
    misplaced = (*_moved(decisions), *_missing(decisions), *_without_decision(events, decisions))
    found = replay((decision for _, decision in decisions), made, [cluster.processors for cluster in topology.clusters])
    return Replay(found.decisions, (*misplaced, *found.differences))


def recorded_events(path: Path) -> Iterator[EventView]:
    """Return the events in the file at `path`, none if there is none; a torn last line is left out.

    Raises:
        InvalidInput: if a line is not one of an event.
    """
    content = path.read_bytes() if path.is_file() else b""
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            yield EventView.model_validate_json(line)
        except ValidationError as error:
            raise InvalidInput(f"{path}, line {number}: {first_fault(error)}") from error


def _request_in(folder: Path, events: Sequence[EventView]) -> RunRequest:
    source = str(folder / DECISIONS_FILE)
    for event in events:
        if event.kind is EventKind.RUN_STARTED and "request" in event.detail:
            return validate(event.detail["request"], RunRequest, source=source)
    raise InvalidInput(f"{source}: holds decisions, but not the request of their run.")


def _decision(folder: Path, event: EventView) -> Decision:
    try:
        return recorded_decision(event.detail)
    except InvalidInput as error:
        raise InvalidInput(f"{folder / DECISIONS_FILE}: event {event.sequence}: {error}") from error


Recorded = Sequence[tuple[EventView, Decision]]
"""The decisions of a record in its order, each with its event."""


def _moved(decisions: Recorded) -> Iterator[Difference]:
    """Return a difference for each decision that stands behind one that was made later, or stands twice."""
    for (before, earlier), (event, decision) in pairwise(decisions):
        if event.sequence <= before.sequence:
            yield Difference(decision.number, decision.time_s, "order", f"after decision {earlier.number}", "before it")


def _missing(decisions: Recorded) -> Iterator[Difference]:
    """Return a difference for each gap in the numbers of the decisions, which begin at 0 in each process."""
    expected = 0
    for _, decision in sorted(decisions, key=lambda recorded: recorded[0].sequence):
        if decision.number > expected:
            last = decision.number - 1
            what = f"decision {expected}" if expected == last else f"decisions {expected} to {last}"
            yield Difference(expected, decision.time_s, "missing", f"nothing before decision {decision.number}", what)
        expected = decision.number + 1


def _without_decision(events: Sequence[EventView], decisions: Recorded) -> Iterator[Difference]:
    """Return a difference for each job that was placed after the last decision, by one that is missing."""
    started = {answer.job_id for _, decision in decisions for answer in decision.answers if isinstance(answer, Start)}
    last = max((event.sequence for event, _ in decisions), default=0)
    number = decisions[-1][1].number + 1 if decisions else 0
    for event in events:
        if event.kind is EventKind.PLACED and event.sequence > last and event.job and event.job.id not in started:
            yield Difference(number, event.time_s, "missing", "nothing", f"the placement of job {event.job.id}")
