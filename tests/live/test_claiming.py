"""Claims on clusters with other users, and plain programs; a job leaves nothing behind, however it ends."""

import pytest

from emulator.model.job import JobState
from emulator.model.scheduling import StatedClaiming
from emulator.model.views import EventKind, RunRequest
from tests.live.grid import SHORT, Grid

SLEEP = ["sleep", "1000"]
POSTPONEMENT_S = 20


def submit_plain(grid: Grid, command: list[str], components: list[int], clusters: list[str]) -> int:
    return grid.submit(*components, kind="plain", application="plain", arguments={}, command=command, clusters=clusters)


def cancel(grid: Grid, number: int, state: JobState) -> None:
    grid.cancel(number)
    assert grid.job(number).reason == f"Cancelled while it was {state}."


def no_process_at(grid: Grid, cluster: str, command: list[str]) -> bool:
    return grid.at(cluster, f"pgrep -fc '^{' '.join(command)}$' || true") == "0"


def test_a_claim_that_others_were_quicker_for_is_tried_again_and_then_succeeds(grid: Grid) -> None:
    claiming = StatedClaiming(postponement_s=POSTPONEMENT_S)
    run = grid.client.take_run(RunRequest(name="contended", claiming=claiming, paced_middleware=False)).id
    try:
        grid.client.start_run(run)
        with grid.taken_by_others("utrecht"):
            job = grid.submit(4, 4, clusters=["leiden", "utrecht"], arguments=SHORT, run=run)
            failed = next(event for event in grid.client.follow(run) if event.kind is EventKind.CLAIM_FAILED)
            assert failed.detail["cluster"] == "utrecht"
            assert grid.at("leiden", "squeue -h") == grid.at("utrecht", "squeue -h") == ""
        ended = next(event.job for event in grid.client.follow(run) if event.job and event.job.state.final)
    finally:
        grid.client.end_run(run)
    assert (ended.id, ended.state, ended.reason) == (job, JobState.FINISHED, "")
    assert ended.claiming_tries == 2
    assert ended.placement_tries == 1
    assert ended.additional_claiming_s == POSTPONEMENT_S
    assert ended.started_s >= ended.planned_start_s == pytest.approx(ended.placed_s + POSTPONEMENT_S)
    grid.nothing_held_at("leiden", "utrecht")


def test_a_plain_program_runs_on_every_processor_of_both_components_and_its_output_is_kept(grid: Grid) -> None:
    number = submit_plain(grid, ["printf", "%s\\n", "$(hostname); it's a word"], [3, 2], ["leiden", "utrecht"])
    job = grid.finished(number)
    assert job.exit_code == 0
    assert job.submitted_s <= job.placed_s <= job.claimed_s <= job.started_s <= job.finished_s
    assert grid.client.output(number).output == "$(hostname); it's a word\n" * 5
    grid.nothing_held_at("leiden", "utrecht")


def test_scancel_at_one_head_ends_a_plain_program_everywhere(grid: Grid) -> None:
    number = submit_plain(grid, SLEEP, [2, 2], ["leiden", "utrecht"])
    grid.await_state(number, JobState.RUNNING)
    grid.at("utrecht", "scancel -u researcher")
    assert "utrecht" in grid.await_state(number, JobState.FAILED).reason
    grid.nothing_held_at("leiden", "utrecht")
    assert no_process_at(grid, "leiden", SLEEP)


def test_a_job_cancelled_while_it_is_queued_or_running_leaves_nothing(grid: Grid) -> None:
    running = submit_plain(grid, SLEEP, [16], ["delft"])
    grid.await_state(running, JobState.RUNNING)
    queued = submit_plain(grid, SLEEP, [16], ["delft"])
    grid.await_state(queued, JobState.QUEUED)
    cancel(grid, queued, JobState.QUEUED)
    cancel(grid, running, JobState.RUNNING)
    grid.nothing_held_at("delft")
    assert no_process_at(grid, "delft", SLEEP)


def test_a_job_cancelled_while_it_is_claiming_leaves_nothing(grid: Grid) -> None:
    with grid.taken_by_others("utrecht"):
        number = submit_plain(grid, SLEEP, [2, 2], ["leiden", "utrecht"])
        grid.await_state(number, JobState.CLAIMING)
        cancel(grid, number, JobState.CLAIMING)
        grid.nothing_held_at("leiden", "utrecht")
