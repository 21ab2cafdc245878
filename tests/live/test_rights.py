"""What a job, the broker and other users of the host may do, tried in the places where they run."""

from __future__ import annotations

import stat

import pytest

from emulator.containers.names import USER
from emulator.containers.state import testbed_state
from emulator.model.job import JobState
from tests.live.grid import Grid, until

REACHES = "timeout 3 bash -c '</dev/tcp/{address}/{port}' && echo reached || echo closed"
BROKER_STATUS = "cat /proc/$(pgrep -o -f 'emulator[.]broker')/status"


def heads(grid: Grid) -> list[str]:
    return [cluster.head for cluster in testbed_state(grid.testbed.name).record.clusters]


def first_cluster(grid: Grid) -> str:
    return testbed_state(grid.testbed.name).record.clusters[0].name


def test_a_job_reaches_the_other_clusters_and_neither_the_host_nor_the_internet(grid: Grid) -> None:
    cluster, (_, other, *_) = first_cluster(grid), heads(grid)
    host = f"{other.rpartition('.')[0]}.1"

    def tried(address: str, port: int) -> str:
        said = grid.at(cluster, REACHES.format(address=address, port=port), user=USER).splitlines()
        # The shell's own complaint may come before or after it.
        return next(line for line in said if line in ("reached", "closed"))

    assert tried(other, 22) == "reached"
    assert tried(host, 22) == tried("1.1.1.1", 443) == "closed"
    assert "default" not in grid.at(cluster, "ip route")
    assert f"prohibit {host}" in grid.at(cluster, "ip route")


def test_the_key_of_the_grid_runs_commands_and_forwards_nothing(grid: Grid) -> None:
    cluster, (_, other, *_) = first_cluster(grid), heads(grid)
    login = f"ssh -o BatchMode=yes -o ConnectTimeout=5 {other}"
    assert grid.at(cluster, f"{login} srun --version", user=USER).startswith("slurm")
    forwarded = grid.at(
        cluster,
        f"ssh -o BatchMode=yes -o ExitOnForwardFailure=yes -N -R 7000:127.0.0.1:22 {other} 2>&1; echo $?",
        user=USER,
    )
    assert forwarded.splitlines()[-1] == "255"
    assert "PTY allocation request failed" in grid.at(cluster, f"ssh -tt -o BatchMode=yes {other} true", user=USER)


def test_no_container_printed_a_key_or_the_token(grid: Grid) -> None:
    state = testbed_state(grid.testbed.name)
    printed = grid.testbed.succeed("logs", "--lines", "10000").output
    assert "PRIVATE KEY" not in printed
    assert state.token not in printed


def test_the_broker_runs_as_a_user_of_its_own_that_can_only_start_and_end_a_process_of_another_user(grid: Grid) -> None:
    status = grid.broker_container.exec_run(["sh", "-c", BROKER_STATUS]).output.decode()
    values = {name: value.split() for name, _, value in (line.partition(":") for line in status.splitlines())}
    assert values["Uid"] == ["990"] * 4
    assert values["CapBnd"] == values["CapEff"] == ["00000000000000e0"]
    assert values["CapAmb"] == ["0000000000000000"]
    kept = grid.broker_container.exec_run(["stat", "-c", "%U %a", "/run/broker"]).output.decode().split()
    assert kept == ["broker", "700"]


def test_the_session_folder_of_a_job_is_its_user_s_alone(grid: Grid) -> None:
    cluster = first_cluster(grid)
    job = grid.submit(2, clusters=[cluster])
    grid.await_state(job, JobState.RUNNING)
    listed = grid.at(cluster, f"stat -c '%U %a' /tmp/{grid.testbed.name}-0-{job}-*")
    assert listed.splitlines() == [f"{USER} 700"]
    grid.cancel(job)


@pytest.mark.parametrize("size", [100_000, pytest.param(40_000, marks=pytest.mark.long)])
def test_a_job_that_takes_too_much_memory_fails_alone_with_one_sentence(grid: Grid, size: int) -> None:
    cluster = first_cluster(grid)
    job = grid.submit(2, clusters=[cluster], arguments={"grid": size, "iterations": 10})
    ended = until(lambda: found if (found := grid.job(job)).state.final else None, host_within_s=300)
    assert ended.state is JobState.FAILED
    assert ended.reason
    assert "\n" not in ended.reason
    assert grid.is_well()
    grid.nothing_held_at(cluster)
    assert grid.finished(grid.submit(2, clusters=[cluster], arguments={"grid": 100, "iterations": 20}))


def test_the_header_for_curl_is_the_owner_s_alone(grid: Grid) -> None:
    file = testbed_state(grid.testbed.name).folder / "authorization"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
