"""Jobs on a real cluster, whose head and nodes are separate machines; a topology states only its head's address.

A testbed with one emulated cluster uses the real one. Its broker and its cluster get addresses on the real cluster's
network, as they would at a site.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from emulator.client import BrokerClient
from emulator.containers.state import testbed_state
from emulator.model.job import JobState
from emulator.runs.run_directory import read_run
from tests.live.command_line import CommandLine
from tests.live.grid import SHORT, Grid, until
from tests.live.separate_cluster import JumpHost, SeparateCluster, jump_host, separate_cluster
from tests.unit.clusters.ssh_servers import ssh_reads

NAME = "livereal"
TOPOLOGY = """
name: half-real
processor: das2-pentium3
clusters:
  - {{name: north, nodes: 2, access_link: {{up_mbit: 20, down_mbit: 20}}}}
  - name: das
    nodes: 2
    processors_per_node: 4
    ssh:
      address: researcher@{address}
      key: {key}
      host_key: {host_key}
      partition: science
      sbatch: [--time=30, "--comment=a testbed's, see $HOME"]
      network: {network}
"""

BEHIND_A_JUMP_HOST = """
name: behind-a-jump-host
processor: das2-pentium3
clusters:
  - name: das
    nodes: 2
    processors_per_node: 4
    ssh: {address: das, partition: science}
"""

CAMPAIGN = """
name: half-real
topology: half-real
jobs: 2
interarrival: {distribution: exponential, mean_s: 1}
application: poisson
arguments: {grid: 100, iterations: 5, tolerance: 0}
component_counts: [2]
component_sizes: [2]
"""


@dataclass(frozen=True)
class HalfReal:
    """A testbed with the real cluster in its topology."""

    grid: Grid
    das: SeparateCluster

    def nothing_is_held(self) -> None:
        """Wait until the real cluster has no allocation and no rank left."""
        until(lambda: (self.das.at("head", "squeue -h"), sum(self.das.ranks().values())) == ("", 0), 20)


@dataclass(frozen=True)
class BehindAGate:
    """A testbed of the real cluster alone, and the jump host before it."""

    grid: Grid
    gate: JumpHost

    def runs_a_job(self) -> None:
        """Run a job over both nodes, by way of the gate."""
        until(lambda: all(cluster.reachable for cluster in self.grid.client.clusters()), 60)
        job = self.grid.finished(self.grid.submit(6, clusters=["das"], arguments=SHORT))
        assert job.result["processors"] == 6
        assert self.gate.logins() > 0


def topology_of(das: SeparateCluster, folder: Path, **other: str) -> Path:
    stated = {"address": das.address, "key": das.key, "host_key": das.fingerprint, "network": das.network, **other}
    file = folder / "half-real.yaml"
    file.write_text(TOPOLOGY.format(**stated))
    return file


@pytest.fixture(scope="module")
def das(images: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeparateCluster]:
    with separate_cluster(tmp_path_factory.mktemp("das")) as cluster:
        yield cluster


@contextmanager
def brought_up(name: str, das: SeparateCluster, topology: Path) -> Iterator[HalfReal]:
    """Bring up a testbed whose containers are on the real cluster's network."""
    testbed = CommandLine(name)
    if testbed.left_over():
        testbed.succeed("down")
    testbed.succeed("up", "--topology", str(topology))
    state = testbed_state(name)
    try:
        for container in (state.names.broker, *(cluster.container for cluster in state.record.clusters)):
            das.join(container)
        with BrokerClient(state.api_url, state.token) as client:
            until(lambda: all(cluster.reachable for cluster in client.clusters()), 30)
            yield HalfReal(Grid(testbed, client), das)
    finally:
        testbed.succeed("down")
    assert testbed.left_over() == []


@pytest.fixture(scope="module")
def half_real(das: SeparateCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HalfReal]:
    with brought_up(NAME, das, topology_of(das, tmp_path_factory.mktemp("half-real"))) as half_real:
        yield half_real


def test_a_job_in_the_real_cluster_has_its_ranks_on_the_nodes_that_slurm_gave(half_real: HalfReal) -> None:
    number = half_real.grid.submit(6, clusters=["das"])
    job = half_real.grid.await_state(number, JobState.RUNNING)
    assert half_real.das.ranks() in ({"head": 0, "n1": 4, "n2": 2}, {"head": 0, "n1": 2, "n2": 4})
    shown = half_real.das.at("head", f"squeue -h -j {job.components[0].allocation} -o '%P|%C|%l|%k'")
    assert shown == "science|6|30:00|a testbed's, see $HOME"
    half_real.grid.cancel(number)
    assert half_real.grid.job(number).reason == "Cancelled while it was running."
    half_real.nothing_is_held()


@pytest.mark.parametrize("clusters", [["north", "das"], ["das", "north"]])
def test_one_mpi_job_spans_the_container_and_the_real_cluster(half_real: HalfReal, clusters: list[str]) -> None:
    sizes = [{"north": 2, "das": 6}[cluster] for cluster in clusters]
    job = half_real.grid.finished(half_real.grid.submit(*sizes, clusters=clusters, arguments=SHORT))
    assert job.result["processors"] == 8
    assert [part.cluster for part in job.components] == clusters
    half_real.nothing_is_held()


