"""A run's directory as the page reads it."""

import json

import pytest

from emulator.model.catalogue import equal_clusters, topology_named
from emulator.model.errors import InvalidInput
from emulator.model.page_views import PageSystem
from emulator.page.record import page_record
from tests.unit.page.recorded_runs import HOSTILE, write_run


@pytest.fixture
def record(tmp_path):
    return page_record(write_run(tmp_path / "run"))


def test_the_system_is_the_topology(record):
    mini = topology_named("mini")
    assert [cluster["processors"] for cluster in record["system"]["clusters"]] == [c.processors for c in mini.clusters]
    assert len(record["system"]["paths"]) == len(mini.ordered_pairs)
    path = record["system"]["paths"][0]
    assert path["delay_s"] == mini.path(path["source"], path["target"]).delay_s
    assert path["rate_mbit"] == mini.path_rate_mbit(path["source"], path["target"])


def test_a_job_has_the_shape_of_the_api_with_its_verdict(record):
    job = record["jobs"][0]
    first, second = topology_named("mini").cluster_names[:2]
    assert (job["id"], job["specification"]["components"], job["started_s"]) == (1, (8, 4), 8.0)
    assert job["specification"]["arguments"] == {"grid": 400}
    assert [(part["cluster"], part["claimed_s"]) for part in job["components"]] == [(first, 3.0), (second, 3.5)]
    assert job["result"] == {"phases": 100, "late_phases": 12}
    assert job["verdict"] == "suspect"
    assert [reason["topic"] for reason in job["reasons"]] == ["phases", "host"]


def test_a_job_that_failed_has_the_time_of_that_event(record):
    assert [job["ended_s"] for job in record["jobs"]] == [None, 40.0, None]


def test_text_of_jobs_is_passed_on_as_it_is(record):
    assert record["jobs"][1]["specification"]["name"] == HOSTILE
    assert record["jobs"][1]["reason"] == HOSTILE
    assert json.loads(json.dumps(record))["jobs"][1]["reason"] == HOSTILE


def test_the_run_says_what_the_page_heads(record):
    run = record["run"]
    assert (run["name"], run["jobs"], run["dilation"], run["verdict"]) == ("evening", 3, 2.5, "suspect")
    assert run["band"] == (0.15, 0.2)
    assert not run["is_simulated"]
    assert record["end_s"] == 61.0


def test_background_links_checks_and_the_host(record):
    first, second = topology_named("mini").cluster_names[:2]
    assert record["background"] == [[0.0, first, 2, 1], [30.0, first, 6, 1]]
    assert (record["links"][0]["measured_s"], record["links"][0]["target"]) == (0.00502, second)
    assert [(check["moment"], check["verdict"]) for check in record["checks"]] == [
        ("before", "suspect"), ("after", "valid"),
    ]  # fmt: skip
    assert record["checks"][0]["reasons"][0]["topic"] == "links"
    assert record["evidence"] == [[10.0, 0.25]]


def test_a_torn_last_line_is_left_out(tmp_path):
    run = write_run(tmp_path / "run")
    with (run / "jobs.csv").open("a") as file:
        file.write("4,torn,poisson")
    assert [job["id"] for job in page_record(run)["jobs"]] == [1, 2, 3]


def test_an_event_that_is_cut_short_is_one_sentence(tmp_path):
    run = write_run(tmp_path / "run")
    events = (run / "decisions.jsonl").read_text().splitlines()
    (run / "decisions.jsonl").write_text("".join(f"{line[:-20]}\n" for line in events))
    with pytest.raises(InvalidInput, match=r"decisions\.jsonl, line [0-9]+: is no event of a job"):
        page_record(run)


def test_bytes_that_are_no_text_among_the_events_stop_nothing(tmp_path):
    run = write_run(tmp_path / "run")
    before = page_record(run)
    with (run / "decisions.jsonl").open("ab") as events:
        events.write(b"\xff\n")
    assert page_record(run) == before


def test_a_system_of_a_thousand_clusters_is_shown_without_its_million_paths():
    assert PageSystem.of(equal_clusters("32x4")).paths
    assert PageSystem.of(equal_clusters("1024x4")).paths == ()


def test_arguments_that_are_no_json_are_left_out(tmp_path):
    run = write_run(tmp_path / "run")
    jobs = (run / "jobs.csv").read_text().replace('"{""grid"": 400}"', "{broken")
    (run / "jobs.csv").write_text(jobs)
    assert page_record(run)["jobs"][0]["specification"]["arguments"] == {}


def test_a_run_without_a_job_is_shown(tmp_path):
    run = write_run(tmp_path / "run", progress="incomplete")
    for file in ("jobs.csv", "components.csv", "background.csv"):
        (run / file).unlink()
    record = page_record(run)
    assert (record["jobs"], record["background"], record["end_s"]) == ([], [], 0.0)


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"is no run's directory"):
        page_record(tmp_path)
