"""A broker that was killed comes back from its journal, whatever the last thing was that it had written."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from emulator.broker.recovery import PATIENCE_HOST_S
from emulator.broker.service import Broker
from emulator.broker.state.journal import Journal
from emulator.clusters.file_server import StoredFile
from emulator.clusters.protocol import AllocationEventKind
from emulator.containers.readiness import READY_WITHIN_HOST_S
from emulator.model.job import JobState
from emulator.model.scheduling import StatedClaiming
from emulator.model.views import EventKind, JobView, RunRequest, RunState, Submission
from emulator.policies.protocols import Arrival
from tests.unit.broker.broker_setup import (
    SIZE_BYTES,
    BrokerSetup,
    BrokerSetupWithFiles,
    check_replay,
    kill,
    recorded_decisions,
)
from tests.unit.broker.scripted_cluster import ScriptedCluster

MAYBE_STARTED = (JobState.STARTING, JobState.RUNNING)


class Written:
    """The last event of every transaction of a journal: where a broker that is killed may have come to."""

    def __init__(self, journal: Journal) -> None:
        self.timestamps: list[int] = []
        self._journal = journal
        journal.observe(lambda event: self._note(event.sequence))
        self._notification = journal.notify(self._end_transaction)
        self._notification.__enter__()
        self._last = 0

    def _note(self, sequence: int) -> None:
        self._last = sequence

    def _end_transaction(self) -> None:
        if not self.timestamps or self.timestamps[-1] != self._last:
            self.timestamps.append(self._last)


def cut(source: Path, target: Path, last: int) -> None:
    """A copy of the journal at `source` and what lies beside it, as it was when event `last` was durable."""
    shutil.copytree(source, target)
    database = sqlite3.connect(target / "journal")
    database.execute("DELETE FROM events WHERE sequence > ?", (last,))
    database.execute("DELETE FROM submissions WHERE job NOT IN (SELECT job FROM events WHERE job IS NOT NULL)")
    database.execute("UPDATE runs SET ended = 0")
    database.execute("DELETE FROM jobs")
    database.execute("PRAGMA user_version = 1")  # the last events of jobs are collected anew
    database.commit()
    database.close()


class ComeBack(BrokerSetupWithFiles):
    """A broker over clusters as one that was killed left them: processors are held, and files lie half brought."""

    def make_broker(self, *arguments) -> Broker:
        for view in last_views(arguments[3]).values():
            for part in view.components if not view.state.final else ():
                cluster = {"east": self.east, "west": self.west}[part.cluster]
                cluster.held[f"{part.cluster}-before"] = (f"{view.run}-{view.id}.1-{part.cluster}", part.processors)
        broker = super().make_broker(*arguments)
        self.files["east"].make("input", SIZE_BYTES, seed=0)
        for server in self.files.values():
            server.files["half"] = StoredFile("half", 1, "")
        return broker


def last_views(journal: Journal) -> dict[int, JobView]:
    return {job.id: job for job in journal.last_views()}


def leading_cluster(setup: BrokerSetup) -> ScriptedCluster:
    """Where the first job's ranks are started, once they are."""
    setup.until(lambda: setup.east.programs or setup.west.programs)
    return setup.east if setup.east.programs else setup.west


def end_all(setup: BrokerSetup) -> None:
    """Let every job end as soon as it has begun."""
    done: set[int] = set()

    def all_ended() -> bool:
        for program in setup.east.programs + setup.west.programs:
            if id(program) not in done:
                done.add(id(program))
                program.say(event="started", host_moment_s=time.time(), host_late_s=0.0, processes=1)
                program.finish()
        return all(job.state.final for job in setup.broker.jobs(None))

    setup.until(all_ended)


def arrived(setup: BrokerSetup, run: int) -> set[int]:
    """Return the jobs whose arrival has been decided on."""
    return {each.event.job.id for each in recorded_decisions(setup, run) if isinstance(each.event, Arrival)}


def rich_run(folder: Path, request: RunRequest, **at: str) -> list[int]:
    """Run jobs through all states; returns the sequence numbers of events after which the broker may be killed."""
    setup = BrokerSetupWithFiles(folder)
    written = Written(setup.journal)
    setup.register("input", "east")
    run = setup.broker.begin_run(request).id
    setup.broker.start_run(run)

    def submit(*sizes: int, key: str | None = None, **more) -> int:
        specification = {"application": "poisson", "components": sizes, "request": "unordered", **at, **more}
        submission = Submission.model_validate({"specification": specification, "run": run, "key": key})
        return setup.broker.submit(submission).id

    first, waits = submit(8, 8, key="first"), submit(6, 6)
    submit(5, 5)
    cancelled = submit(7, 7)
    setup.broker.cancel(cancelled)
    setup.started(first, leading_cluster(setup))
    for cluster in (setup.east, setup.west):
        cluster.holds_back = True
    (setup.east.programs + setup.west.programs)[0].finish()
    setup.until_state(waits, JobState.CLAIMING)
    last = submit(3, key="last", file="input")
    setup.until(lambda: last in arrived(setup, run))
    for cluster in (setup.east, setup.west):
        cluster.report_all()
    end_all(setup)
    kill(setup)
    return written.timestamps


