"""Making a run's recorded decisions again, offline: from its directory, with the discipline and policy it names.

The record of a run begins with its request. The decisions follow, each with the state it was made on. Each attempt of a
resumed run is replayed separately.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from emulator.model.documents import validate
from emulator.model.errors import InvalidInput
from emulator.model.faults import first_fault
from emulator.model.records import DECISIONS_FILE
from emulator.model.views import EventKind, EventView, RunRequest
from emulator.policies.decisions import Decision, recorded_decision
from emulator.policies.factory import deciders
from emulator.policies.replay import Replay, replay
from emulator.runs.run_directory import attempts, read_manifest


def replay_run(path: Path) -> Replay:
    """Make all decisions in the run directory at `path` again, and return how they differ from those recorded.

    Raises:
        InvalidInput: if there is no run's directory, or its record is not one of decisions, or holds none.
    """
    found = _together([_replay_attempt(folder) for folder in attempts(path)])
    if not found.decisions:
        raise InvalidInput(
            f"{path}: holds no decisions ({DECISIONS_FILE}), so nothing can be replayed; "
            "name the directory of a live run with this file."
        )
    return found


def _replay_attempt(folder: Path) -> Replay:
    processors = [cluster.processors for cluster in read_manifest(folder).topology.clusters]
    events = list(_events(folder / DECISIONS_FILE))
    if not any(event.kind is EventKind.DECISION for event in events):
        return Replay(0, ())
    request = _request_in(folder, events)
    made = deciders(request.queue, request.policy, request.scanning, request.seed, request.sources, request.quota)
    return replay(_decisions(folder, events), made, processors)


def _events(path: Path) -> Iterator[EventView]:
    """Return the events in the file at `path`; a torn last line is left out."""
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


def _decisions(folder: Path, events: Sequence[EventView]) -> Iterator[Decision]:
    for event in events:
        if event.kind is EventKind.DECISION:
            try:
                yield recorded_decision(event.detail)
            except InvalidInput as error:
                raise InvalidInput(f"{folder / DECISIONS_FILE}: event {event.sequence}: {error}") from error


def _together(replays: Sequence[Replay]) -> Replay:
    return Replay(
        sum(each.decisions for each in replays),
        tuple(difference for each in replays for difference in each.differences),
    )
