"""A testbed over two hosts in short: daemons in network namespaces of this machine. ``test_hosts`` has the rest."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.live.command_line import TWO_SITES_FILE
from tests.live.grid import ENDED, until
from tests.live.hosts_lab import PID_FILE, can_make_hosts, lab, remove_left, run

NAME = "livetest-two-hosts"
KILLED_NAME = "livetest-killed-hosts"


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


@can_make_hosts
def test_what_a_killed_run_left_of_such_hosts_is_removed() -> None:
    folder = Path(tempfile.mkdtemp(prefix=f"{KILLED_NAME}-", dir="/var/tmp"))
    pid_file = folder / "host1" / PID_FILE
    pid_file.parent.mkdir()
    daemon = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "--pidfile", pid_file])
    try:
        pid_file.write_text(str(daemon.pid))
        for namespace in ("sw", "1"):
            run("ip", "netns", "add", f"{KILLED_NAME}-{namespace}")
        remove_left(KILLED_NAME)
        assert daemon.wait(timeout=60) == -signal.SIGTERM
    finally:
        daemon.kill()
        daemon.wait()
    assert not folder.exists()
    assert list(Path("/run/netns").glob(f"{KILLED_NAME}-*")) == []
