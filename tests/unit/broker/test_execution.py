"""A placed job's execution with files on their way: claimed at the procedure's timestamp, started when all is there."""

import queue
import threading
import time

import pytest

from emulator.broker.files.transfers import Delivery
from emulator.broker.jobs.execution import JobExecution, LaunchSpec
from emulator.broker.jobs.releases import Releases
from emulator.broker.jobs.reports import AllClaimed, ClaimTried, ComponentClaimed, Ended, Started
from emulator.model import clock
from emulator.model.clock import Dilation, EmulatedClock
from emulator.model.errors import RunFailed
from emulator.model.job import Component, JobState, Placement
from emulator.model.scheduling import StatedClaiming
from emulator.policies.claiming_procedure import ClaimingProcedure
from tests.unit.broker.scripted_cluster import ScriptedCluster

FAST = Dilation(0.001)
TRANSFER_S = 80.0


class Steps:
    """A preparation and a runner that note what they are events, in its order."""

    def __init__(self, problem: str = "") -> None:
        self.taken: list[str] = []
        self.host_start_timestamp_s = None
        self._problem = problem
        self.host_arrived_s = None

    def begin(self) -> None:
        self.taken.append("begin")

    def complete(self) -> float | None:
        self.taken.append("complete")
        if self._problem:
            raise RunFailed(self._problem)
        return self.host_arrived_s

    def end(self) -> None:
        self.taken.append("end")

    def run(self, claims, await_start, on_started) -> Ended:
        self.taken.append("run")
        self.host_start_timestamp_s = await_start()
        return Ended(JobState.FINISHED)

    def close(self) -> None:
        self.taken.append("close")


class ReportedExecution:
    """The execution of a job of one component on a scripted cluster, and the events that it reports."""

    def __init__(
        self,
        steps: Steps,
        *,
        transfer_s: float = TRANSFER_S,
        overhead_s: float | None = None,
        records: bool = True,
        host_start_limit_s: float = 60.0,
    ) -> None:
        self._records = records
        self.cluster = ScriptedCluster("east", 8)
        self.clock = EmulatedClock.starting_now(FAST)
        self._reported: queue.SimpleQueue[object] = queue.SimpleQueue()
        spec = LaunchSpec(
            label="0-1",
            placement=Placement((Component(0, 8),)),
            procedure=ClaimingProcedure.begun(StatedClaiming(), 0.0, transfer_s),
            runner=steps,
            clock=self.clock,
            run_time_limit_s=1e6,
            host_grant_limit_s=5.0,
            host_start_limit_s=host_start_limit_s,
            overhead_s=overhead_s,
            preparation=steps,
        )
        self.execution = JobExecution(spec, [self.cluster], Releases(), self._report)
        self.cluster.watch(self.execution.note_event, lambda reachable, reason: None)
        self.execution.begin()

    def _report(self, event: object) -> None:
        self._reported.put(event)
        if isinstance(event, AllClaimed) and self._records:
            self.execution.allow_start()

    def next_event(self) -> object:
        return self._reported.get(timeout=60)

    def has_ended_within(self, host_wait_s: float) -> bool:
        self.execution._thread.join(host_wait_s)
        return not self.execution._thread.is_alive()

    def events(self) -> list[object]:
        events = [self.next_event()]
        while not isinstance(events[-1], Ended):
            events.append(self.next_event())
        return events


def test_a_job_with_files_is_claimed_after_its_share_of_the_transfer_and_waits_for_its_planned_start():
    steps = Steps()
    job = ReportedExecution(steps)
    tried, component, claimed, ended = job.events()
    assert isinstance(tried, ClaimTried)
    assert isinstance(component, ComponentClaimed)
    assert isinstance(claimed, AllClaimed)
    assert ended.state is JobState.FINISHED
    assert job.clock.emulated_timestamp_s(claimed.host_timestamp_s) >= 0.75 * TRANSFER_S
    assert steps.host_start_timestamp_s == pytest.approx(job.clock.host_timestamp_s(TRANSFER_S), abs=1e-6)
    assert steps.taken == ["begin", "run", "complete", "end"], "processes start while the files are under way"
    assert job.cluster.held == {}


@pytest.mark.parametrize("overhead_s", [None, 5.0])
@pytest.mark.parametrize("host_later_s", [-3_600.0, 3_600.0])
def test_a_job_whose_file_comes_later_than_estimated_is_planned_to_start_when_it_is_there(overhead_s, host_later_s):
    steps = Steps()
    steps.host_arrived_s = time.time() + host_later_s
    job = ReportedExecution(steps, overhead_s=overhead_s)
    job.events()
    if host_later_s > 0:
        assert steps.host_start_timestamp_s == pytest.approx(steps.host_arrived_s, abs=1e-3)
    else:
        assert job.clock.emulated_timestamp_s(steps.host_start_timestamp_s) >= TRANSFER_S - 0.01


