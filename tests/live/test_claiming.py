"""Claiming on a standing `mini` whose clusters have other users too, and plain jobs; nothing is left however they end.

Needs Docker with Compose.
"""

import contextlib
from collections.abc import Iterator

import pytest

from emulator.client import BrokerClient
from emulator.containers.state import standing
from emulator.model.claiming import StatedClaiming
from emulator.model.job import JobSpecification, JobState
from emulator.model.views import EventKind, RunRequest, Submission
from tests.live.grid import Grid

SLEEP = ["sleep", "1000"]
POSTPONEMENT_S = 20


def submit_plain(grid: Grid, command: list[str], components: list[int], clusters: list[str]) -> int:
    plain = {"kind": "plain", "application": "plain", "arguments": {}, "command": command}
    return grid.submit(**plain, components=components, request="fixed", clusters=clusters)


@contextlib.contextmanager
def taken_by_others(grid: Grid, cluster: str) -> Iterator[None]:
    """All processors of `cluster` are kept for another user of it, though its manager still calls them idle."""
    made = grid.at(
        cluster,
        "scontrol create reservation reservationname=theirs user=root starttime=now duration=60 nodes=ALL "
        "flags=ignore_jobs",
    )
    assert "theirs" in made, made
    try:
        yield
    finally:
        grid.at(cluster, "scontrol delete reservation=theirs")


def cancel(grid: Grid, number: int, state: str) -> None:
    grid.testbed.succeed("cancel", str(number))
    assert grid.await_state(number, "cancelled")["reason"] == f"Cancelled while it was {state}."


def no_process_at(grid: Grid, cluster: str, command: list[str]) -> bool:
    return grid.at(cluster, f"pgrep -fc '^{' '.join(command)}$' || true") == "0"


def test_a_claim_that_others_were_quicker_for_is_tried_again_and_then_succeeds(grid):
    state = standing(grid.testbed.name)
    with BrokerClient(state.api_url, state.token) as broker:
        claiming = StatedClaiming(postponement_s=POSTPONEMENT_S)
        run = broker.take_run(RunRequest(name="contended", claiming=claiming, paced_middleware=False)).id
        try:
            broker.start_run(run)
            with taken_by_others(grid, "utrecht"):
                specification = JobSpecification(
                    application="poisson",
                    arguments={"grid": 100, "iterations": 20},
                    components=(4, 4),
                    request="fixed",
                    clusters=("leiden", "utrecht"),
                )
                job = broker.submit(Submission(specification=specification, run=run)).id
                failed = next(event for event in broker.follow(run) if event.kind is EventKind.CLAIM_FAILED)
                assert failed.detail["cluster"] == "utrecht"
                assert grid.at("leiden", "squeue -h") == grid.at("utrecht", "squeue -h") == ""
            ended = next(event.job for event in broker.follow(run) if event.job and event.job.state.final)
        finally:
            broker.end_run(run)
    assert (ended.id, ended.state, ended.reason) == (job, JobState.FINISHED, "")
    assert ended.claiming_tries == 2
    assert ended.placement_tries == 1
    assert ended.additional_claiming_s == POSTPONEMENT_S
    assert ended.started_s >= ended.planned_start_s == pytest.approx(ended.placed_s + POSTPONEMENT_S)
    grid.nothing_held_at("leiden", "utrecht")


def test_a_plain_program_runs_on_every_processor_of_both_components_and_its_output_is_kept(grid):
    number = submit_plain(grid, ["printf", "%s\\n", "$(hostname); it's a word"], [3, 2], ["leiden", "utrecht"])
    job = grid.await_state(number, "finished", "failed")
    assert (job["state"], job["exit_code"]) == ("finished", 0), job["reason"]
    assert job["submitted_s"] <= job["placed_s"] <= job["claimed_s"] <= job["started_s"] <= job["finished_s"]
    state = standing(grid.testbed.name)
    with BrokerClient(state.api_url, state.token) as broker:
        assert broker.output(number).output == "$(hostname); it's a word\n" * 5
    grid.nothing_held_at("leiden", "utrecht")


def test_scancel_at_one_head_ends_a_plain_program_everywhere(grid):
    number = submit_plain(grid, SLEEP, [2, 2], ["leiden", "utrecht"])
    grid.await_state(number, "running")
    grid.at("utrecht", "scancel -u researcher")
    assert "utrecht" in grid.await_state(number, "failed")["reason"]
    grid.nothing_held_at("leiden", "utrecht")
    assert no_process_at(grid, "leiden", SLEEP)


def test_a_job_cancelled_while_it_is_queued_starting_or_running_leaves_nothing(grid):
    for state in ("starting", "running"):
        number = submit_plain(grid, SLEEP, [16], ["delft"])
        grid.await_state(number, state)
        if state == "running":
            queued = submit_plain(grid, SLEEP, [16], ["delft"])
            grid.await_state(queued, "queued")
            cancel(grid, queued, "queued")
        cancel(grid, number, state)
        grid.nothing_held_at("delft")
        assert no_process_at(grid, "delft", SLEEP)


def test_a_job_cancelled_while_it_is_claiming_leaves_nothing(grid):
    with taken_by_others(grid, "utrecht"):
        number = submit_plain(grid, SLEEP, [2, 2], ["leiden", "utrecht"])
        grid.await_state(number, "claiming")
        cancel(grid, number, "claiming")
        grid.nothing_held_at("leiden", "utrecht")
