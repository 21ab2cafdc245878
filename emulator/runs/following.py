"""Following a run's events until its end, and noticing at once when the run can no longer go on.

A cluster that the broker lost, a container that stopped, a broker that does not answer: each ends the run with one
sentence that says why and where the finished records are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from emulator.model.errors import EngineUnavailable, RunEndedEarly, TestbedNotUp
from emulator.model.job import JobState
from emulator.model.views import EventKind, EventView
from emulator.runs.holding import Testbed
from emulator.runs.recording import Recorder

HOST_LOOK_ROUND_S: Final = 2.0
"""Host seconds without an event after which a run checks that its containers and its load generator still run."""


HOST_PATIENCE_S: Final = 90.0
"""Host seconds for which an engine, or a broker whose container runs, may leave requests unanswered.

A busy host is no failure, and an engine that is restarted need not stop its containers.
"""


def follow_until(
    done: Callable[[], bool],
    testbed: Testbed,
    run: int,
    recorder: Recorder,
    report: Callable[[EventView], None],
) -> None:
    """Record each event of `run` and pass it to `report` until `done`, which is asked after every batch of events.

    Raises:
        RunEndedEarly: if the testbed can no longer carry the run.
    """
    while not done():
        events = _events(testbed, run, recorder, report)
        _take(events, testbed, recorder, report)
        if not events:
            _check_containers(testbed, run, recorder, report)


def follow_now(testbed: Testbed, run: int, recorder: Recorder, report: Callable[[EventView], None]) -> None:
    """Record the events of `run` so far and pass them to `report`, without waiting for more.

    Raises:
        RunEndedEarly: if the testbed can no longer carry the run.
    """
    while events := testbed.client.events(run, after=recorder.last_sequence, host_wait_s=0.0):
        _take(events, testbed, recorder, report)


def record_rest(testbed: Testbed, run: int, recorder: Recorder) -> None:
    """Record the remaining events of a run that ends, whatever they say, without waiting for more."""
    while events := testbed.client.events(run, after=recorder.last_sequence, host_wait_s=0.0):
        for event in events:
            recorder.record(event)


def _take(
    events: Sequence[EventView], testbed: Testbed, recorder: Recorder, report: Callable[[EventView], None]
) -> None:
    """Record events and pass them to `report`; raise `RunEndedEarly` if one of them ends the run."""
    for event in events:
        recorder.record(event)
        report(event)
    for event in events:
        if event.kind is EventKind.CLUSTER_LOST:
            raise _lost(testbed, recorder, event)
        if event.kind is EventKind.POLICY_FAILED:
            reason = str(event.detail.get("reason", "")).rstrip(".")
            raise ended_early(f"The run ended early because its policy failed ({reason})", recorder)


def _events(testbed: Testbed, run: int, recorder: Recorder, report: Callable[[EventView], None]) -> list[EventView]:
    """Return the next events; wait for a slow broker as long as its container runs."""
    host_deadline_s = time.monotonic() + HOST_PATIENCE_S
    while True:
        try:
            return testbed.client.events(run, after=recorder.last_sequence, host_wait_s=HOST_LOOK_ROUND_S)
        except TestbedNotUp as error:
            _check_containers(testbed, run, recorder, report)
            if time.monotonic() > host_deadline_s:
                raise ended_early("The run ended early because the broker does not answer", recorder) from error
            time.sleep(HOST_LOOK_ROUND_S)


def _check_containers(testbed: Testbed, run: int, recorder: Recorder, report: Callable[[EventView], None]) -> None:
    """Raise `RunEndedEarly` if a container does not run; first record what the broker said, which may be why."""
    try:
        stopped = testbed.stopped_containers()
    except EngineUnavailable as error:
        raise ended_early(f"The run ended early: {error}", recorder) from error
    if stopped:
        with suppress(TestbedNotUp):
            follow_now(testbed, run, recorder, report)
        raise ended_early(f"The run ended early because container {', '.join(stopped)} does not run", recorder)


def _lost(testbed: Testbed, recorder: Recorder, event: EventView) -> RunEndedEarly:
    try:
        stopped = ", ".join(testbed.stopped_containers())
    except EngineUnavailable:
        stopped = ""
    why = f"container {stopped} does not run" if stopped else str(event.detail.get("reason", "")).rstrip(".")
    return ended_early(
        f"The run ended early because cluster {event.detail.get('cluster')!r} was lost ({why})", recorder
    )


def ended_early(reason: str, recorder: Recorder) -> RunEndedEarly:
    """Return the error of a run that ended early for `reason`, with where its finished records are."""
    return RunEndedEarly(reason, recorder.count(JobState.FINISHED), recorder.directory.path)
