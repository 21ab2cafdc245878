"""A broker that was killed comes back from its journal, whatever the last thing was that it had written."""

from __future__ import annotations

import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from emulator.broker.journal import Journal
from emulator.broker.service import Broker
from emulator.clusters.file_server import StoredFile
from emulator.clusters.protocol import AllocationEventKind
from emulator.model.job import JobState
from emulator.model.views import EventKind, JobView, RunRequest, RunState, Submission
from emulator.policies.deciding import deciders
from emulator.policies.decisions import recorded_decision
from emulator.policies.replaying import replay
from tests.unit.broker.scripted import ScriptedCluster
from tests.unit.broker.test_broker import House
from tests.unit.broker.test_live_files import SIZE_BYTES, HouseWithFiles

MAYBE_STARTED = (JobState.STARTING, JobState.RUNNING)


class Written:
    """The last event of every transaction of a journal: where a broker that is killed may have come to."""

    def __init__(self, journal: Journal) -> None:
        self.moments: list[int] = []
        self._journal = journal
        journal.observe(lambda event: self._note(event.sequence))
        self._told = journal.told(self._end_transaction)
        self._told.__enter__()
        self._last = 0

    def _note(self, sequence: int) -> None:
        self._last = sequence

    def _end_transaction(self) -> None:
        if not self.moments or self.moments[-1] != self._last:
            self.moments.append(self._last)


def killed(house: House) -> None:
    """Nothing of the broker goes on, and nothing of what it held is given back."""
    for cluster in (house.east, house.west):
        cluster.silent = True
    house.broker._loop.close()
    house.journal.close()


def cut(source: Path, target: Path, last: int) -> None:
    """A copy of the journal at `source` and what lies beside it, as it was when event `last` was durable."""
    shutil.copytree(source, target)
    database = sqlite3.connect(target / "journal")
    database.execute("DELETE FROM events WHERE sequence > ?", (last,))
    database.execute("DELETE FROM submissions WHERE job NOT IN (SELECT job FROM events WHERE job IS NOT NULL)")
    database.execute("UPDATE runs SET ended = 0")
    database.commit()
    database.close()


class ComeBack(HouseWithFiles):
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
    return {event.job.id: event.job for event in journal.latest_of_each_job() if event.job is not None}


def leading(house: House) -> ScriptedCluster:
    """Where the first job's ranks are started, once they are."""
    house.until(lambda: house.east.programs or house.west.programs)
    return house.east if house.east.programs else house.west


def end_all(house: House) -> None:
    """Let every job end as soon as it has begun."""
    done: set[int] = set()

    def all_ended() -> bool:
        for program in house.east.programs + house.west.programs:
            if id(program) not in done:
                done.add(id(program))
                program.say(event="started", host_moment_s=time.time(), host_late_s=0.0, processes=1)
                program.finish()
        return all(job.state.final for job in house.broker.jobs(None))

    house.until(all_ended)


def check_replay(journal: Journal, run: int, request: RunRequest) -> None:
    decisions = [recorded_decision(it.detail) for it in journal.read(run, 0) if it.kind is EventKind.DECISION]
    made = deciders(request.queue, request.policy, request.scanning, request.seed)
    assert replay(decisions, made, [8, 8]).differences == ()


def rich_run(folder: Path, request: RunRequest, **at: str) -> list[int]:
    """Jobs that wait, are cancelled, claimed late, started, run and finish; returns where the broker may be killed."""
    house = HouseWithFiles(folder)
    written = Written(house.journal)
    house.register("input", "east")
    run = house.broker.begin_run(request).id
    house.broker.start_run(run)

    def submit(*sizes: int, key: str | None = None, **more) -> int:
        specification = {"application": "poisson", "components": sizes, "request": "unordered", **at, **more}
        asked = Submission.model_validate({"specification": specification, "run": run, "key": key})
        return house.broker.submit(asked).id

    first, waits = submit(8, 8, key="first"), submit(6, 6)
    submit(5, 5)
    cancelled = submit(7, 7)
    house.broker.cancel(cancelled)
    house.started(first, leading(house))
    for cluster in (house.east, house.west):
        cluster.holds_back = True
    (house.east.programs + house.west.programs)[0].finish()
    house.until_state(waits, JobState.CLAIMING)
    submit(3, key="last", file="input")
    time.sleep(0.1)
    for cluster in (house.east, house.west):
        cluster.tell_all()
    end_all(house)
    killed(house)
    return written.moments


@pytest.mark.parametrize(
    ("queue", "at"),
    [
        ("placement", {}),
        ("placement-adaptive", {}),
        ("gs", {}),
        ("ls-ro", {"queue": "east"}),
        ("lp-lf", {"queue": "west"}),
    ],
)
def test_a_broker_killed_after_any_event_loses_no_job_and_runs_none_twice(tmp_path, monkeypatch, queue, at):
    monkeypatch.setattr("emulator.broker.placing.SNAPSHOT_EVERY", 4)
    request = RunRequest(name="r", dilation=0.02, paced_middleware=False, queue=queue, policy="wf-distinct", seed=3)
    moments = rich_run(tmp_path / "whole", request, **at)
    assert len(moments) > 20
    states = set()
    for last in moments:
        folder = tmp_path / str(last)
        cut(tmp_path / "whole", folder, last)
        before = Journal(folder / "journal")
        views, run = last_views(before), 1
        before.close()
        states |= {view.state for view in views.values()}
        come_back(folder, views, run, request)
    assert states == set(JobState) - {JobState.FAILED}