@pytest.mark.parametrize(
    ("queue", "at"),
    [
        pytest.param("placement", {}, marks=pytest.mark.long),
        pytest.param("placement-adaptive", {}, marks=pytest.mark.long),
        pytest.param("gs", {}, marks=pytest.mark.long),
        pytest.param("ls-ro", {"queue": "east"}, marks=pytest.mark.long),
        ("lp-lf", {"queue": "west"}),
    ],
)
def test_a_broker_killed_after_any_event_loses_no_job_and_runs_none_twice(tmp_path, monkeypatch, queue, at):
    monkeypatch.setattr("emulator.broker.decision.SNAPSHOT_EVERY", 4)
    request = RunRequest(name="r", dilation=0.02, paced_middleware=False, queue=queue, policy="wf-distinct", seed=3)
    timestamps = rich_run(tmp_path / "whole", request, **at)
    assert len(timestamps) > 20
    states = set()
    for last in timestamps:
        folder = tmp_path / str(last)
        cut(tmp_path / "whole", folder, last)
        before = Journal(folder / "journal")
        views, run = last_views(before), 1
        before.close()
        states |= {view.state for view in views.values()}
        come_back(folder, views, run, request)
    assert states == set(JobState) - {JobState.FAILED}


def waiting(setup: BrokerSetup) -> set[int]:
    return {entry.job for entry in setup.broker.queue()}


def jobs_in(setup: BrokerSetup, run: int, state: JobState) -> set[int]:
    return {job.id for job in setup.broker.jobs(run) if job.state is state}


def come_back(folder: Path, views: dict[int, JobView], run: int, request: RunRequest) -> None:
    setup = ComeBack(folder)
    try:
        assert [job.id for job in setup.broker.jobs(None)] == sorted(views)
        for number, view in views.items():
            if view.state.final:
                assert setup.broker.job(number) == view
        setup.until(lambda: not setup.broker.is_recovering())
        current = setup.broker.current_run()
        assert current is not None
        if current.state is RunState.RUNNING:
            setup.until(lambda: waiting(setup) == jobs_in(setup, run, JobState.QUEUED))  # it places jobs meanwhile
            assert waiting(setup) <= {number for number, view in views.items() if view.state is JobState.QUEUED}
        end_all(setup)
        for number, view in views.items():
            ended = setup.broker.job(number)
            started_again = any(f"-{run}-{number}-" in script for script in setup.east.scripts + setup.west.scripts)
            if view.state in MAYBE_STARTED:
                assert "not run twice" in ended.reason
            assert not (started_again and (view.state.final or view.state in MAYBE_STARTED))
            if not view.state.final and view.state not in MAYBE_STARTED:
                assert (ended.state, started_again) == (JobState.FINISHED, True)
        setup.until(lambda: setup.nothing_is_held)
        setup.until(lambda: setup.replicas("input") == {"east": 0})
        setup.until(lambda: [set(server.files) for server in setup.files.values()] == [{"input"}, set()])
        check_replay(setup.journal, run, request)
    finally:
        setup.broker.close()
        setup.journal.close()


def test_a_clock_goes_on_and_a_key_still_names_its_job(tmp_path):
    setup = BrokerSetup(tmp_path)
    setup.east.others = setup.west.others = 8
    run = setup.broker.begin_run(RunRequest(name="r")).id
    origin = setup.broker.start_run(run).host_origin_s
    submission = Submission.model_validate(
        {"specification": {"application": "poisson", "components": [4]}, "run": run, "key": "k"}
    )
    job = setup.broker.submit(submission)
    kill(setup)
    again = BrokerSetup(tmp_path)
    assert again.broker.current_run().host_origin_s == origin
    assert again.broker.submit(submission) == job
    assert again.broker.submit(submission.model_copy(update={"key": "other"})).id == job.id + 1
    again.broker.close()


def test_a_run_that_was_being_prepared_is_still_held_and_one_that_ended_is_not(tmp_path):
    setup = BrokerSetup(tmp_path)
    ended = setup.broker.begin_run(RunRequest(name="first")).id
    setup.broker.end_run(ended)
    held = setup.broker.begin_run(RunRequest(name="second")).id
    kill(setup)
    again = BrokerSetup(tmp_path)
    assert (again.broker.current_run().id, again.broker.current_run().state) == (held, RunState.PREPARING)
    assert again.broker.start_run(held).state is RunState.RUNNING
    assert again.broker.end_run(ended).state is RunState.ENDED
    again.broker.close()


def interrupted(folder: Path) -> int:
    """A job that ran on both clusters when its broker was killed."""
    setup = BrokerSetup(folder)
    job = setup.submit(6, 6)
    setup.started(job, setup.east)
    kill(setup)
    return job


