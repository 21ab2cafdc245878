"""Metrics: counted from events, the same after a restart, with one prefix, base units, and never a job's number."""

import sys
from collections.abc import Callable
from types import FrameType

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from emulator.broker.http.api import create_app
from emulator.broker.http.metrics import Metrics
from emulator.model.job import JobState
from emulator.model.scheduling import StatedClaiming
from emulator.model.views import EventKind, RunRequest
from tests.unit.broker.broker_setup import BrokerSetup, one_of_each

DEFAULT_LABELS = {"policy": "by-kind", "queue": "placement"}


def samples(setup) -> dict[tuple, float]:
    """Every sample by name and labels, as Prometheus reads it without a token."""
    client = TestClient(create_app(setup.broker, setup.journal, "right"))
    answer = client.get("/metrics")
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.text)
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value for family in families for sample in family.samples
    }


def value(found: dict[tuple, float], name: str, **labels: str) -> float:
    return found[(f"testbed_{name}", *sorted(labels.items()))]


def test_submissions_placements_and_ends_are_counted_by_policy(setup):
    one_of_each(setup)
    found = samples(setup)
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
    assert {name: value(found, name, **DEFAULT_LABELS) for name in counts} == counts


def test_counts_are_the_same_after_a_restart(tmp_path):
    first = BrokerSetup(tmp_path)
    one_of_each(first)
    before = samples(first)
    first.broker.close()
    first.journal.close()
    second = BrokerSetup(tmp_path)
    after = samples(second)
    second.broker.close()
    second.journal.close()
    growing = ("_total", "_count", "_sum", "_bucket")
    assert {key: number for key, number in after.items() if key[0].endswith(growing)} == {
        key: number for key, number in before.items() if key[0].endswith(growing)
    }


def test_a_run_s_jobs_are_counted_under_its_own_policy(setup):
    run = setup.broker.begin_run(RunRequest(name="r", policy="cm", queue="gs")).id
    setup.broker.start_run(run)
    setup.submit(8, run=run)
    found = samples(setup)
    assert value(found, "submissions_total", policy="cm", queue="gs") == 1
    assert ("testbed_submissions_total", *sorted(DEFAULT_LABELS.items())) not in found


def test_processors_are_told_apart_by_what_they_do(setup):
    running = setup.submit(4, request="fixed", clusters=("east",))
    setup.started(running, setup.east)
    held = setup.submit(2, request="fixed", clusters=("east",))
    setup.until_state(held, JobState.STARTING)
    setup.east.held["others"] = ("", 1)
    for _ in range(2):
        setup.submit(8, 8)
    setup.read_clusters()
    found = samples(setup)
    shares = {kind: value(found, "utilization_ratio", cluster="east", kind=kind) for kind in KINDS}
    assert shares == {"background": 1 / 8, "coallocation": 4 / 8, "wasted": 2 / 8}
    assert value(found, "queue_length", **DEFAULT_LABELS) == 2
    assert value(found, "unfinished_jobs", **DEFAULT_LABELS) == 4
    assert value(found, "processors", cluster="west") == 8


KINDS = ("background", "coallocation", "wasted")


def test_a_cluster_that_does_not_answer_is_seen(setup):
    setup.west.fall_silent()
    setup.until(lambda: setup.broker.unreachable())
    found = samples(setup)
    assert (value(found, "cluster_reachable", cluster="east"), value(found, "cluster_reachable", cluster="west")) == (
        1,
        0,
    )


def test_a_cluster_whose_partition_has_no_processors_has_none_in_use(setup):
    setup.east.processors = 0
    setup.read_clusters()
    found = samples(setup)
    assert value(found, "processors", cluster="east") == 0
    assert all(value(found, "utilization_ratio", cluster="east", kind=kind) == 0 for kind in KINDS)


def test_names_and_labels_follow_the_project_s_rules(setup):
    one_of_each(setup)
    for name, *labels in samples(setup):
        assert name.startswith("testbed_")
        assert {label for label, _ in labels} <= {"policy", "queue", "cluster", "kind", "le"}


