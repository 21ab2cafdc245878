"""What stands and how it comes and goes: up, down, status, shell and logs, and every way in which they refuse.

Needs Docker; stands a testbed `livetest` of the topology `mini`, and smaller ones of other names for a while.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.containers import engine
from emulator.containers.state import standing
from tests.live.command_line import TESTBED, CommandLine

PAIR = """
name: pair
processor: {name: any, in_cache_ns_per_point: 100, out_of_cache_ns_per_point: 200, cache_bytes: 1000}
clusters:
  - {name: left, nodes: 1, access_link: {up_mbit: 10, down_mbit: 10}}
  - {name: right, nodes: 1, access_link: {up_mbit: 10, down_mbit: 10}}
default_link: {delay_s: 0.001}
"""


@pytest.fixture
def pair(tmp_path: Path) -> str:
    """A file with a topology of two clusters of one node."""
    file = tmp_path / "pair.yaml"
    file.write_text(PAIR)
    return str(file)


@pytest.fixture
def other() -> Iterator[CommandLine]:
    """A testbed of another name, which does not stand yet and does not afterwards."""
    testbed = CommandLine("livetest-other")
    yield testbed
    if testbed.left_over():
        testbed.succeed("down")


def test_every_processor_of_mini_is_idle(standing_testbed: CommandLine) -> None:
    rows = standing_testbed.succeed("status", "--json").as_json()
    keys = ("name", "nodes", "processors", "idle")
    assert [tuple(row[key] for key in keys) for row in rows] == [
        (name, 8, 16, 16) for name in ("amsterdam", "delft", "leiden", "utrecht")
    ]


def test_status_shows_the_routers_kernel_and_the_dilation(standing_testbed: CommandLine) -> None:
    shown = standing_testbed.succeed("status").output
    assert "user-mode-linux" in shown or "kernel (host)" in shown
    assert "dilation" in shown


def test_a_second_up_says_so_and_is_quick(standing_testbed: CommandLine) -> None:
    begun = time.monotonic()
    outcome = standing_testbed.succeed("up", "--topology", "mini")
    assert "stood already" in outcome.errors
    assert time.monotonic() - begun < 20


def test_another_topology_under_the_same_name_is_refused(standing_testbed: CommandLine) -> None:
    outcome = standing_testbed("up", "--topology", "das2")
    assert outcome.exit_code == 1
    assert "another topology (mini)" in outcome.sentence
    assert "testbed down" in outcome.sentence


def test_jobs_run_as_the_user_and_without_rights_over_the_network(standing_testbed: CommandLine) -> None:
    script = "srun --ntasks=2 sh -c 'id -un; ip link set lo down 2>&1 | tail -n 1'"
    lines = standing_testbed.succeed("shell", "delft", "--", "sh", "-c", script).output.splitlines()
    assert lines.count("researcher") == 2
    assert sum("not permitted" in line for line in lines) == 2


def test_applications_are_importable_in_a_job(standing_testbed: CommandLine) -> None:
    script = "srun python3 -c 'import apps.kernels.red_black; print(apps.__file__)'"
    assert (
        standing_testbed.succeed("shell", "delft", "--", "sh", "-c", script).output == "/opt/testbed/apps/__init__.py\n"
    )


def test_clusters_reach_one_another_by_key_and_know_one_another(standing_testbed: CommandLine) -> None:
    for target in ("leiden", standing("livetest").addresses.head(2)):
        reached = standing_testbed.succeed("shell", "delft", "--", "ssh", "-o", "BatchMode=yes", target, "hostname")
        assert reached.output == "leiden\n"


def test_what_goes_to_another_site_goes_through_the_router(standing_testbed: CommandLine) -> None:
    addresses = standing("livetest").addresses
    route = standing_testbed.succeed("shell", "delft", "--", "ip", "route", "get", addresses.site_address(2)).output
    assert f"via {addresses.router(1)}" in route


def test_no_password_opens_a_head(standing_testbed: CommandLine) -> None:
    command = ["ssh", "-o", "PubkeyAuthentication=no", "-o", "BatchMode=yes", "leiden", "true"]
    refused = standing_testbed("shell", "delft", "--", *command)
    assert refused.exit_code == 255
    assert "Permission denied (publickey)" in refused.errors


def test_logs_are_those_of_the_part_named(standing_testbed: CommandLine) -> None:
    assert "ready" in standing_testbed.succeed("logs", "delft", "--lines", "1000").output.splitlines()
    refused = standing_testbed("logs", "rotterdam")
    assert refused.exit_code == 1
    assert "delft" in refused.sentence


def test_an_unknown_cluster_is_named_with_the_known_ones(standing_testbed: CommandLine) -> None:
    refused = standing_testbed("shell", "rotterdam")
    assert refused.exit_code == 1
    assert "'rotterdam' (known: amsterdam, delft, leiden, utrecht)" in refused.sentence


def test_two_testbeds_stand_side_by_side_and_down_takes_only_its_own(
    standing_testbed: CommandLine, other: CommandLine, pair: str
) -> None:
    other.succeed("up", "--topology", pair)
    assert standing("livetest").record.second_octet != standing(other.name).record.second_octet
    assert len(standing_testbed.succeed("status", "--json").as_json()) == 4
    other.succeed("down")
    assert other.left_over() == []
    standing_testbed.succeed("status")


def test_a_stopped_container_is_shown_named_and_repaired_by_up(other: CommandLine, pair: str) -> None:
    other.succeed("up", "--topology", pair)
    engine.connect().containers.get("livetest-other-left").kill()
    outcome = other("status", "--json")
    assert outcome.exit_code == 1
    assert outcome.as_json()[0]["state"] == "exited"
    assert "livetest-other-left is exited" in outcome.sentence
    refused = other("verify")
    assert refused.exit_code == 1
    assert "livetest-other-left does not run (`testbed up` repairs it)." in refused.sentence
    other.succeed("up", "--topology", pair)
    other.succeed("status")


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
        command.stderr.read()
    assert command.returncode == 130
    assert other.left_over() == []


def test_a_router_that_the_host_cannot_be_leaves_nothing(other: CommandLine, pair: str) -> None:
    outcome = other("up", "--topology", pair, "--router", "kernel")
    if outcome.exit_code == 0:
        pytest.skip("this host's kernel has sch_netem")
    assert "no sch_netem" in outcome.sentence
    assert other.left_over() == []


def test_down_when_nothing_stands_is_one_sentence(other: CommandLine) -> None:
    outcome = other("down")
    assert outcome.exit_code == 1
    assert outcome.errors.strip() == (
        "testbed: No testbed called 'livetest-other' stands, so there is nothing to take down."
    )


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (PAIR.replace("nodes: 1", "nodes: 0", 1), "clusters.0.nodes"),
        (PAIR.replace("delay_s: 0.001", "delay_s: -1"), "default_link.delay_s"),
        (PAIR.replace("name: right", "name: left"), "'left'"),
        (PAIR.replace("name: pair", "name: pair\ncolour: red"), "'colour'"),
        (PAIR + "links: [{from: left, to: nowhere, delay_s: 0}]", "'nowhere'"),
        (PAIR.replace("name: right", "name: wan"), "'wan'"),
        ("- a list", "mapping"),
    ],
)
def test_a_wrong_topology_is_one_sentence_naming_the_fault(
    other: CommandLine, tmp_path: Path, wrong: str, named: str
) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(wrong)
    outcome = other("up", "--topology", str(file))
    assert outcome.exit_code == 1
    assert len(outcome.errors.strip().splitlines()) == 1
    assert named in outcome.sentence
    assert other.left_over() == []