@pytest.mark.parametrize("is_reported_before", [True, False])
def test_a_wall_clock_that_is_set_back_after_the_file_came_delays_no_start(monkeypatch, is_reported_before):
    monkeypatch.setattr(clock, "_STEADY", clock._SteadyClock())
    read, host_arrived_s = time.time, time.time()
    delivery, steps = Delivery({"east"}), Steps()
    if is_reported_before:
        delivery.arrived("east", host_arrived_s)
    monkeypatch.setattr(time, "time", lambda: read() - 3_600.0)
    if not is_reported_before:
        delivery.arrived("east", host_arrived_s)
    steps.host_arrived_s = delivery.complete()
    job = ReportedExecution(steps)
    job.events()
    assert steps.host_start_timestamp_s == pytest.approx(job.clock.host_timestamp_s(TRANSFER_S), abs=1e-3)


def test_the_middleware_s_overhead_counts_from_the_try_that_succeeded():
    steps = Steps()
    job = ReportedExecution(steps, overhead_s=50)
    job.events()
    assert steps.host_start_timestamp_s == pytest.approx(job.clock.host_timestamp_s(0.75 * TRANSFER_S + 50), abs=1e-6)


def test_without_files_and_overhead_the_processes_start_as_soon_as_they_can():
    steps = Steps()
    ReportedExecution(steps, transfer_s=0).events()
    assert steps.host_start_timestamp_s is None


def test_a_job_whose_files_do_not_come_fails_for_that_reason_and_holds_nothing():
    steps = Steps(problem="File 'input' has no replica any more.")
    job = ReportedExecution(steps)
    ended = job.events()[-1]
    assert (ended.state, ended.reason) == (JobState.FAILED, "File 'input' has no replica any more.")
    assert steps.taken[-2:] == ["complete", "end"]
    assert job.cluster.held == {}


def test_a_job_cancelled_before_its_first_claiming_try_claims_nothing():
    steps = Steps()
    job = ReportedExecution(steps, transfer_s=1e6)
    job.execution.stop(JobState.CANCELLED, "Cancelled while it was claiming.")
    (ended,) = job.events()
    assert (ended.state, ended.reason) == (JobState.CANCELLED, "Cancelled while it was claiming.")
    assert job.cluster.claims == []
    assert "end" in steps.taken


def test_no_process_starts_before_it_is_recorded_that_it_may_have_begun():
    steps = Steps()
    job = ReportedExecution(steps, transfer_s=0, records=False)
    while not isinstance(job.next_event(), AllClaimed):
        pass
    assert not job.has_ended_within(0.1)
    assert "run" not in steps.taken
    job.execution.allow_start()
    assert job.events()[-1].state is JobState.FINISHED
    assert steps.taken[-3:] == ["run", "complete", "end"]


def test_a_job_that_is_stopped_before_its_start_is_recorded_starts_nothing():
    steps = Steps()
    job = ReportedExecution(steps, transfer_s=0, records=False)
    while not isinstance(job.next_event(), AllClaimed):
        pass
    job.execution.stop(JobState.CANCELLED, "Cancelled.")
    assert job.events()[-1].state is JobState.CANCELLED
    assert "run" not in steps.taken
    assert job.cluster.held == {}


class Waiting(Steps):
    """A runner whose processes begin if they are `reachable`, and that returns when it is closed or after 0.4 s."""

    def __init__(self, *, reachable: bool) -> None:
        super().__init__()
        self._reachable = reachable
        self._closed = threading.Event()

    def run(self, claims, await_start, on_started) -> Ended:
        await_start()
        if self._reachable:
            on_started(Started(0.0, 0.0))
        was_closed = self._closed.wait(0.4 if self._reachable else 60)
        return Ended(JobState.FAILED, "It was closed.") if was_closed else Ended(JobState.FINISHED)

    def close(self) -> None:
        self._closed.set()


def test_a_job_whose_processes_do_not_begin_fails_and_holds_nothing():
    job = ReportedExecution(Waiting(reachable=False), transfer_s=0, host_start_limit_s=0.2)
    ended = job.events()[-1]
    reason = "Not all of its processes began within 0 s (what they wrote may say why)."
    assert (ended.state, ended.reason) == (JobState.FAILED, reason)
    assert job.cluster.held == {}


def test_the_limit_of_the_start_does_not_end_a_job_whose_processes_have_begun():
    job = ReportedExecution(Waiting(reachable=True), transfer_s=0, host_start_limit_s=0.2)
    assert job.events()[-1].state is JobState.FINISHED


def test_the_limit_of_the_start_counts_from_the_planned_start():
    began_host_s = time.monotonic()
    job = ReportedExecution(Waiting(reachable=False), transfer_s=300.0, host_start_limit_s=0.1)
    assert job.events()[-1].state is JobState.FAILED
    assert time.monotonic() - began_host_s > 0.35