def come_back(folder: Path, views: dict[int, JobView], run: int, request: RunRequest) -> None:
    house = ComeBack(folder)
    try:
        assert [job.id for job in house.broker.jobs(None)] == sorted(views)
        for number, view in views.items():
            if view.state.final:
                assert house.broker.job(number) == view
        house.until(lambda: not house.broker.is_recovering())
        current = house.broker.current_run()
        assert current is not None
        if current.state is RunState.RUNNING:
            queued = {number for number, view in views.items() if view.state is JobState.QUEUED}
            waiting = {entry.job for entry in house.broker.queue()}
            assert waiting == {job.id for job in house.broker.jobs(run) if job.state is JobState.QUEUED} <= queued
        end_all(house)
        for number, view in views.items():
            ended = house.broker.job(number)
            started_again = any(f"{run}-{number}" in script for script in house.east.scripts + house.west.scripts)
            if view.state in MAYBE_STARTED:
                assert "not run twice" in ended.reason
            assert not (started_again and (view.state.final or view.state in MAYBE_STARTED))
            if not view.state.final and view.state not in MAYBE_STARTED:
                assert (ended.state, started_again) == (JobState.FINISHED, True)
        house.until(lambda: house.nothing_is_held)
        house.until(lambda: house.replicas("input") == {"east": 0})
        house.until(lambda: [set(server.files) for server in house.files.values()] == [{"input"}, set()])
        check_replay(house.journal, run, request)
    finally:
        house.broker.close()
        house.journal.close()


def test_a_clock_goes_on_and_a_key_still_names_its_job(tmp_path):
    house = House(tmp_path)
    house.east.others = house.west.others = 8
    run = house.broker.begin_run(RunRequest(name="r")).id
    origin = house.broker.start_run(run).host_origin_s
    asked = Submission.model_validate(
        {"specification": {"application": "poisson", "components": [4]}, "run": run, "key": "k"}
    )
    job = house.broker.submit(asked)
    killed(house)
    again = House(tmp_path)
    assert again.broker.current_run().host_origin_s == origin
    assert again.broker.submit(asked) == job
    assert again.broker.submit(asked.model_copy(update={"key": "other"})).id == job.id + 1
    again.broker.close()


def test_a_run_that_was_being_prepared_is_still_held_and_one_that_ended_is_not(tmp_path):
    house = House(tmp_path)
    ended = house.broker.begin_run(RunRequest(name="first")).id
    house.broker.end_run(ended)
    held = house.broker.begin_run(RunRequest(name="second")).id
    killed(house)
    again = House(tmp_path)
    assert (again.broker.current_run().id, again.broker.current_run().state) == (held, RunState.PREPARING)
    assert again.broker.start_run(held).state is RunState.RUNNING
    assert again.broker.end_run(ended).state is RunState.ENDED
    again.broker.close()


def interrupted(folder: Path) -> int:
    """A job that ran on both clusters when its broker was killed."""
    house = House(folder)
    job = house.submit(6, 6)
    house.started(job, house.east)
    killed(house)
    return job


class Unfound(House):
    """The west is not found until `found`, and nobody waits for it."""

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
    house = Unfound(tmp_path)
    assert (house.broker.job(job).state, house.broker.is_recovering()) == (JobState.RUNNING, True)
    house.found()
    house.until_state(job, JobState.FAILED)
    assert not house.broker.is_recovering()
    house.broker.close()


def test_a_job_that_waits_for_recovery_can_be_cancelled(tmp_path):
    job = interrupted(tmp_path)
    house = Unfound(tmp_path)
    assert house.broker.cancel(job).state is JobState.CANCELLED
    assert not house.broker.is_recovering()
    house.broker.close()


def test_a_job_whose_cluster_is_not_found_is_given_up_after_a_while(tmp_path, monkeypatch):
    monkeypatch.setattr("emulator.broker.service.PATIENCE_HOST_S", 0.2)
    job = interrupted(tmp_path)
    house = Unfound(tmp_path)
    house.until_state(job, JobState.FAILED)
    assert "cluster 'west' was not found" in house.broker.job(job).reason
    house.broker.close()


def test_an_allocation_that_a_killed_broker_had_asked_for_and_came_late_is_released(tmp_path):
    house = House(tmp_path)
    house.east.held["late"] = ("0-7.1-east", 4)
    house.east.tell(AllocationEventKind.CLAIMED, "0-7.1-east", "late")
    house.until(lambda: house.nothing_is_held)
    house.broker.close()


def test_what_a_job_wrote_is_there_after_the_kill(tmp_path):
    house = House(tmp_path)
    job = house.submit(4)
    house.started(job, leading(house))
    (house.east.programs + house.west.programs)[-1].said.put("a line of its own")
    house.until(lambda: "a line of its own" in house.broker.output(job)[0])
    killed(house)
    again = House(tmp_path)
    assert "a line of its own" in again.broker.output(job)[0]
    again.broker.close()


def test_a_claim_that_had_failed_before_the_kill_is_not_recorded_as_failed_again(tmp_path):
    house = House(tmp_path, host_grant_limit_s=0.1)
    house.west.others_quicker = 1
    run = house.broker.begin_run(RunRequest(name="r", dilation=0.02, paced_middleware=False)).id
    house.broker.start_run(run)
    job = house.submit(6, 6, run=run)
    house.until(lambda: EventKind.CLAIM_FAILED in house.kinds(run))
    claims = house.east.claims + house.west.claims
    killed(house)
    again = House(tmp_path)
    assert again.kinds(run).count(EventKind.CLAIM_FAILED) == 1
    assert all(part.claimed_s is None for part in again.broker.job(job).components)
    again.until_state(job, JobState.STARTING)
    assert not set(claims) & set(again.east.claims + again.west.claims)
    assert again.kinds(run).count(EventKind.CLAIM_FAILED) == 1
    again.broker.close()
    again.journal.close()
