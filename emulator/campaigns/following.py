"""Following a run's events to where it should come, noticing at once when it no longer can.

A cluster that the broker lost, a container of the testbed that stopped, a broker that does not answer: each ends the
run with one sentence that says what became of it and where the finished records are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from emulator.campaigns.holding import Testbed
from emulator.campaigns.recording import Recorder
from emulator.model.errors import NotStanding, RunFailed
from emulator.model.job import JobState
from emulator.model.views import EventKind, EventView

HOST_LOOK_ROUND_S: Final = 2.0
"""Host seconds without an event after which a run looks whether its containers and its load generator still run."""


HOST_PATIENCE_S: Final = 90.0
"""Host seconds for which a broker whose container runs may leave requests unanswered: a busy host is no failure."""


def follow_until(
    done: Callable[[], bool],
    testbed: Testbed,
    run: int,
    recorder: Recorder,
    tell: Callable[[EventView], None],
) -> None:
    """Record and tell each event of `run` until `done`, which is asked after every batch of events.

    Raises:
        RunFailed: if the testbed can no longer carry the run.
    """
    while not done():
        events = _events(testbed, run, recorder)
        for event in events:
            recorder.record(event)
            tell(event)
        for event in events:
            if event.kind is EventKind.CLUSTER_LOST:
                raise _lost(testbed, recorder, event)
            if event.kind is EventKind.POLICY_FAILED:
                reason = str(event.detail.get("reason", "")).rstrip(".")
                raise RunFailed(f"The run ended early because its policy failed ({reason}); {kept(recorder)}.")
        if not events:
            _check_containers(testbed, recorder)


def record_rest(testbed: Testbed, run: int, recorder: Recorder) -> None:
    """Record the events that a run still has, without waiting for more."""
    while events := testbed.client.events(run, after=recorder.last_sequence, host_wait_s=0.0):
        for event in events:
            recorder.record(event)


def _events(testbed: Testbed, run: int, recorder: Recorder) -> list[EventView]:
    """The next events; a broker that is only slow, its container running, is given time."""
    host_deadline_s = time.monotonic() + HOST_PATIENCE_S
    while True:
        try:
            return testbed.client.events(run, after=recorder.last_sequence, host_wait_s=HOST_LOOK_ROUND_S)
        except NotStanding as error:
            _check_containers(testbed, recorder)
            if time.monotonic() > host_deadline_s:
                raise RunFailed(f"The run ended early because the broker does not answer; {kept(recorder)}.") from error
            time.sleep(HOST_LOOK_ROUND_S)


def _check_containers(testbed: Testbed, recorder: Recorder) -> None:
    stopped = testbed.stopped_containers()
    if stopped:
        raise RunFailed(f"The run ended early because container {', '.join(stopped)} does not run; {kept(recorder)}.")


def _lost(testbed: Testbed, recorder: Recorder, event: EventView) -> RunFailed:
    stopped = ", ".join(testbed.stopped_containers())
    why = f"container {stopped} does not run" if stopped else str(event.detail.get("reason", "")).rstrip(".")
    return RunFailed(
        f"The run ended early because cluster {event.detail.get('cluster')!r} was lost ({why}); {kept(recorder)}."
    )


def kept(recorder: Recorder) -> str:
    """Where the records of a run are that ended early."""
    finished = recorder.count(JobState.FINISHED)
    return f"{finished} finished {'record is' if finished == 1 else 'records are'} in {recorder.directory.path}"
