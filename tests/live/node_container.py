"""One container of the node image, in which the live tests of the applications run jobs as separate processes.

Needs Docker and the node image, but no testbed. TESTBED_NODE_IMAGE names the image (default
multicluster-testbed/node:dev).
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

IMAGE = os.environ.get("TESTBED_NODE_IMAGE", "multicluster-testbed/node:dev")
MPIRUN = (
    "mpirun --allow-run-as-root --oversubscribe --bind-to none --mca pml ob1 --mca btl self,vader"
    " --mca mpi_yield_when_idle 1 --mca btl_vader_single_copy_mechanism none"
)
ENVIRONMENT = ("-e", "PYTHONPATH=/opt/testbed")
LEFT_OVER = "start-rank|apps.start.parent|[-]m apps |/exchange/program.py"
JOB_TAKES_AT_MOST_HOST_S = 240


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of one job: how it ended, and what it reported."""

    exit_code: int
    events: dict[str, dict[str, Any]]
    errors: str

    @property
    def record(self) -> dict[str, Any]:
        """The record of a job that must have succeeded."""
        assert self.exit_code == 0, self.errors
        return self.events["result"]["record"]


@dataclasses.dataclass(frozen=True)
class BegunJob:
    """A job that runs: the command that shows its output, and the number of its mpirun in the container."""

    client: subprocess.Popen[str]
    mpirun: int

    def end(self) -> tuple[str, str]:
        """Wait until the job has failed; return what it printed since its start, and its errors."""
        output, errors = self.client.communicate(timeout=60)
        assert self.client.returncode not in (0, None)
        return output, errors


@dataclasses.dataclass(frozen=True)
class NodeContainer:
    """One container of the node image without its services."""

    identity: str
    exchange_directory: Path

    def run(self, processes: int, line: str) -> Outcome:
        """Run a job of `processes` ranks; `line` is the application's name and its arguments."""
        return self._run(processes, f"python3 -m apps {line}")

    def run_program(self, processes: int, program: str) -> Outcome:
        """Run a test's own program as every rank of a job; it must print events only."""
        (self.exchange_directory / "program.py").write_text(program)
        return self._run(processes, "python3 /exchange/program.py")

    def run_from_parent(self, processes: int, line: str) -> Outcome:
        """Run a job as `run` does, but with ranks forked from one parent, as the broker starts them."""
        return self._run(processes, f"start-rank {line}")

    def begin(self, processes: int, rank: str) -> BegunJob:
        """Start a job whose ranks run the command `rank`; return when it has passed its start barrier."""
        client = subprocess.Popen(
            ["docker", "exec", *ENVIRONMENT, self.identity, "bash", "-c",
             f"echo $$; exec {MPIRUN} -n {processes} {rank}"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert client.stdout is not None
        mpirun = int(client.stdout.readline())
        assert json.loads(client.stdout.readline())["event"] == "started"
        return BegunJob(client, mpirun)

    def _run(self, processes: int, rank: str) -> Outcome:
        finished = self.inside(f"timeout --kill-after=10 {JOB_TAKES_AT_MOST_HOST_S} {MPIRUN} -n {processes} {rank}")
        events = [json.loads(said) for said in finished.stdout.splitlines()]
        return Outcome(finished.returncode, {event["event"]: event for event in events}, finished.stderr)

    def inside(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run `command` in a shell in the container."""
        line = ["docker", "exec", *ENVIRONMENT, self.identity, "bash", "-c", command]
        return subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)

    def ranks_left(self) -> bool:
        """Return whether a process of a job is left, 5 s after the call; a killed process needs some time to end."""
        for _ in range(50):
            if self.inside(f"pgrep --full '{LEFT_OVER}' --ignore-ancestors || true").stdout.strip() == "":
                return False
            time.sleep(0.1)
        return True


@contextmanager
def node_container(exchange_directory: Path) -> Iterator[NodeContainer]:
    """Start a container that sees `exchange_directory` as /exchange; end it afterwards."""
    identity = subprocess.run(
        ["docker", "run", "--detach", "--rm", "--init", "--network", "none", "--shm-size", "256m",
         "--label", "multicluster-testbed.test=applications", "--volume", f"{exchange_directory}:/exchange",
         "--entrypoint", "sleep", IMAGE, "infinity"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    try:
        yield NodeContainer(identity, exchange_directory)
    finally:
        subprocess.run(["docker", "kill", identity], capture_output=True, check=True)
