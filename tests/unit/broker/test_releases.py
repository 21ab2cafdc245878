"""What was claimed is released until the cluster no longer lists it, whatever fails meanwhile."""

from __future__ import annotations

import pytest

from emulator.clusters.protocol import AllocationEventKind
from emulator.model.job import JobState
from tests.unit.broker.broker_setup import BrokerSetup


@pytest.fixture
def setup(tmp_path, monkeypatch):
    monkeypatch.setattr("emulator.broker.jobs.releases.FIRST_PAUSE_HOST_S", 0.02)
    monkeypatch.setattr("emulator.broker.jobs.claiming_try.RELEASE_TIMEOUT_HOST_S", 0.05)
    setup = BrokerSetup(tmp_path)
    yield setup
    setup.close()


def test_a_release_that_fails_is_tried_until_the_allocation_is_gone(setup):
    job = setup.submit(8, request="fixed", clusters=("east",))
    setup.started(job, setup.east)
    setup.east.releases_failing, setup.east.listings_failing = 3, 2
    setup.east.programs[-1].finish()
    setup.until_state(job, JobState.FINISHED)
    setup.until(lambda: setup.nothing_is_held)
    assert (setup.east.releases_failing, setup.east.listings_failing) == (0, 0)


def test_a_listing_that_fails_is_not_taken_for_an_empty_one(setup):
    setup.east.held["late"] = ("0-7.1-east", 4)
    setup.east.listings_failing = 5
    setup.east.report(AllocationEventKind.CLAIMED, "0-7.1-east", "late")
    setup.until(lambda: setup.nothing_is_held)
    assert setup.east.listings_failing == 0


def test_an_allocation_that_its_manager_forgot_to_have_ended_is_released(tmp_path, monkeypatch):
    """No event tells of it. What belongs to a job that runs stays."""
    monkeypatch.setattr("emulator.broker.jobs.strays.INTERVAL_HOST_S", 0.05)
    setup = BrokerSetup(tmp_path)
    running = setup.submit(2, request="fixed", clusters=("east",))
    setup.started(running, setup.east)
    ended = setup.submit(2, request="fixed", clusters=("east",))
    setup.started(ended, setup.east)
    ((claim, allocation),) = [
        (held[0], name) for name, held in setup.east.held.items() if held[0].startswith(f"0-{ended}.")
    ]
    setup.east.programs[-1].finish()
    setup.until_state(ended, JobState.FINISHED)
    setup.until(lambda: len(setup.east.held) == 1)
    setup.east.held[allocation] = (claim, 2)
    setup.until(lambda: allocation not in setup.east.held)
    assert setup.broker.job(running).state is JobState.RUNNING
    assert len(setup.east.held) == 1
    setup.close()


def test_what_is_left_of_a_claim_that_its_manager_has_forgotten_ends(setup):
    """A manager that was killed before it saved its state neither lists the allocation nor reports its end."""
    job = setup.submit(8, request="fixed", clusters=("east",))
    setup.started(job, setup.east)
    ((claim, _),) = setup.east.held.values()
    setup.east.held.clear()
    setup.east.programs[-1].finish()
    setup.until_state(job, JobState.FINISHED)
    setup.until(lambda: setup.east.forgotten == [claim])


def test_what_is_granted_to_a_job_that_has_ended_is_released(setup):
    setup.east.refuses = True
    job = setup.submit(8, request="fixed", clusters=("east",))
    setup.until_state(job, JobState.FAILED)
    setup.east.held["late"] = (f"0-{job}.1-east", 8)
    setup.east.report(AllocationEventKind.CLAIMED, f"0-{job}.1-east", "late")
    setup.until(lambda: setup.nothing_is_held)


def test_an_event_releases_no_allocation_of_another_claim(setup):
    """Lines of the events file may be anybody's: they must not end what belongs to somebody else."""
    setup.east.held["another"] = ("1-2.1-east", 4)
    setup.east.held["late"] = ("0-7.1-east", 4)
    setup.east.report(AllocationEventKind.CLAIMED, "0-7.1-east", "another")
    setup.east.report(AllocationEventKind.CLAIMED, "0-7.1-east", "late")
    setup.until(lambda: "late" not in setup.east.held)
    assert "another" in setup.east.held
    del setup.east.held["another"]


def test_an_old_event_of_a_claim_s_name_does_not_release_what_is_held_under_it_now(setup):
    job = setup.submit(8, request="fixed", clusters=("east",))
    setup.started(job, setup.east)
    setup.broker._loop.call(
        lambda: setup.broker._scheduling.supervisor._releases.add(setup.east, f"0-{job}.1-east", "old")
    )
    setup.until(lambda: not setup.broker._scheduling.supervisor._releases._pending)
    assert list(setup.east.held) == ["east1"]
