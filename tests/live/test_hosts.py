"""A testbed over three hosts: daemons in network namespaces of this machine, in a Swarm of their own.

All marked `long`: the images are copied to the first host and sent on by `up`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from emulator.model.catalogue import topology_named
from emulator.model.job import JobState
from tests.live.grid import ENDED, until
from tests.live.hosts_lab import Lab, lab

NAME = "livetest-hosts"
CAN_MAKE_HOSTS = os.geteuid() == 0 and all(map(shutil.which, ("ip", "nsenter", "dockerd", "docker")))

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not CAN_MAKE_HOSTS, reason="network namespaces need root, iproute2, nsenter and dockerd"),
]


@pytest.fixture(scope="module")
def three(images: None) -> Iterator[Lab]:
    """Yield three hosts, of which two are in a Swarm; check at the end that nothing of a testbed is left on them."""
    with lab(NAME, 3) as made:
        made.join(made.hosts[1])
        yield made
        made("down")
        assert made.left_over() == []


@pytest.fixture(scope="module")
def spread(three: Lab) -> Lab:
    """The three hosts, all in the Swarm now, with `mini` over them."""
    three.join(three.hosts[2])
    inventory = three.inventory()
    until(lambda: three("hosts", "check", inventory).exit_code == 0)
    up = three.succeed("up", "--topology", "mini", "--hosts", inventory)
    assert "12 delays and 4 rates as asked" in up.errors
    return three


def finished(three: Lab, number: int) -> dict[str, object]:
    """Wait until a job has ended, and return it."""

    def ended() -> dict[str, object] | None:
        job = three.succeed("jobs", str(number), "--json").as_json()
        return job if JobState(job["state"]) in ENDED else None

    found = until(ended)
    assert found is not None
    return found


def test_a_host_outside_of_the_swarm_is_refused_and_nothing_is_started(three: Lab) -> None:
    inventory = three.inventory()
    check = three("hosts", "check", inventory, "--json")
    assert check.exit_code == 1
    faults = {(row["host"], row["check"]) for row in check.as_json() if not row["ok"]}
    assert faults == {("host3", "swarm")}
    refused = three("up", "--hosts", inventory)
    assert refused.exit_code == 1
    assert "Host 'host3' cannot carry a testbed: swarm: its engine is in no Swarm" in refused.sentence
    assert "docker swarm join" in refused.sentence
    assert three.left_over() == []


def test_mini_over_three_hosts_keeps_its_links_and_runs_jobs_across(spread: Lab) -> None:
    three = spread
    rows = three.succeed("status", "--json").as_json()
    assert [row["state"] for row in rows] == ["running"] * 4
    assert {row["host"] for row in rows} == {"host1", "host2", "host3"}
    by_host = {host.name: host.parts(NAME) for host in three.hosts}
    for row in rows:
        assert row["container"] in by_host[row["host"]]
        assert three.succeed("shell", row["name"], "--", "hostname").output.strip() == row["name"]
        assert three.succeed("logs", row["name"]).exit_code == 0
    assert {f"{NAME}-wan", f"{NAME}-broker"} <= set(by_host["host1"])
    three.succeed("verify")
    file = three.folder / "job.yaml"
    names = topology_named("mini").cluster_names
    file.write_text(
        f"application: poisson\narguments: {{grid: 100, iterations: 20}}\ncomponents: [4, 4, 4, 4]\n"
        f"request: fixed\nclusters: [{', '.join(names)}]\n"
    )
    (submitted,) = three.succeed("submit", str(file), "--json").as_json()
    job = finished(three, submitted["id"])
    assert (job["state"], [each["cluster"] for each in job["components"]]) == ("finished", names)


def test_up_mends_a_cluster_on_another_host_in_its_place(spread: Lab) -> None:
    row = next(row for row in spread.succeed("status", "--json").as_json() if row["host"] == "host2")
    host = spread.hosts[1]
    host.client.containers.get(row["container"]).remove(force=True)
    assert f"The container {row['container']} is gone" in spread("status").errors
    mended = spread.succeed("up", "--topology", "mini")
    assert f"{row['container']} is gone: making its container anew" in mended.errors
    assert row["container"] in host.parts(NAME)
    assert {each["state"] for each in spread.succeed("status", "--json").as_json()} == {"running"}


def test_a_host_that_is_not_reached_does_not_block_down_and_is_swept_when_it_returns(spread: Lab) -> None:
    lost = spread.hosts[2]
    carried = [row["container"] for row in spread("status", "--json").as_json() if row["host"] == lost.name]
    lost.stop()
    status = spread("status")
    assert status.exit_code == 1
    assert f"The container {carried[0]} is on host host3, which is not reached" in status.errors
    down = spread.succeed("down")
    assert "host3: not reached" in down.errors
    assert [
        part for host in spread.hosts[:2] for part in host.parts(NAME) if "site" not in part and "control" not in part
    ] == []
    assert "stays until they are" in spread("down").sentence
    lost.start()
    until(lambda: lost.client.info()["Swarm"]["LocalNodeState"] == "active")
    assert {*carried} <= {*lost.parts(NAME)}
    until(lambda: spread("down").exit_code == 0)
    assert spread.left_over() == []
