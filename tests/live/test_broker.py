"""Jobs on a standing `mini`: ranks inside their allocations, and nothing left behind however a job ends.

Needs Docker with Compose.
"""

import pytest
import yaml

from emulator.client import BrokerClient
from emulator.containers.state import standing
from emulator.model.errors import Unauthorized

SHORT = {"grid": 100, "iterations": 20}


def test_ranks_run_inside_the_allocations_of_both_components(grid):
    number = grid.submit(components=[8, 8])
    job = grid.await_state(number, "running")
    clusters = [component["cluster"] for component in job["components"]]
    assert len(set(clusters)) == 2
    for component in job["components"]:
        cluster, allocation = component["cluster"], component["allocation"]
        assert grid.ranks_at(cluster) == 8
        assert grid.at(cluster, f"squeue -h -j {allocation} -o '%t %C'") == "R 8"
        step_of_rank = grid.at(
            cluster,
            "pid=$(pgrep -f '^python3 -m apps' | head -1); while [ $pid -gt 1 ]; do "
            "tr '\\0' ' ' < /proc/$pid/cmdline | grep -o 'slurmstepd: \\[[0-9]*'; "
            "pid=$(awk '{print $4}' /proc/$pid/stat); done",
        )
        assert step_of_rank == f"slurmstepd: [{allocation}"
    grid.testbed.succeed("cancel", str(number))
    assert grid.await_state(number, "cancelled")["reason"] == "Cancelled while it was running."
    grid.nothing_held_at(*clusters)


def test_a_finished_job_has_its_whole_timeline_and_its_result(grid):
    number = grid.submit(components=[4, 4, 4, 4], arguments=SHORT)
    job = grid.await_state(number, "finished", "failed")
    assert job["state"] == "finished", job["reason"]
    moments = [job[f"{moment}_s"] for moment in ("submitted", "placed", "claimed", "started", "finished", "released")]
    assert moments == sorted(moments)
    # mini's middleware takes 5 s + 1 s a component at dilation 1, and the start may only be late, never early.
    assert job["started_s"] - job["placed_s"] >= 9.0 - 0.001
    assert job["result"]["iterations"] == SHORT["iterations"]
    assert job["result"]["processors"] == 16
    grid.nothing_held_at(*{component["cluster"] for component in job["components"]})


def test_scancel_at_one_head_ends_the_ranks_everywhere(grid):
    number = grid.submit(components=[4, 4], request="fixed", clusters=["leiden", "utrecht"])
    grid.await_state(number, "running")
    grid.at("utrecht", "scancel -u researcher")
    job = grid.await_state(number, "failed")
    assert "utrecht" in job["reason"]
    grid.nothing_held_at("leiden", "utrecht")


def test_a_rank_that_is_killed_fails_the_job_and_no_rank_stays(grid):
    number = grid.submit(components=[4, 4], request="fixed", clusters=["amsterdam", "delft"])
    grid.await_state(number, "running")
    grid.at("delft", "pkill -KILL -o -f '^python3 -m apps'")
    job = grid.await_state(number, "failed")
    assert job["exit_code"] not in (0, None)
    grid.nothing_held_at("amsterdam", "delft")


def test_an_application_s_complaint_becomes_the_job_s_reason(grid):
    number = grid.submit(components=[2], arguments={"grid": 0, "iterations": 1})
    job = grid.await_state(number, "failed")
    assert "grid" in job["reason"]
    assert "\n" not in job["reason"]


@pytest.mark.parametrize(
    ("job", "said"),
    [
        ({"components": [65]}, "asks for 65 processors"),
        ({"components": [17, 1]}, "component of 17 processors"),
        ({"components": [8], "application": "quake"}, "no application 'quake'"),
        ({"components": [8], "colour": "red"}, "unknown key 'colour'"),
        ({"components": [8], "request": "fixed", "clusters": ["paris"]}, "no cluster 'paris'"),
    ],
)
def test_what_cannot_run_is_refused_in_one_sentence(grid, job, said):
    file = grid.folder / "job.yaml"
    file.write_text(yaml.safe_dump({"application": "poisson", "arguments": SHORT, **job}))
    outcome = grid.testbed("submit", str(file))
    assert outcome.exit_code == 1
    assert said in outcome.errors
    assert len(outcome.errors.strip().splitlines()) == 1


def test_a_wrong_token_is_refused_in_one_sentence(grid):
    api_url = standing(grid.testbed.name).api_url
    with BrokerClient(api_url, "wrong") as client, pytest.raises(Unauthorized, match="token"):
        client.clusters()
