"""The load generator, a locust program that submits the jobs of a schedule to the broker as they arrive.

A few users share one queue of arrivals. Each takes the next arrival, sleeps until its time and submits it, so that a
slow answer does not delay the next submission. Each submission has a key and is repeated if the broker does not answer;
the key makes it one job. The run's clock is started here, just before the users start, so that the start-up of the
generator delays no arrival. The schedule and the broker's address come from environment variables (``TESTBED_...``).
Locust keeps statistics of the submissions.

Locust replaces Python's sockets when it is imported, so no other file of this project may import this one.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any, Final

import gevent
from locust import User, constant, events, task
from locust.env import Environment as LocustEnvironment
from locust.exception import StopUser

from emulator.client import BrokerClient
from emulator.model.clock import Dilation, EmulatedClock
from emulator.model.errors import TestbedError
from emulator.model.full_disk import HOST_FULL_DISK_S
from emulator.model.views import Submission
from workloads.schedule import Arrival, read_schedule

EXIT_NOT_SUBMITTED: Final = 1
_HOST_LOOK_ROUND_S: Final = 1.0

_client = BrokerClient(os.environ["TESTBED_API_URL"], os.environ["TESTBED_TOKEN"])
_run = int(os.environ["TESTBED_RUN"])
_waiting: deque[tuple[int, Arrival]] = deque(enumerate(read_schedule(Path(os.environ["TESTBED_SCHEDULE"])), start=1))
_unsubmitted = len(_waiting)
_clock: EmulatedClock | None = None
_ending = False


@events.test_start.add_listener  # type: ignore[untyped-decorator]
def start_clock(environment: LocustEnvironment, **_: Any) -> None:
    """Start the run; the times of the schedule count from now."""
    global _clock
    try:
        run = _client.start_run(_run)
    except TestbedError as error:
        _give_up(environment, error)
        return
    gevent.spawn(_end_when_orphaned, environment, os.getppid())
    if run.host_origin_s is not None:
        _clock = EmulatedClock(Dilation(run.request.dilation), run.host_origin_s)


@events.test_stop.add_listener  # type: ignore[untyped-decorator]
def refuse_to_stop(environment: LocustEnvironment, **_: Any) -> None:
    """End the load generator with an error if it is stopped on its page before everything is submitted."""
    if not _ending:
        _give_up(environment, TestbedError("The load generator was stopped on its page."))


class Submitter(User):
    """A locust user that submits the next arrival in the queue at its time, until none is left."""

    wait_time = constant(0)

    @task
    def submit_next(self) -> None:
        """Take one arrival, wait until its time, and submit it."""
        if _clock is None or not _waiting:
            raise StopUser
        number, arrival = _waiting.popleft()
        gevent.sleep(_clock.host_remaining_s(arrival.arrival_s))
        self._submit(number, arrival)
        _count_one(self.environment)

    def _submit(self, number: int, arrival: Arrival) -> None:
        """Submit `arrival`, the run's `number`-th, and report the response time to locust's statistics."""
        submission = Submission(
            specification=arrival.specification,
            run=_run,
            intended_arrival_s=arrival.arrival_s,
            key=f"{_run}-{number}",
        )
        began, refusal = time.perf_counter(), None
        try:
            _client.submit_surely(submission, host_full_disk_s=HOST_FULL_DISK_S)
        except TestbedError as error:
            refusal = error
        self.environment.events.request.fire(
            request_type="POST",
            name="/v1/jobs",
            response_time=(time.perf_counter() - began) * 1000,  # locust counts in milliseconds
            response_length=0,
            exception=refusal,
            context={},
        )
        if refusal is not None:
            _give_up(self.environment, refusal)


def _end_when_orphaned(environment: LocustEnvironment, parent: int) -> None:
    """Stop submitting when the campaign process that started this one has ended."""
    while os.getppid() == parent:
        gevent.sleep(_HOST_LOOK_ROUND_S)
    _end(environment)


def _count_one(environment: LocustEnvironment) -> None:
    global _unsubmitted
    _unsubmitted -= 1
    if _unsubmitted == 0:
        if environment.process_exit_code is None:
            environment.process_exit_code = 0  # also if locust could not write some of its statistics
        _end(environment)


def _give_up(environment: LocustEnvironment, error: TestbedError) -> None:
    """End the load generator, because a campaign must not lack a job."""
    print(f"testbed: {error}", file=sys.stderr)
    environment.process_exit_code = EXIT_NOT_SUBMITTED
    _end(environment)


def _end(environment: LocustEnvironment) -> None:
    """End locust, and its page if it shows one."""
    global _ending
    _ending = True
    if environment.runner is not None:
        gevent.spawn(environment.runner.quit)
    if environment.web_ui is not None:
        gevent.spawn(environment.web_ui.stop)
