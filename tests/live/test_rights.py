"""What a job, the broker and other users of the host may do, tried in the places where they run."""

from __future__ import annotations

import math
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from emulator.containers import engine
from emulator.containers.compose import CLUSTER_MEMORY_BYTES, PROCESSOR_MEMORY_BYTES
from emulator.containers.names import USER
from emulator.containers.state import testbed_state
from emulator.model.job import JobState
from tests.live.grid import Grid, until

REACHES = "timeout 3 bash -c '</dev/tcp/{address}/{port}' && echo reached || echo closed"
BROKER_STATUS = "cat /proc/$(pgrep -o -f 'emulator[.]broker')/status"
SMALL_BYTES = CLUSTER_MEMORY_BYTES + 16 * PROCESSOR_MEMORY_BYTES
"""What a cluster of 16 processors may use where the host's memory is small."""
BYTES_PER_POINT = 16
"""What all ranks of Poisson together fill for each point of the grid, in two arrays."""
BYTES_PER_POINT_OF_AN_ARRAY = 4
"""The bytes of one array of one of two ranks, for each point of the grid."""


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


@contextmanager
def small_memory(grid: Grid, cluster: str) -> Iterator[int]:
    """Yield the most memory that a cluster's container may use inside the context, which every host has."""
    container = engine.connect().containers.get(f"{grid.testbed.name}-{cluster}")
    own_bytes = container.attrs["HostConfig"]["Memory"]
    assert 0 < own_bytes < psutil.virtual_memory().total
    bytes_now = min(own_bytes, SMALL_BYTES)
    if psutil.virtual_memory().available < 2 * bytes_now:
        pytest.skip(f"this host has no room for {bytes_now} bytes beside what runs")
    container.update(mem_limit=bytes_now, memswap_limit=bytes_now)
    try:
        yield bytes_now
    finally:
        container.update(mem_limit=own_bytes, memswap_limit=own_bytes)


def reason_of_failure(grid: Grid, cluster: str, side_points: int) -> str:
    """Submit a job of two ranks with a grid of that size; check that it fails alone, and return the reason."""
    job = grid.submit(2, clusters=[cluster], arguments={"grid": side_points, "iterations": 10})
    ended = until(lambda: found if (found := grid.job(job)).state.final else None, host_within_s=300)
    assert ended.state is JobState.FAILED
    assert "\n" not in ended.reason
    assert grid.is_well()
    grid.nothing_held_at(cluster)
    assert grid.finished(grid.submit(2, clusters=[cluster], arguments={"grid": 100, "iterations": 20}))
    return ended.reason


@pytest.mark.long
def test_a_job_that_fills_its_cluster_s_memory_fails_alone_and_the_sentence_names_rank_and_signal(grid: Grid) -> None:
    """Two ranks ask for twice the memory of the container; no single array is larger than half of that memory."""
    cluster = first_cluster(grid)
    with small_memory(grid, cluster) as most_bytes:
        reason = reason_of_failure(grid, cluster, math.isqrt(2 * most_bytes // BYTES_PER_POINT))
    # By what watches the rank, or else by mpirun.
    assert re.search(r"\b[Rr]ank [01]\b.*\bsignal 9\b", reason), reason


def test_a_job_with_an_array_larger_than_the_host_s_memory_fails_alone_and_says_so(grid: Grid) -> None:
    if Path("/proc/sys/vm/overcommit_memory").read_text().strip() == "1":
        pytest.skip("this host's kernel promises any amount of memory")
    host_bytes = psutil.virtual_memory().total + psutil.swap_memory().total
    reason = reason_of_failure(grid, first_cluster(grid), math.isqrt(2 * host_bytes // BYTES_PER_POINT_OF_AN_ARRAY))
    assert re.match(r"Rank [01] failed with \w*MemoryError: ", reason), reason


def test_the_header_for_curl_is_the_owner_s_alone(grid: Grid) -> None:
    file = testbed_state(grid.testbed.name).folder / "authorization"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
