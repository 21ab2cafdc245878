"""`up` mends a testbed: after any fault of its parts nothing is lost and a co-allocated job runs.

Each fault is made on a running testbed that has finished a job and holds a file at one of its sites.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import docker
import docker.errors
import pytest
from docker.models.containers import Container

from emulator.containers import engine
from emulator.containers.state import testbed_state
from emulator.model.files import FileRegistration, FileView
from emulator.model.records import DECISIONS_FILE
from emulator.model.views import JobView, OutputView
from emulator.runs.run_directory import read_run
from tests.live.command_line import TWO_SITES_FILE, CommandLine, Outcome
from tests.live.conftest import jobs_of
from tests.live.container_shell import output_in
from tests.live.grid import SHORT, Grid, until
from tests.live.test_campaign import ANYWAY, SMALL

CLUSTERS = ("east", "west")
TURNS = 3


@dataclass(frozen=True)
class Parts:
    """The containers and networks of a testbed, for tests that break them."""

    client: docker.DockerClient
    testbed: str

    def container(self, part: str) -> Container:
        return self.client.containers.get(f"{self.testbed}-{part}")

    def kill(self, *parts: str) -> None:
        for part in parts:
            self.container(part).kill()

    def remove(self, *parts: str) -> None:
        for part in parts:
            self.container(part).remove(force=True)

    def end_daemon(self, cluster: str, command: str) -> None:
        code, said = self.container(cluster).exec_run(["pkill", "-9", "-f", command])
        assert code == 0, said

    def disconnect(self, part: str, network: str) -> None:
        self.client.networks.get(f"{self.testbed}-{network}").disconnect(f"{self.testbed}-{part}", force=True)

    def stop_all(self) -> None:
        for container in engine.containers_of(self.client, self.testbed):
            container.stop(timeout=2)

    def delete_networks(self) -> None:
        for network in engine.networks_of(self.client, self.testbed):
            for container in engine.containers_of(self.client, self.testbed):
                if network.name in container.attrs["NetworkSettings"]["Networks"]:
                    network.disconnect(container, force=True)
            network.remove()

    def attach_with_another_address(self, part: str, network: str) -> None:
        """Attach a part anew; a cluster that runs then has no address at all, although the engine says that it has."""
        self.disconnect(part, network)
        with contextlib.suppress(docker.errors.APIError):
            self.client.networks.get(f"{self.testbed}-{network}").connect(f"{self.testbed}-{part}")


Fault = Callable[[Parts], None]

FAULTS: dict[str, Fault] = {
    "broker killed": lambda parts: parts.kill("broker"),
    "cluster killed": lambda parts: parts.kill("east"),
    "router killed": lambda parts: parts.kill("wan"),
    "slurmctld killed": lambda parts: parts.end_daemon("east", "slurmctld -D"),
    "slurmd killed": lambda parts: parts.end_daemon("west", "slurmd -D -N n2"),
    "munged killed": lambda parts: parts.end_daemon("east", "munged"),
    "sshd killed": lambda parts: parts.end_daemon("west", "sshd -D"),
    "control network taken from a cluster": lambda parts: parts.disconnect("east", "control"),
    "site network taken from a cluster": lambda parts: parts.disconnect("west", "site-west"),
    "both networks taken from a cluster": lambda parts: (
        parts.disconnect("east", "control"), parts.disconnect("east", "site-east"))[0],
    "network taken from the router": lambda parts: parts.disconnect("wan", "site-east"),
    "network taken from the broker": lambda parts: parts.disconnect("broker", "control"),
    "all containers stopped": Parts.stop_all,
}  # fmt: skip
"""The faults of which each must be mended three times out of three."""

SAVED_WITHIN_HOST_S = 6.0
"""How long after a change Slurm has written its state. A `slurmctld` that is killed sooner forgets the allocation."""

RARE: dict[str, Fault] = {
    "cluster and router killed": lambda parts: parts.kill("east", "wan"),
    "both clusters killed": lambda parts: parts.kill("east", "west"),
    "cluster removed": lambda parts: parts.remove("west"),
    "broker removed": lambda parts: parts.remove("broker"),
    "all containers removed": lambda parts: parts.remove("east", "west", "wan", "broker"),
    "cluster paused": lambda parts: parts.container("east").pause(),
    "router paused": lambda parts: parts.container("wan").pause(),
    "broker paused": lambda parts: parts.container("broker").pause(),
    "cluster restarted by hand, so that its links are gone": lambda parts: parts.container("east").restart(timeout=2),
    "cluster has another address": lambda parts: parts.attach_with_another_address("east", "control"),
    "networks deleted": Parts.delete_networks,
    "networks deleted while all is stopped": lambda parts: (parts.stop_all(), parts.delete_networks())[0],
}


@pytest.fixture(scope="module")
def parts(two_sites: CommandLine) -> Parts:
    return Parts(engine.connect(), two_sites.name)


@pytest.fixture
def grid(two_sites: CommandLine) -> Iterator[Grid]:
    with jobs_of(two_sites) as grid:
        yield grid


@dataclass(frozen=True)
class Belongings:
    """What a mended testbed must still have."""

    job: JobView
    output: OutputView
    file: FileView
    token: str
    port: int

    @classmethod
    def of(cls, grid: Grid, job: int) -> Belongings:
        """Return what the testbed has now; its file server is asked for the file itself."""
        state = testbed_state(grid.testbed.name)
        stored = grid.at("east", f"cat /home/researcher/.testbed/files/{grid.testbed.name}/input | sha256sum")
        file = grid.client.file("input")
        assert stored.split()[0] == file.sha256
        return cls(grid.job(job), grid.client.output(job), file, state.token, state.record.api_port)


@pytest.fixture
def job(grid: Grid) -> Iterator[int]:
    """Finish a job, and register a file at a site; the file is removed afterwards."""
    if any(file.name == "input" for file in grid.client.files()):
        grid.client.remove_file("input")  # a failed test left it there
    grid.client.register_file(FileRegistration(name="input", size_bytes=100_000, sites=("east",)))
    finished = grid.finished(grid.submit(2, 2, clusters=list(CLUSTERS), arguments=SHORT)).id
    yield finished
    with jobs_of(grid.testbed) as now:  # the test may have made the token anew
        now.client.remove_file("input")


def mended(grid: Grid, job: int, fault: Callable[[], None]) -> Outcome:
    """Make `fault`, bring the testbed up, and check that nothing is lost and a co-allocated job runs."""
    before = Belongings.of(grid, job)
    fault()
    outcome = grid.testbed.succeed("up", "--topology", str(TWO_SITES_FILE))
    assert Belongings.of(grid, job) == before
    assert grid.testbed("status").exit_code == 0
    grid.finished(grid.submit(4, 4, clusters=list(CLUSTERS), arguments=SHORT))
    assert grid.is_well()
    return outcome


def test_a_cluster_killed_in_a_campaign_ends_it_is_named_and_mended(
    grid: Grid, job: int, parts: Parts, tmp_path: Path
) -> None:
    """The broker loses its network, too."""
    out = tmp_path / "run"

    def fault() -> None:
        ended = killed_in_a_campaign(grid.testbed, parts, out)
        assert ended.exit_code == 1
        assert f"container {parts.testbed}-east does not run" in ended.sentence
        assert str(out) in ended.sentence
        refused = grid.testbed("verify")
        assert refused.exit_code == 1
        assert f"{parts.testbed}-east does not run (`testbed up` mends it)." in refused.sentence
        parts.disconnect("broker", "control")
        refused = grid.testbed("status", "--json")
        assert refused.exit_code == 1
        assert [cluster["state"] for cluster in refused.as_json()] == ["exited", "running"]
        assert f"{parts.testbed}-east is exited" in refused.sentence
        assert f"{parts.testbed}-broker is not on {parts.testbed}-control" in refused.sentence
        assert "`testbed up` mends this" in refused.sentence

    outcome = mended(grid, job, fault)
    assert read_run(out).manifest.verdict == "void"
    assert "was mended" in outcome.errors
    assert "wide area checked" in outcome.errors


def killed_in_a_campaign(testbed: CommandLine, parts: Parts, out: Path) -> Outcome:
    """Kill the cluster `east` while a job of a campaign runs, and return how the campaign ended."""
    file = out.with_suffix(".yaml")
    file.write_text(
        SMALL.replace("iterations: 60", "iterations: 100000").replace("topology: quick", "topology: two-sites")
    )
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(testbed, "campaign", "run", str(file), "--dilation", "1", *ANYWAY, "--out", str(out))
        decisions = out / DECISIONS_FILE
        until(lambda: running.done() or (decisions.is_file() and '"kind":"started"' in decisions.read_text()))
        parts.kill("east")
        return running.result()


@pytest.mark.long
@pytest.mark.parametrize("turn", range(TURNS))
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_mended_every_time(grid: Grid, job: int, parts: Parts, fault: Fault, turn: int) -> None:
    mended(grid, job, lambda: fault(parts))


@pytest.mark.long
@pytest.mark.parametrize("fault", RARE.values(), ids=RARE.keys())
def test_a_fault_that_is_rare_is_mended_as_well(grid: Grid, job: int, parts: Parts, fault: Fault) -> None:
    mended(grid, job, lambda: fault(parts))


@pytest.mark.long
@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize(
    "lost", ["compose.yaml", "broker.json", "topology.yaml", "token", "keys/known_hosts", "keys/hosts/east"]
)
def test_files_of_the_state_that_are_lost_are_restored(
    grid: Grid, job: int, parts: Parts, lost: str, running: bool
) -> None:
    """A token or key that no running container has any more is made anew; nothing else is lost."""
    path = testbed_state(grid.testbed.name).folder / lost
    before = testbed_state(grid.testbed.name).token
    if not running:
        parts.stop_all()
    path.unlink()
    grid.testbed.succeed("up", "--topology", str(TWO_SITES_FILE))
    assert path.is_file()
    assert path.stat().st_size > 0
    state = testbed_state(grid.testbed.name)
    if running or lost != "token":
        assert state.token == before
    with jobs_of(grid.testbed) as again:
        assert again.job(job).state == "finished"
        again.finished(again.submit(4, 4, clusters=list(CLUSTERS), arguments=SHORT))


@pytest.mark.long
def test_a_job_that_runs_outlives_its_slurmctld_and_slurmd(grid: Grid, parts: Parts) -> None:
    job = grid.submit(2, 2, clusters=list(CLUSTERS), arguments={"grid": 100, "iterations": 4000})
    until(lambda: grid.job(job).state == "running")
    time.sleep(SAVED_WITHIN_HOST_S)
    parts.end_daemon("east", "slurmctld -D")
    parts.end_daemon("west", "slurmd -D -N n1")
    grid.finished(job)


@pytest.mark.long
def test_a_daemon_that_ends_is_named_by_status_until_it_is_back(grid: Grid, parts: Parts) -> None:
    parts.container("east").exec_run(["mv", "/usr/sbin/munged", "/usr/sbin/munged.away"])
    parts.end_daemon("east", "munged")
    refused = grid.testbed("status")
    assert refused.exit_code == 1
    assert f"{parts.testbed}-east has no munged" in refused.sentence
    parts.container("east").exec_run(["mv", "/usr/sbin/munged.away", "/usr/sbin/munged"])
    until(lambda: grid.testbed("status").exit_code == 0)


@pytest.mark.long
def test_a_node_that_slurm_drained_is_resumed_and_one_that_a_user_drained_is_not(grid: Grid, parts: Parts) -> None:
    for node, reason in {"n2": "Kill task failed", "n3": "maintenance"}.items():
        output_in(parts.container("east"), f"scontrol update nodename={node} state=drain reason='{reason}'")
    refused = grid.testbed("status")
    assert refused.exit_code == 1
    assert "'east' has 1 of its 4 nodes drained or down, the first n2 (Slurm's reason: 'Kill" in refused.sentence
    mended = grid.testbed.succeed("up", "--topology", str(TWO_SITES_FILE))
    assert "nodes that Slurm drained, n2 (Kill task failed): resuming them" in mended.errors
    left = grid.testbed.succeed("status", "--json")
    assert [cluster["unavailable"] for cluster in left.as_json()] == [1, 0]
    assert "drained by a user, the first n3 (Slurm's reason: 'maintenance')" in left.sentence
    output_in(parts.container("east"), left.sentence.split("`")[1].partition("east ")[2])
    assert grid.testbed.succeed("status").errors == ""


@pytest.mark.long
def test_only_fresh_removes_what_a_testbed_holds_and_says_so_first(images: None) -> None:
    testbed = CommandLine("livetest-fresh")
    testbed.succeed("up", "--topology", str(TWO_SITES_FILE))
    try:
        with jobs_of(testbed) as grid:
            grid.finished(grid.submit(2, clusters=["east"], arguments=SHORT))
        token = testbed_state(testbed.name).token
        outcome = testbed.succeed("up", "--topology", str(TWO_SITES_FILE), "--fresh")
        assert "removing 'livetest-fresh' with its jobs, outputs and files" in outcome.errors
        assert "livetest-fresh-journal" in outcome.errors
        assert testbed_state(testbed.name).token != token
        with jobs_of(testbed) as grid:
            assert grid.client.jobs() == []
        shutil.rmtree(testbed_state(testbed.name).folder)
        refused = testbed("up", "--topology", str(TWO_SITES_FILE))
        assert refused.exit_code == 1
        assert "whose state was lost" in refused.sentence
    finally:
        testbed.succeed("down")
    assert testbed.left_over() == []