def test_viewers_share_a_reading_and_metrics_wait_for_none(setup, monkeypatch):
    monkeypatch.setattr("emulator.broker.service.VIEW_AGE_HOST_S", 600.0)
    setup.read_clusters()
    setup.east.hang()
    try:
        assert [cluster.idle for cluster in setup.broker.clusters()] == [8, 8]
        assert value(samples(setup), "cluster_reading_age_host_seconds", cluster="east") >= 0
    finally:
        setup.east.answer()


def calls_of(work: Callable[[], object]) -> int:
    """Count the calls of functions that `work` makes."""
    made = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return made


def test_health_and_metrics_cost_the_same_however_many_jobs_wait(setup):
    setup.east.others = setup.west.others = 8
    metrics = Metrics(setup.topology, setup.journal)
    broker = setup.broker

    def answer() -> tuple[object, ...]:
        return metrics.text(broker.readings(), broker.malformed_events()), broker.health(), broker.fault()

    costs = []
    for jobs in (10, 200):
        for _ in range(jobs):
            setup.submit(4)
        answer()
        costs.append(calls_of(answer))
    # One call for each further job would be 200 calls. The broker's other threads make some calls more or less.
    assert abs(costs[1] - costs[0]) < 100
    assert b'testbed_queue_length{policy="by-kind",queue="placement"} 210.0' in answer()[0]


def test_what_a_failed_claiming_try_held_is_counted_as_wasted_once(tmp_path):
    setup = BrokerSetup(tmp_path, host_grant_limit_s=0.2)
    setup.west.others_quicker = 1
    # The second try follows after the postponement, of which the default would be ten seconds on this host.
    claiming = StatedClaiming(postponement_s=10)
    request = RunRequest(name="r", dilation=0.05, paced_middleware=False, claiming=claiming)
    run = setup.broker.begin_run(request).id
    setup.broker.start_run(run)
    job = setup.submit(6, 6, run=run)
    setup.until_state(job, JobState.STARTING)
    failed = next(event for event in setup.journal.read(run, 0) if event.kind is EventKind.CLAIM_FAILED)
    held = next(part for part in failed.job.components if part.cluster == "east")
    assert value(samples(setup), "processor_seconds_total", cluster="east", kind="wasted") == pytest.approx(
        6 * (failed.time_s - held.claimed_s)
    )
    assert failed.time_s > held.claimed_s
    setup.close()


def test_the_tries_of_a_job_that_was_placed_again_are_counted_once(tmp_path):
    setup = BrokerSetup(tmp_path, host_grant_limit_s=0.2)
    setup.west.others_quicker = 1
    claiming = StatedClaiming(most_postponements=0, place_again=True)
    request = RunRequest(name="r", dilation=0.05, paced_middleware=False, claiming=claiming)
    run = setup.broker.begin_run(request).id
    setup.broker.start_run(run)
    job = setup.submit(6, 6, run=run)
    setup.until_state(job, JobState.STARTING)
    setup.broker.cancel(job)
    setup.until_state(job, JobState.CANCELLED)
    assert setup.kinds(run).count(EventKind.PLACED) == 2
    found = samples(setup)
    tries = value(found, "placement_tries_total", policy=request.policy, queue=request.queue)
    assert tries == setup.broker.job(job).placement_tries
    setup.close()


def test_events_that_could_not_be_read_are_counted_by_cluster(setup):
    client = TestClient(create_app(setup.broker, setup.journal, "right"))
    for malformed in (2, 2, 5):
        setup.east.malformed_events = malformed
        assert f'testbed_malformed_events_total{{cluster="east"}} {malformed}.0' in client.get("/metrics").text


def test_counts_go_on_from_a_checkpoint_and_no_earlier_event_is_read_again(setup, monkeypatch):
    monkeypatch.setattr("emulator.broker.http.metrics.CHECKPOINT_EVERY", 4)
    create_app(setup.broker, setup.journal, "right")
    one_of_each(setup)
    before = samples(setup)
    sequence, _ = setup.journal.checkpoint("metrics")
    assert sequence >= 4
    setup.journal._database.execute("DELETE FROM events WHERE sequence <= ?", (sequence,))
    after = samples(setup)
    growing = ("_total", "_count", "_sum", "_bucket")
    assert {key: number for key, number in after.items() if key[0].endswith(growing)} == {
        key: number for key, number in before.items() if key[0].endswith(growing)
    }
