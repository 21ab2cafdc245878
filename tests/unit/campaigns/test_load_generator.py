"""The load generator: a campaign whose jobs locust submits to a double of the broker."""

from __future__ import annotations

import json
import socket

import httpx
import psutil
import pytest

from emulator.campaigns.live import run_campaign
from emulator.model.errors import InvalidInput, RunFailed
from emulator.model.records import RunProgress
from emulator.runs.run_directory import read_run
from workloads.campaign import campaign_named
from workloads.schedule import schedule

CAMPAIGN = campaign_named("first").changed(jobs=6, dilation=0.02)


def run(testbed, path, report_progress=lambda progress: None, **options):
    return run_campaign(testbed, CAMPAIGN, seed=1, path=path, report_progress=report_progress, **options)


@pytest.fixture
def port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def load_generators() -> list[psutil.Process]:
    return [child for child in psutil.Process().children(recursive=True) if "locust" in " ".join(child.cmdline())]


@pytest.mark.timed
def test_every_job_of_the_schedule_is_submitted_at_its_moment_and_recorded(testbed, broker, wide_area, tmp_path):
    run(testbed, tmp_path / "run")
    records = read_run(tmp_path / "run")
    planned = {arrival.specification.name: arrival for arrival in schedule(CAMPAIGN, 1)}
    assert {job.name for job in records.jobs} == set(planned)
    for job in records.jobs:
        assert job.components == planned[job.name].specification.components
        assert job.intended_arrival_s == pytest.approx(planned[job.name].arrival_s)
        host_lateness_s = (job.submitted_s - job.intended_arrival_s) * CAMPAIGN.dilation
        assert 0 <= host_lateness_s < 1
        assert job.wait_time_s == pytest.approx(5)
        assert (job.processor_gained_time_s, job.processor_wasted_time_s) == pytest.approx((1, 3))
        assert job.response_time_s == pytest.approx(job.wait_time_s + job.execution_time_s)
    assert records.manifest.progress is RunProgress.COMPLETE
    assert [link.moment for link in records.links] == ["before", "after"]
    assert wide_area.programmed == [0.02, 1.0]
    assert not broker.held
    assert len(records.components) == sum(len(job.components) for job in records.jobs)
    assert max(row.executing_processors for row in records.utilization) >= 4
    assert (tmp_path / "run" / "locust_stats.csv").is_file()
    events = [json.loads(line)["kind"] for line in (tmp_path / "run" / "decisions.jsonl").read_text().splitlines()]
    assert events[0] == "run-started"
    assert events[-1] == "run-ended"


def test_a_refused_submission_ends_the_campaign_with_the_brokers_sentence(testbed, broker, wide_area, tmp_path):
    broker.refusal = (422, "InvalidInput", "There is no application 'poisson'.")
    with pytest.raises(RunFailed, match="without submitting every job: There is no application 'poisson'"):
        run(testbed, tmp_path / "run")
    assert not broker.held
    assert wide_area.programmed[-1] == 1.0


def test_an_interrupt_gives_the_testbed_back(testbed, broker, wide_area, tmp_path):
    def interrupt(progress):
        if progress.submitted:
            raise KeyboardInterrupt

    broker.on_submit = lambda job: None
    with pytest.raises(KeyboardInterrupt):
        run(testbed, tmp_path / "run", interrupt)
    assert not broker.held
    assert wide_area.programmed[-1] == 1.0
    assert load_generators() == []
    assert read_run(tmp_path / "run").manifest.verdict_reasons == ("the run was interrupted",)


def test_its_own_page_is_shown_on_request_and_its_report_is_kept(testbed, broker, wide_area, tmp_path, port):
    pages: list[str] = []

    def look(progress):
        if progress.submitted and not pages:
            pages.append(httpx.get(f"http://127.0.0.1:{port}/", trust_env=False).text)

    run(testbed, tmp_path / "run", look, locust_port=port)
    assert "Locust" in pages[0]
    assert "/v1/jobs" in (tmp_path / "run" / "locust.html").read_text()
    assert len(read_run(tmp_path / "run").jobs) == CAMPAIGN.jobs
    assert load_generators() == []


def test_a_campaign_that_is_stopped_on_that_page_lacks_jobs_and_says_so(testbed, broker, wide_area, tmp_path, port):
    answers: list[httpx.Response] = []

    def stop(progress):
        if progress.submitted and not answers:
            answers.append(httpx.post(f"http://127.0.0.1:{port}/stop", trust_env=False))

    later = CAMPAIGN.changed(dilation=0.2)
    with pytest.raises(RunFailed, match=r"stopped on its page"):
        run_campaign(testbed, later, seed=1, path=tmp_path / "run", report_progress=stop, locust_port=port)
    assert not broker.held
    assert load_generators() == []


def test_a_port_in_use_is_refused_before_the_testbed_is_held(testbed, broker, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InvalidInput, match="choose another"):
        run(testbed, tmp_path / "run", locust_port=taken.getsockname()[1])
    assert not broker.held
    assert not (tmp_path / "run").exists()
