"""Jobs on a running testbed: ranks run inside their allocations, and a job leaves nothing behind, however it ends."""

from pathlib import Path

import pytest
import yaml

from emulator.client import BrokerClient
from emulator.containers.state import testbed_state
from emulator.model.errors import Unauthorized
from emulator.model.job import JobState
from tests.live.command_line import CommandLine
from tests.live.grid import SHORT, Grid


def test_ranks_run_inside_the_allocations_of_both_components(grid: Grid) -> None:
    number = grid.submit(8, 8)
    job = grid.await_state(number, JobState.RUNNING)
    clusters = [component.cluster for component in job.components]
    assert len(set(clusters)) == 2
    for component in job.components:
        assert grid.ranks_at(component.cluster) == 8
        assert grid.at(component.cluster, f"squeue -h -j {component.allocation} -o '%t %C'") == "R 8"
        step_of_rank = grid.at(
            component.cluster,
            "pid=$(pgrep -x start-rank | head -1); while [ $pid -gt 1 ]; do "
            "tr '\\0' ' ' < /proc/$pid/cmdline | grep -o 'slurmstepd: \\[[0-9]*'; "
            "pid=$(awk '{print $4}' /proc/$pid/stat); done",
        )
        assert step_of_rank == f"slurmstepd: [{component.allocation}"
    grid.cancel(number)
    assert grid.job(number).reason == "Cancelled while it was running."
    grid.nothing_held_at(*clusters)


def test_scancel_at_one_head_ends_the_ranks_everywhere(grid: Grid) -> None:
    number = grid.submit(4, 4, clusters=["leiden", "utrecht"])
    grid.await_state(number, JobState.RUNNING)
    grid.at("utrecht", "scancel -u researcher")
    assert "utrecht" in grid.await_state(number, JobState.FAILED).reason
    grid.nothing_held_at("leiden", "utrecht")


def test_a_rank_that_is_killed_fails_the_job_and_no_rank_stays(grid: Grid) -> None:
    number = grid.submit(4, 4, clusters=["amsterdam", "delft"])
    grid.await_state(number, JobState.RUNNING)
    grid.at("delft", "pkill -KILL -o -f '^python3 -m apps'")
    assert grid.await_state(number, JobState.FAILED).exit_code not in (0, None)
    grid.nothing_held_at("amsterdam", "delft")


def test_an_application_s_complaint_becomes_the_job_s_reason(grid: Grid) -> None:
    job = grid.await_state(grid.submit(2, arguments={"grid": 0, "iterations": 1}), JobState.FAILED)
    assert "grid" in job.reason
    assert "\n" not in job.reason


@pytest.mark.parametrize(
    ("application", "arguments", "components"),
    [("laplace", {"grid": 120, "iterations": 40}, (2, 2)), ("heat", {"grid": 120, "steps": 40}, (3, 2))],
)
def test_the_applications_of_w1_run_over_two_clusters(
    grid: Grid, application: str, arguments: dict[str, int], components: tuple[int, int]
) -> None:
    job = grid.finished(grid.submit(*components, application=application, arguments=arguments))
    assert job.result is not None
    assert job.result["iterations"] == 40
    assert job.result["interconnects"].startswith("myrinet")


def test_the_commands_submit_await_show_cancel_and_refuse_a_job(testbed: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    stated = {"application": "poisson", "arguments": {**SHORT, "tolerance": 0}, "components": [4, 4]}
    file.write_text(yaml.safe_dump(stated))
    (job,) = testbed.succeed("submit", str(file), "--wait", "--json").as_json()
    assert (job["state"], job["result"]["iterations"]) == ("finished", SHORT["iterations"])
    shown = testbed.succeed("jobs", str(job["id"]), "--json").as_json()
    assert shown["finished_s"] == job["finished_s"]
    file.write_text(yaml.safe_dump({**stated, "arguments": {"grid": 400, "iterations": 1_000_000, "tolerance": 0}}))
    (job,) = testbed.succeed("submit", str(file), "--json").as_json()
    (cancelled,) = testbed.succeed("cancel", str(job["id"]), "--json").as_json()
    assert cancelled["state"] == "cancelled"
    file.write_text(yaml.safe_dump({**stated, "components": [17, 1]}))
    refused = testbed("submit", str(file))
    assert refused.exit_code == 1
    assert "component of 17 processors" in refused.sentence
    assert len(refused.errors.strip().splitlines()) == 1


def test_a_wrong_token_is_refused_in_one_sentence(testbed: CommandLine) -> None:
    api_url = testbed_state(testbed.name).api_url
    with BrokerClient(api_url, "wrong") as client, pytest.raises(Unauthorized, match="token"):
        client.clusters()
