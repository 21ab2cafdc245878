"""The life of a testbed: up, down, status, shell and logs, and their refusals."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.containers import engine
from emulator.containers.state import testbed_state
from tests.live.command_line import QUICK_FILE, TESTBED, CommandLine
from tests.live.grid import Grid

PAIR = """
name: pair
processor: {name: any, in_cache_ns_per_point: 100, out_of_cache_ns_per_point: 200, cache_bytes: 1000}
clusters:
  - {name: left, nodes: 1, access_link: {up_mbit: 10, down_mbit: 10}}
  - {name: right, nodes: 1, access_link: {up_mbit: 10, down_mbit: 10}}
default_link: {delay_s: 0.001}
"""
CLUSTERS = ("amsterdam", "delft", "leiden", "utrecht")


@pytest.fixture
def pair(tmp_path: Path) -> str:
    """Write a topology of two clusters of one node to a file; return its path."""
    file = tmp_path / "pair.yaml"
    file.write_text(PAIR)
    return str(file)


@pytest.fixture
def other(images: None) -> Iterator[CommandLine]:
    """Yield a testbed of another name, which does not run before and after the test."""
    testbed = CommandLine("livetest-other")
    yield testbed
    if testbed.left_over():
        testbed.succeed("down")


def starts(testbed: CommandLine) -> dict[str, str]:
    """Return when each container of a testbed was last started."""
    found = engine.containers_of(engine.connect(), testbed.name)
    return {str(container.name): container.attrs["State"]["StartedAt"] for container in found}


def test_status_shows_idle_processors_the_router_s_kernel_and_the_dilation(testbed: CommandLine) -> None:
    rows = testbed.succeed("status", "--json").as_json()
    keys = ("name", "nodes", "processors", "idle")
    assert [tuple(row[key] for key in keys) for row in rows] == [(name, 8, 16, 16) for name in CLUSTERS]
    shown = testbed.succeed("status").output
    assert "user-mode-linux" in shown or "kernel (host)" in shown
    assert "dilation" in shown


def test_a_second_up_says_so_and_starts_nothing_again_and_another_topology_is_refused(testbed: CommandLine) -> None:
    before = starts(testbed)
    outcome = testbed.succeed("up", "--topology", str(QUICK_FILE))
    assert "already running" in outcome.errors
    assert starts(testbed) == before
    refused = testbed("up", "--topology", "das2")
    assert refused.exit_code == 1
    assert "another topology (quick)" in refused.sentence
    assert "testbed down" in refused.sentence


def test_a_shell_is_the_user_s_and_a_cluster_or_part_that_is_unknown_is_named_with_the_known_ones(
    testbed: CommandLine,
) -> None:
    assert testbed.succeed("shell", "delft", "--", "sh", "-c", "hostname; id -un").output == "delft\nresearcher\n"
    refused = testbed("shell", "rotterdam")
    assert refused.exit_code == 1
    assert "'rotterdam' (known: amsterdam, delft, leiden, utrecht; did you mean 'amsterdam'?)" in refused.sentence
    assert "ready" in testbed.succeed("logs", "delft", "--lines", "1000").output.splitlines()
    refused = testbed("logs", "rotterdam")
    assert refused.exit_code == 1
    assert "delft" in refused.sentence


def test_jobs_run_as_the_user_and_without_rights_over_the_network(grid: Grid) -> None:
    script = "srun --ntasks=2 sh -c 'id -un; ip link set lo down 2>&1 | tail -n 1'"
    lines = grid.at("delft", script, user="researcher").splitlines()
    assert lines.count("researcher") == 2
    assert sum("not permitted" in line for line in lines) == 2


def test_applications_are_importable_in_a_job(grid: Grid) -> None:
    script = "srun python3 -c 'import apps.kernels.red_black; print(apps.__file__)'"
    assert grid.at("delft", script, user="researcher") == "/opt/testbed/apps/__init__.py"


def test_clusters_reach_one_another_by_key_and_no_password_opens_a_head(grid: Grid) -> None:
    addresses = testbed_state(grid.testbed.name).addresses
    for target in ("leiden", addresses.head(2)):
        assert grid.at("delft", f"ssh -o BatchMode=yes {target} hostname", user="researcher") == "leiden"
    refused = "ssh -o PubkeyAuthentication=no -o BatchMode=yes leiden true 2>&1; echo $?"
    *_, said, exit_code = grid.at("delft", refused, user="researcher").splitlines()
    assert "Permission denied (publickey)" in said
    assert exit_code == "255"


def test_what_goes_to_another_site_goes_through_the_router(grid: Grid) -> None:
    addresses = testbed_state(grid.testbed.name).addresses
    assert f"via {addresses.router(1)}" in grid.at("delft", f"ip route get {addresses.site_address(2)}")


def test_two_testbeds_run_at_once_and_down_takes_only_its_own(
    testbed: CommandLine, other: CommandLine, pair: str
) -> None:
    other.succeed("up", "--topology", pair)
    assert testbed_state(testbed.name).record.second_octet != testbed_state(other.name).record.second_octet
    assert len(testbed.succeed("status", "--json").as_json()) == 4
    assert len(other.succeed("status", "--json").as_json()) == 2
    other.succeed("down")
    assert other.left_over() == []
    testbed.succeed("status")


def test_a_port_in_use_is_one_sentence_and_leaves_nothing(other: CommandLine, pair: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        outcome = other("up", "--topology", pair, "--port", str(port))
    assert outcome.exit_code == 1
    assert f"Port {port}" in outcome.sentence
    assert other.left_over() == []


def test_an_interrupted_up_leaves_nothing(other: CommandLine, pair: str) -> None:
    environment = {**os.environ, "TESTBED_NAME": other.name}
    with subprocess.Popen(
        [TESTBED, "up", "--topology", pair], stderr=subprocess.PIPE, text=True, env=environment
    ) as command:
        assert command.stderr is not None
        for line in command.stderr:
            if "containers: starting" in line:
                time.sleep(2)
                command.send_signal(signal.SIGINT)
                break
        said = command.stderr.read()
    assert command.returncode == 130, said
    assert said.endswith("testbed: interrupted; what was begun is cleaned up.\n")
    assert other.left_over() == []


def test_a_router_that_the_host_cannot_be_leaves_nothing(other: CommandLine, pair: str) -> None:
    outcome = other("up", "--topology", pair, "--router", "kernel")
    if outcome.exit_code == 0:
        pytest.skip("this host's kernel has sch_netem")
    assert "no sch_netem" in outcome.sentence
    assert other.left_over() == []


def test_down_when_nothing_runs_is_one_sentence(other: CommandLine) -> None:
    outcome = other("down")
    assert outcome.exit_code == 1
    assert outcome.errors.strip() == (
        "testbed: No testbed called 'livetest-other' is running, so there is nothing to take down."
    )
