"""An MPI job that spans a container and a real cluster, as the broker starts and follows it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from emulator.broker.jobs.mpi_runner import MpiRunner
from emulator.broker.jobs.outputs import JobOutput
from emulator.broker.jobs.ranks import ApplicationRanks
from emulator.broker.jobs.reports import Ended
from emulator.clusters.protocol import NodeShare, Part
from emulator.model.errors import ClusterUnreachable
from emulator.model.job import JobState
from emulator.model.settings import BrokerSettings, Head
from tests.unit.broker.scripted_cluster import ScriptedCluster

WITHIN_HOST_S = 60.0


class Claims:
    """Claims that hold their processors: in a real cluster and, first in time but not in order, in a container."""

    def __init__(self) -> None:
        self.das, self.east = ScriptedCluster("das", 8), ScriptedCluster("east", 8)
        self.east.held["1"] = ("0-7.1-east", 2)

    def parts(self) -> list[Part]:
        return [
            Part("fs0", "31", 4, (NodeShare("n1", 4),), ("-p", "22", "alice@fs0")),
            Part("10.0.0.1", "1", 2),
        ]

    def managers(self) -> list[ScriptedCluster]:
        return [self.das, self.east]

    def await_early_end(self, host_wait_s: float) -> str:
        return ""


@pytest.fixture
def claims() -> Claims:
    return Claims()


@pytest.fixture
def runner(tmp_path: Path) -> MpiRunner:
    files = ("topology_file", "token_file", "key_file", "known_hosts_file", "journal_file")
    heads = (Head(cluster="das", address="fs0"), Head(cluster="east", address="10.0.0.1"))
    settings = BrokerSettings(testbed="t", heads=heads, **dict.fromkeys(files, tmp_path))
    output = JobOutput(tmp_path, 7)
    ranks = ApplicationRanks(lambda parts: ["start-rank", "poisson"], output)
    return MpiRunner("0-7", ranks, settings, output)


def begun(runner: MpiRunner, claims: Claims) -> tuple[threading.Thread, list[Ended]]:
    ends: list[Ended] = []
    thread = threading.Thread(
        target=lambda: ends.append(runner.run(claims, lambda: None, lambda started: None)), daemon=True
    )
    thread.start()
    deadline = time.monotonic() + WITHIN_HOST_S
    while not claims.east.programs:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return thread, ends


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_the_real_head_lets_the_job_in_as_long_as_it_runs(runner, claims, is_cancelled):
    thread, ends = begun(runner, claims)
    ((use, public_key),) = claims.das.admitted.items()
    assert (use, public_key.split()[0]) == ("job-0-7", "ssh-ed25519")
    assert "BEGIN OPENSSH PRIVATE KEY" in claims.east.scripts[0]
    assert public_key not in claims.east.scripts[0]
    if is_cancelled:
        runner.close()
    else:
        claims.east.programs[0].finish()
    thread.join(WITHIN_HOST_S)
    assert ends[0].state is (JobState.FAILED if is_cancelled else JobState.FINISHED)
    assert (claims.das.admitted, claims.east.admitted) == ({}, {})


def test_a_job_that_its_real_head_cannot_let_in_does_not_start(runner, claims):
    claims.das.silent = True
    with pytest.raises(ClusterUnreachable, match="'das' stopped answering"):
        runner.run(claims, lambda: None, lambda started: None)
    assert claims.east.programs == []


def test_a_job_whose_connection_is_lost_names_the_cluster_that_says_no_more(runner, claims):
    thread, ends = begun(runner, claims)
    claims.east.programs[0].end(-1)
    thread.join(WITHIN_HOST_S)
    (ended,) = ends
    assert (ended.state, ended.exit_code) == (JobState.FAILED, -1)
    assert ended.reason.startswith("The connection to cluster 'east' was lost while the job ran")
