"""A testbed over three hosts: daemons in network namespaces of this machine, in a Swarm of their own.

All marked `long`: the images are copied to the first host and sent on by `up`. The topology is `mini` without
middleware, for which every job would wait. The third host's engine is reached over SSH.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.model.catalogue import topology_named
from emulator.model.evidence import EvidenceRow
from emulator.model.job import JobState
from emulator.runs.run_directory import RunRecords, read_rows, read_run
from tests.live.command_line import QUICK_FILE
from tests.live.grid import ENDED, until
from tests.live.hosts_lab import LONGEST_HOST_S, Lab, can_make_hosts, lab
from tests.live.slow_cable import slow_cable

NAME = "livetest-hosts"
TOPOLOGY = str(QUICK_FILE)
SLOW_S = 0.0004
CAMPAIGN_JOBS = 20

pytestmark = [pytest.mark.long, can_make_hosts]


@pytest.fixture(scope="module")
def three(images: None) -> Iterator[Lab]:
    """Yield three hosts, of which two are in a Swarm; check at the end that nothing of a testbed is left on them."""
    with lab(NAME, 3) as made:
        made.join(made.hosts[1])
        yield made
        made("down")
        # A worker of the Swarm may keep a network for a moment.
        until(lambda: made.left_over() == [])


@pytest.fixture(scope="module")
def spread(three: Lab) -> Lab:
    """The three hosts, all in the Swarm now, with the clusters of `mini` over them."""
    third = three.hosts[2]
    three.join(third)
    three.let_in_by_ssh(third)
    inventory = three.inventory(over_ssh=[third])
    until(lambda: three("hosts", "check", inventory).exit_code == 0)
    up = three.succeed("up", "--topology", TOPOLOGY, "--hosts", inventory)
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
    mended = spread.succeed("up", "--topology", TOPOLOGY)
    assert f"{row['container']} is gone: making its container anew" in mended.errors
    assert row["container"] in host.parts(NAME)
    assert {each["state"] for each in spread.succeed("status", "--json").as_json()} == {"running"}


def submitted(three: Lab, cluster: str, iterations: int, ranks: int = 4) -> int:
    """Submit a job in `cluster`, and return its number."""
    file = three.folder / "job.yaml"
    arguments = f"{{grid: 100, iterations: {iterations}, tolerance: 0}}"
    file.write_text(
        f"application: poisson\narguments: {arguments}\ncomponents: [{ranks}]\nrequest: fixed\nclusters: [{cluster}]\n"
    )
    (row,) = three.succeed("submit", str(file), "--json").as_json()
    number: int = row["id"]
    return number


def cluster_on(three: Lab, host: str) -> str:
    """Return the first cluster that a host carries."""
    rows = three.succeed("status", "--json").as_json()
    return next(str(row["name"]) for row in rows if row["host"] == host)


def running_job(three: Lab, cluster: str) -> int:
    """Return the number of a job that runs in `cluster`, and would for hours."""
    number = submitted(three, cluster, 1_000_000)
    until(lambda: three.succeed("jobs", str(number), "--json").as_json()["state"] == "running")
    return number


def ran_campaign(three: Lab) -> tuple[RunRecords, Path]:
    """Run twenty short jobs over the hosts, and return the run and its directory."""
    out = three.folder / "campaign"
    three.succeed(
        "campaign", "run", "first", "--jobs", str(CAMPAIGN_JOBS), "--seed", "1", "--time-scale", "60",
        "--dilation", "1", "--topology", TOPOLOGY, "--require", "void", "--out", str(out),
    )  # fmt: skip
    return read_run(out), out


def test_a_slower_network_to_a_host_is_a_fault_until_up_programs_what_it_leaves(spread: Lab) -> None:
    there = cluster_on(spread, "host3")
    with slow_cable(spread, spread.hosts[2], SLOW_S):
        run, folder = ran_campaign(spread)
        mended = spread.succeed("up", "--topology", TOPOLOGY)
        assert "programming the links for the network between the hosts as it is now" in mended.errors
        spread.succeed("verify")
    assert [job.state for job in run.jobs] == [JobState.FINISHED] * CAMPAIGN_JOBS
    assert not any("nobody watched" in job.verdict_reasons for job in run.jobs)
    placed = {row["name"] for row in spread.succeed("status", "--json").as_json()}
    assert {row.part for row in read_rows(folder, EvidenceRow)} >= {"host", *placed}
    for check in run.manifest.link_checks:
        assert check.underlays["host3"].host_delay_s == pytest.approx(SLOW_S, rel=0.5)
        assert abs(check.underlays["host3"].host_clock_ahead_s) <= check.underlays["host3"].host_clock_bound_s
        assert {fault.source for fault in check.faults if "network to host host3" in fault.what} >= {there}


def test_a_job_on_a_host_whose_daemon_ends_fails_with_a_reason_and_up_mends_it_once_it_is_back(spread: Lab) -> None:
    there, elsewhere = cluster_on(spread, "host2"), cluster_on(spread, "host1")
    lost = running_job(spread, there)
    spread.hosts[1].stop()
    assert finished(spread, submitted(spread, elsewhere, 20))["state"] == "finished"
    failed = finished(spread, lost)
    assert failed["state"] == "failed"
    assert failed["reason"]
    spread.hosts[1].start()
    until(lambda: spread.hosts[1].client.info()["Swarm"]["LocalNodeState"] == "active")
    until(lambda: spread("up", "--topology", TOPOLOGY).exit_code == 0, LONGEST_HOST_S)
    assert {row["state"] for row in spread.succeed("status", "--json").as_json()} == {"running"}
    assert finished(spread, submitted(spread, there, 20))["state"] == "finished"


def test_a_job_on_a_host_that_is_cut_off_fails_alone_and_up_mends_once_the_host_is_back(spread: Lab) -> None:
    there, elsewhere = cluster_on(spread, "host2"), cluster_on(spread, "host1")
    lost = running_job(spread, there)
    with spread.cut_off(spread.hosts[1]):
        assert finished(spread, submitted(spread, elsewhere, 20))["state"] == "finished"
        failed = finished(spread, lost)
        assert failed["state"] == "failed"
        assert there in str(failed["reason"])
    until(lambda: spread("up", "--topology", TOPOLOGY).exit_code == 0, LONGEST_HOST_S)
    # A job that needs all processors there: what the lost one held was released.
    assert finished(spread, submitted(spread, there, 20, ranks=16))["state"] == "finished"


def test_a_job_on_a_host_whose_disk_is_full_fails_with_a_reason_and_the_rest_goes_on(spread: Lab) -> None:
    there, elsewhere = cluster_on(spread, "host2"), cluster_on(spread, "host1")
    with spread.hosts[1].full_disk():
        lost = submitted(spread, there, 20)
        assert finished(spread, submitted(spread, elsewhere, 20))["state"] == "finished"
        failed = finished(spread, lost)
        assert failed["state"] == "failed"
        assert failed["reason"]
    assert finished(spread, submitted(spread, there, 20, ranks=16))["state"] == "finished"


def test_without_its_manager_the_testbed_stands_still_and_goes_on_once_it_is_back(spread: Lab) -> None:
    there = cluster_on(spread, "host2")
    held = running_job(spread, there)
    spread.hosts[0].stop()
    refused = spread("status")
    assert refused.exit_code == 1
    assert "host1" in refused.sentence
    spread.hosts[0].start()
    until(lambda: spread("up", "--topology", TOPOLOGY).exit_code == 0, LONGEST_HOST_S)
    ended = finished(spread, held)
    assert ended["state"] == "failed"
    assert ended["reason"]
    # It does not run on where nobody follows it, and nothing of it is held.
    assert finished(spread, submitted(spread, there, 20, ranks=16))["state"] == "finished"


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


def test_a_host_that_dies_during_up_is_named_and_nothing_is_left_on_the_others(spread: Lab) -> None:
    dying = spread.hosts[1]
    inventory = spread.inventory(spread.hosts[:2])

    def die() -> None:
        until(lambda: any(NAME in part for part in dying.parts(NAME)))
        dying.stop()

    death = threading.Thread(target=die)
    death.start()
    refused = spread("up", "--topology", TOPOLOGY, "--hosts", inventory)
    death.join()
    assert refused.exit_code == 1
    assert "host2" in refused.sentence
    assert spread.hosts[0].parts(NAME) == []
    dying.start()
    until(lambda: dying.client.info()["Swarm"]["LocalNodeState"] == "active")
    until(lambda: spread("down").exit_code == 0)
    assert spread.left_over() == []