class Unfound(BrokerSetup):
    """A setup whose west cluster is not found until `found` is called."""

    def make_broker(self, *arguments) -> Broker:
        self._watch, self._is_waiting = self.west.watch, False
        self.west.watch = lambda *listeners: setattr(self, "_listeners", listeners)
        return super().make_broker(*arguments)

    def until(self, condition) -> None:
        if self._is_waiting:
            super().until(condition)
        self._is_waiting = True

    def found(self) -> None:
        self._watch(*self._listeners)


def test_nothing_is_settled_before_every_cluster_of_the_job_is_found_and_released(tmp_path):
    job = interrupted(tmp_path)
    setup = Unfound(tmp_path)
    assert (setup.broker.job(job).state, setup.broker.is_recovering()) == (JobState.RUNNING, True)
    setup.found()
    setup.until_state(job, JobState.FAILED)
    assert not setup.broker.is_recovering()
    setup.broker.close()


def test_a_job_that_waits_for_recovery_can_be_cancelled(tmp_path):
    job = interrupted(tmp_path)
    setup = Unfound(tmp_path)
    assert setup.broker.cancel(job).state is JobState.CANCELLED
    assert not setup.broker.is_recovering()
    setup.broker.close()


def test_a_job_whose_cluster_is_not_found_is_given_up_after_a_while(tmp_path, monkeypatch):
    patience: list[tuple[float, Callable[[], None]]] = []

    def timer(host_s: float, function: Callable[..., None], args: tuple[object, ...] = ()) -> SimpleNamespace:
        patience.append((host_s, partial(function, *args)))
        return SimpleNamespace(start=lambda: None)

    monkeypatch.setattr("emulator.broker.service.threading", SimpleNamespace(Thread=threading.Thread, Timer=timer))
    job = interrupted(tmp_path)
    patience.clear()
    setup = Unfound(tmp_path)
    setup.until(lambda: patience and setup.broker.unreachable() == ["west"])
    assert setup.broker.job(job).state is JobState.RUNNING
    ((host_s, give_up),) = patience
    assert host_s == PATIENCE_HOST_S
    assert host_s >= READY_WITHIN_HOST_S, "a head that comes back with the broker may take as long to be ready"
    give_up()
    setup.until_state(job, JobState.FAILED)
    assert "cluster 'west' was not found" in setup.broker.job(job).reason
    setup.broker.close()


def test_an_allocation_that_a_killed_broker_had_asked_for_and_came_late_is_released(tmp_path):
    setup = BrokerSetup(tmp_path)
    setup.east.held["late"] = ("0-7.1-east", 4)
    setup.east.report(AllocationEventKind.CLAIMED, "0-7.1-east", "late")
    setup.until(lambda: setup.nothing_is_held)
    setup.broker.close()


def test_what_a_job_wrote_is_there_after_the_kill(tmp_path):
    setup = BrokerSetup(tmp_path)
    job = setup.submit(4)
    setup.started(job, leading_cluster(setup))
    (setup.east.programs + setup.west.programs)[-1].said.put("a line of its own")
    setup.until(lambda: "a line of its own" in setup.broker.output(job)[0])
    kill(setup)
    again = BrokerSetup(tmp_path)
    assert "a line of its own" in again.broker.output(job)[0]
    again.broker.close()


def test_a_job_that_was_given_back_before_the_kill_is_placed_again(tmp_path):
    setup = BrokerSetup(tmp_path, host_grant_limit_s=0.1)
    setup.west.others_quicker = 1_000
    claiming = StatedClaiming(most_postponements=0, place_again=True)
    request = RunRequest(name="r", dilation=0.02, paced_middleware=False, claiming=claiming)
    run = setup.broker.begin_run(request).id
    setup.broker.start_run(run)
    job = setup.submit(6, 6, run=run)
    setup.until(lambda: EventKind.GIVEN_BACK in setup.kinds(run))
    kill(setup)
    again = BrokerSetup(tmp_path)
    again.until_state(job, JobState.STARTING)
    assert again.kinds(run)[-1] is not EventKind.FAILED
    again.close()


def test_a_claim_that_had_failed_before_the_kill_is_not_recorded_as_failed_again(tmp_path):
    setup = BrokerSetup(tmp_path, host_grant_limit_s=0.1)
    setup.west.others_quicker = 1
    run = setup.broker.begin_run(RunRequest(name="r", dilation=0.02, paced_middleware=False)).id
    setup.broker.start_run(run)
    job = setup.submit(6, 6, run=run)
    setup.until(lambda: EventKind.CLAIM_FAILED in setup.kinds(run))
    claims = setup.east.claims + setup.west.claims
    kill(setup)
    again = BrokerSetup(tmp_path)
    assert again.kinds(run).count(EventKind.CLAIM_FAILED) == 1
    assert all(part.claimed_s is None for part in again.broker.job(job).components)
    again.until_state(job, JobState.STARTING)
    assert not set(claims) & set(again.east.claims + again.west.claims)
    assert again.kinds(run).count(EventKind.CLAIM_FAILED) == 1
    again.close()
