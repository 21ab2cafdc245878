"""Metrics: counted from events, the same after a restart, with one prefix, base units, and never a job's number."""

import threading

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from emulator.broker.api import application
from emulator.model.job import JobState
from emulator.model.views import EventKind, RunRequest
from tests.unit.broker.test_broker import House

STANDING = {"policy": "by-kind", "queue": "placement"}


def samples(house) -> dict[tuple, float]:
    """Every sample by name and labels, as Prometheus reads it without a token."""
    client = TestClient(application(house.broker, house.journal, "right"))
    answer = client.get("/metrics")
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.text)
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value for family in families for sample in family.samples
    }


def value(found: dict[tuple, float], name: str, **labels: str) -> float:
    return found[(f"testbed_{name}", *sorted(labels.items()))]


def one_of_each(house) -> None:
    """A job that finishes, one whose claim fails, one that is cancelled."""
    finished = house.submit(8)
    house.started(finished, house.east)
    house.east.programs[-1].finish()
    house.until_state(finished, JobState.FINISHED)
    house.east.refuses = house.west.refuses = True
    house.until_state(house.submit(8), JobState.FAILED)
    house.east.refuses = house.west.refuses = False
    cancelled = house.submit(8)
    house.started(cancelled, house.east if house.broker.job(cancelled).components[0].cluster == "east" else house.west)
    house.broker.cancel(cancelled)
    house.until_state(cancelled, JobState.CANCELLED)


def test_submissions_placements_and_ends_are_counted_by_policy(house):
    one_of_each(house)
    found = samples(house)
    counts = {
        "submissions_total": 3,
        "placements_total": 3,
        "jobs_finished_total": 1,
        "failures_total": 1,
        "failed_claims_total": 1,
        "cancellations_total": 1,
        "placement_tries_total": 3,
        "wait_seconds_count": 2,
        "execution_seconds_count": 1,
        "response_seconds_count": 1,
    }
    assert {name: value(found, name, **STANDING) for name in counts} == counts


def test_counts_are_the_same_after_a_restart(tmp_path):
    first = House(tmp_path)
    one_of_each(first)
    before = samples(first)
    first.broker.close()
    first.journal.close()
    second = House(tmp_path)
    after = samples(second)
    second.broker.close()
    second.journal.close()
    growing = ("_total", "_count", "_sum", "_bucket")
    assert {key: number for key, number in after.items() if key[0].endswith(growing)} == {
        key: number for key, number in before.items() if key[0].endswith(growing)
    }


def test_a_run_s_jobs_are_counted_under_its_own_policy(house):
    run = house.broker.begin_run(RunRequest(name="r", policy="cm", queue="gs")).id
    house.broker.start_run(run)
    house.submit(8, run=run)
    found = samples(house)
    assert value(found, "submissions_total", policy="cm", queue="gs") == 1
    assert ("testbed_submissions_total", *sorted(STANDING.items())) not in found


def test_processors_are_told_apart_by_what_they_do(house):
    running = house.submit(4, request="fixed", clusters=("east",))
    house.started(running, house.east)
    held = house.submit(2, request="fixed", clusters=("east",))
    house.until_state(held, JobState.STARTING)
    house.east.held["others"] = ("", 1)
    for _ in range(2):
        house.submit(8, 8)
    found = samples(house)
    shares = {kind: value(found, "utilization_ratio", cluster="east", kind=kind) for kind in KINDS}
    assert shares == {"background": 1 / 8, "coallocation": 4 / 8, "wasted": 2 / 8}
    assert value(found, "queue_length", **STANDING) == 2
    assert value(found, "unfinished_jobs", **STANDING) == 4
    assert value(found, "processors", cluster="west") == 8


KINDS = ("background", "coallocation", "wasted")


def test_a_cluster_that_does_not_answer_is_seen(house):
    house.west.fall_silent()
    house.until(lambda: house.broker.unreachable())
    found = samples(house)
    assert (value(found, "cluster_reachable", cluster="east"), value(found, "cluster_reachable", cluster="west")) == (
        1,
        0,
    )


def test_a_cluster_whose_partition_has_no_processors_has_none_in_use(house):
    house.east.processors = 0
    found = samples(house)
    assert value(found, "processors", cluster="east") == 0
    assert all(value(found, "utilization_ratio", cluster="east", kind=kind) == 0 for kind in KINDS)


def test_names_and_labels_follow_the_house_s_rules(house):
    one_of_each(house)
    for name, *labels in samples(house):
        assert name.startswith("testbed_")
        assert {label for label, _ in labels} <= {"policy", "queue", "cluster", "kind", "le"}


def test_a_cluster_slow_to_answer_those_who_look_holds_up_no_decision_and_is_asked_once(house, monkeypatch):
    asked: list[str] = []
    answering = threading.Event()
    occupancy = house.east.occupancy

    def slow():
        asked.append(threading.current_thread().name)
        if len(asked) == 1:
            assert answering.wait(10)
        return occupancy()

    monkeypatch.setattr(house.east, "occupancy", slow)
    looking = [threading.Thread(target=house.broker.tally) for _ in range(4)]
    for thread in looking:
        thread.start()
    house.until(lambda: asked)
    house.until_state(house.submit(4), JobState.STARTING)
    decided = len(asked)
    answering.set()
    for thread in looking:
        thread.join()
    house.broker.clusters()
    assert len(asked) == decided


def test_what_a_failed_claiming_try_held_is_counted_as_wasted_once(tmp_path):
    house = House(tmp_path, host_grant_limit_s=0.2)
    house.west.others_quicker = 1
    run = house.broker.begin_run(RunRequest(name="r", dilation=0.05, paced_middleware=False)).id
    house.broker.start_run(run)
    job = house.submit(6, 6, run=run)
    house.until_state(job, JobState.STARTING)
    failed = next(event for event in house.journal.read(run, 0) if event.kind is EventKind.CLAIM_FAILED)
    held = next(part for part in failed.job.components if part.cluster == "east")
    assert value(samples(house), "processor_seconds_total", cluster="east", kind="wasted") == pytest.approx(
        6 * (failed.time_s - held.claimed_s)
    )
    assert failed.time_s > held.claimed_s
    house.broker.close()
    house.journal.close()