def test_the_real_head_lets_a_job_of_a_container_in_by_a_key_that_goes_with_the_job(half_real: HalfReal) -> None:
    before = half_real.das.authorized_keys()
    number = half_real.grid.submit(2, 6, clusters=["north", "das"])
    half_real.grid.await_state(number, JobState.RUNNING)
    added = half_real.das.authorized_keys()[len(before) :]
    assert [line.split()[-1] for line in added] == [f"multicluster-testbed/{NAME}/job-0-{number}"]
    half_real.grid.cancel(number)
    half_real.grid.await_state(number, JobState.CANCELLED)
    assert half_real.das.authorized_keys() == before
    half_real.nothing_is_held()


def test_scancel_at_the_real_head_fails_the_job_everywhere(half_real: HalfReal) -> None:
    number = half_real.grid.submit(2, 6, clusters=["north", "das"])
    half_real.grid.await_state(number, JobState.RUNNING)
    half_real.das.at("head", "scancel -u researcher")
    assert "das" in half_real.grid.await_state(number, JobState.FAILED).reason
    half_real.nothing_is_held()


def test_only_the_emulated_links_are_programmed_and_status_says_so(half_real: HalfReal) -> None:
    shown = half_real.grid.testbed.succeed("status").output
    assert "unshaped    the links of das, which are real" in shown
    assert f"researcher@{half_real.das.address}" in shown


@pytest.mark.long
def test_a_campaign_over_the_real_cluster_runs_at_its_dilation_and_no_job_of_it_is_valid(
    half_real: HalfReal, tmp_path: Path
) -> None:
    file, out = tmp_path / "campaign.yaml", tmp_path / "run"
    file.write_text(CAMPAIGN)
    half_real.grid.testbed.succeed("campaign", "run", str(file), "--require", "suspect", "--out", str(out))
    run = read_run(out)
    assert [job.state for job in run.jobs] == [JobState.FINISHED] * 2
    assert {name for job in run.jobs for name in job.execution_clusters} >= {"das"}
    assert all("processors and links of das are real" in job.verdict_reasons for job in run.jobs)
    half_real.nothing_is_held()


def test_where_all_clusters_are_real_the_broker_is_the_only_container(das: SeparateCluster, tmp_path: Path) -> None:
    file = topology_of(das, tmp_path)
    file.write_text("".join(line for line in file.read_text().splitlines(keepends=True) if "north" not in line))
    with brought_up("liveallreal", das, file) as all_real:
        assert testbed_state("liveallreal").containers == ["liveallreal-broker"]
        job = all_real.grid.finished(all_real.grid.submit(3, clusters=["das"], arguments=SHORT))
        assert job.result["processors"] == 3
        all_real.nothing_is_held()
        assert "no link is emulated" in all_real.grid.testbed("verify").sentence


@contextmanager
def behind_a_jump_host(das: SeparateCluster, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BehindAGate]:
    """Bring up a testbed of the real cluster alone, which the user's `ssh das` reaches through the jump host."""
    testbed, file = CommandLine("livejump"), folder / "behind.yaml"
    file.write_text(BEHIND_A_JUMP_HOST)
    with jump_host(das, folder) as gate:
        ssh_reads(gate.config, folder / "bin", monkeypatch)
        if testbed.left_over():
            testbed.succeed("down")
        testbed.succeed("up", "--topology", str(file))
        try:
            state = testbed_state("livejump")
            gate.join(state.names.broker)
            with BrokerClient(state.api_url, state.token) as client:
                yield BehindAGate(Grid(testbed, client), gate)
        finally:
            testbed.succeed("down")
    assert testbed.left_over() == []


def test_a_head_behind_a_jump_host_is_reached_by_the_name_that_the_users_ssh_knows(
    das: SeparateCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with behind_a_jump_host(das, tmp_path, monkeypatch) as behind:
        behind.runs_a_job()


@pytest.mark.long
def test_the_way_through_a_jump_host_that_restarts_is_opened_again(
    das: SeparateCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with behind_a_jump_host(das, tmp_path, monkeypatch) as behind:
        behind.runs_a_job()
        behind.gate.restart()
        until(lambda: behind.gate.logins() > 0, 180)
        behind.runs_a_job()


def test_a_head_that_lacks_something_is_refused_in_one_sentence(das: SeparateCluster, tmp_path: Path) -> None:
    testbed = CommandLine("liverefused")
    other = "SHA256:" + 43 * "A"
    refused = testbed("up", "--topology", str(topology_of(das, tmp_path, host_key=other)))
    assert (refused.exit_code, testbed.left_over()) == (1, [])
    assert f"its host key is {das.fingerprint}, not {other}" in refused.sentence
    file = topology_of(das, tmp_path)
    file.write_text(file.read_text().replace("partition: science", "partition: arts"))
    assert (
        "partition 'arts' does not exist (state one of debug, science"
        in testbed("up", "--topology", str(file)).sentence
    )
    examined = testbed("doctor", "--topology", str(topology_of(das, tmp_path)), "--json").as_json()
    of_head = [row for row in examined if row["check"].startswith("das: ")]
    assert len(of_head) > 8
    assert all(row["ok"] for row in of_head), of_head
