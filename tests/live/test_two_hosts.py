"""A testbed over two hosts in short: daemons in network namespaces of this machine. ``test_hosts`` has the rest."""

from __future__ import annotations

import pytest

from tests.live.command_line import TWO_SITES_FILE
from tests.live.grid import ENDED, until
from tests.live.hosts_lab import can_make_hosts, lab

NAME = "livetest-two-hosts"


@can_make_hosts
@pytest.mark.usefixtures("images")
def test_a_cluster_on_each_of_two_hosts_and_a_job_over_both() -> None:
    with lab(NAME, 2) as two:
        two.join(two.hosts[1])
        two.succeed("up", "--topology", str(TWO_SITES_FILE), "--hosts", two.inventory())
        rows = two.succeed("status", "--json").as_json()
        assert {row["host"] for row in rows} == {"host1", "host2"}
        file = two.folder / "job.yaml"
        file.write_text("application: poisson\narguments: {grid: 20, iterations: 5}\ncomponents: [2, 2]\n")
        (submitted,) = two.succeed("submit", str(file), "--json").as_json()
        shown = ("jobs", str(submitted["id"]), "--json")
        until(lambda: two.succeed(*shown).as_json()["state"] in ENDED)
        job = two.succeed(*shown).as_json()
        assert (job["state"], {part["cluster"] for part in job["components"]}) == ("finished", {"east", "west"})
        two.succeed("down")
        # A worker of the Swarm may keep a network for a moment.
        until(lambda: two.left_over() == [])
