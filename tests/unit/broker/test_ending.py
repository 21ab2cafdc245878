"""A run that is being ended decides nothing any more, whoever ends it and however often it has to be begun anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.broker.journal import Journal
from emulator.model.errors import NotStanding
from emulator.model.job import JobState
from emulator.model.views import STANDING_REQUEST, EventKind, RunRequest, RunState
from tests.unit.broker.test_broker import House
from tests.unit.broker.test_recovery import check_replay, killed

REQUEST = RunRequest(name="r", queue="gs", policy="wf-distinct", paced_middleware=False)


def full_with_a_queue(house: House, run: int) -> list[int]:
    """One job holds all processors and two that would fit without it wait."""
    house.broker.start_run(run)
    holds = house.submit(8, 8, run=run, request="unordered")
    house.until_state(holds, JobState.STARTING)
    return [holds, *(house.submit(4, run=run, request="unordered") for _ in range(2))]


def decisions(journal: Journal, run: int) -> int:
    return sum(event.kind is EventKind.DECISION for event in journal.read(run, 0))


def test_ending_a_run_asks_neither_its_discipline_nor_the_clusters(house, monkeypatch):
    run = house.broker.begin_run(REQUEST).id
    jobs = full_with_a_queue(house, run)
    house.until(lambda: decisions(house.journal, run) == len(jobs))
    # Were the discipline asked, what waits would fit from now on.
    monkeypatch.setattr(house.broker._scheduling.occupancies, "read", lambda lost=(): pytest.fail("was asked"))
    house.broker.end_run(run)
    assert [house.broker.job(job).state for job in jobs] == [JobState.CANCELLED] * 3
    assert decisions(house.journal, run) == len(jobs)
    assert len(house.east.claims) == len(house.west.claims) == 1
    assert house.kinds(run)[-5:] == [EventKind.RUN_ENDING, *[EventKind.CANCELLED] * 3, EventKind.RUN_ENDED]
    check_replay(house.journal, run, REQUEST)


def test_the_standing_run_goes_on_after_it_was_ended(house):
    house.submit(8, 8)
    waiting = [house.submit(8), house.submit(8, 8)]
    house.until(lambda: house.east.programs or house.west.programs)
    house.broker.end_run(0)
    assert house.broker.queue() == []
    assert {house.broker.job(job).state for job in waiting} == {JobState.CANCELLED}
    house.until_state(house.submit(8, 8), JobState.STARTING)
    check_replay(house.journal, 0, STANDING_REQUEST)


@pytest.mark.parametrize("claiming", [True, False])
def test_a_run_that_was_being_ended_when_the_broker_was_killed_ends(tmp_path: Path, claiming: bool):
    house = House(tmp_path)
    house.east.holds_back = house.west.holds_back = claiming
    run = house.broker.begin_run(REQUEST).id
    house.broker.start_run(run)
    jobs = [house.submit(8, 8, run=run, request="unordered"), house.submit(4, run=run, request="unordered")]
    house.until_state(jobs[0], JobState.CLAIMING if claiming else JobState.STARTING)
    house.broker._loop.ask(lambda: house.broker._ending._decide_no_more(house.broker._register.run(run)))
    killed(house)
    again = House(tmp_path)
    again.until(lambda: again.broker.current_run() is None)
    assert {again.broker.job(job).state for job in jobs} == {JobState.CANCELLED}
    assert again.broker.end_run(run).state is RunState.ENDED
    assert again.east.claims == again.west.claims == []
    check_replay(again.journal, run, REQUEST)
    again.broker.close()
    again.journal.close()


def test_a_standing_run_that_was_ended_with_its_broker_takes_jobs_again(tmp_path: Path):
    house = House(tmp_path)
    house.submit(8, 8)
    for _ in range(3):
        house.submit(4)
    house.broker.close()
    house.journal.close()
    again = House(tmp_path)
    assert again.broker.queue() == []
    again.until_state(again.submit(8, 8), JobState.STARTING)
    check_replay(again.journal, 0, STANDING_REQUEST)
    again.broker.close()
    again.journal.close()


def test_a_broker_closes_all_else_when_a_run_cannot_be_ended(tmp_path: Path, monkeypatch):
    house = House(tmp_path)

    def stuck(number: int) -> None:
        raise NotStanding(f"Run {number} has jobs that did not end.")

    monkeypatch.setattr(house.broker, "end_run", stuck)
    house.broker.close()
    assert house.east._closed
    assert house.west._closed
    assert not house.broker._loop._thread.is_alive()


def test_nobody_goes_on_waiting_for_a_run_that_did_not_end_in_time(house, monkeypatch):
    monkeypatch.setattr("emulator.broker.service.END_TIMEOUT_HOST_S", 0.1)
    job = house.submit(8)
    house.until_state(job, JobState.STARTING)
    life = house.broker._register.job(job).life
    with monkeypatch.context() as unstoppable:
        unstoppable.setattr(type(life), "stop", lambda *arguments: None)
        with pytest.raises(NotStanding, match="did not end within"):
            house.broker.end_run(0)
        posted: list[object] = []
        unstoppable.setattr(house.broker._loop, "post", posted.append)
        house.broker.current_run()
        life._stopping.wait(0.2)
        assert posted == []
    life.stop(JobState.CANCELLED, "Cancelled.")


def test_what_fails_in_one_run_s_scan_does_not_keep_another_s_from_being_done(house, monkeypatch):
    class Faulty(Exception):
        pass

    scanned: list[int] = []

    def decide_due(run) -> None:
        scanned.append(run.id)
        if run.id == 0:
            raise Faulty

    run = house.broker.begin_run(RunRequest(name="r")).id
    house.broker.start_run(run)
    monkeypatch.setattr(house.broker._scheduling, "decide_due", decide_due)
    with pytest.raises(Faulty):
        house.broker._loop.ask(house.broker._scan_due_runs)
    assert {0, run} <= set(scanned)
