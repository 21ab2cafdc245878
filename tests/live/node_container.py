"""What the live tests of the applications share: one container of the node image, in which jobs run one after another.

Needs Docker and the node image, whose name TESTBED_NODE_IMAGE gives (default multicluster-testbed/node:dev); no
testbed.
"""

import dataclasses
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

IMAGE = os.environ.get("TESTBED_NODE_IMAGE", "multicluster-testbed/node:dev")
MPIRUN = (
    "mpirun --allow-run-as-root --oversubscribe --bind-to none --mca pml ob1 --mca btl self,vader"
    " --mca mpi_yield_when_idle 1 --mca btl_vader_single_copy_mechanism none"
)
ENVIRONMENT = ("-e", "PYTHONPATH=/opt/testbed")
LEFT_OVER = "start-rank|apps.start.parent|[-]m apps|/exchange/program.py"
JOB_TAKES_AT_MOST_HOST_S = 240


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What one job left behind."""

    exit_code: int
    events: dict[str, dict[str, Any]]
    errors: str

    @property
    def record(self) -> dict[str, Any]:
        """The record of a job that must have succeeded."""
        assert self.exit_code == 0, self.errors
        return self.events["result"]["record"]


@dataclasses.dataclass(frozen=True)
class NodeContainer:
    """One container of the node image without its services."""

    identity: str
    exchange_directory: Path

    def run(self, processes: int, line: str) -> Outcome:
        """Runs a job of `processes` ranks; `line` is the application's name and its arguments."""
        return self._run(processes, f"python3 -m apps {line}")

    def run_program(self, processes: int, program: str) -> Outcome:
        """Runs a program of a test's own as every rank of a job; what it says must be events."""
        (self.exchange_directory / "program.py").write_text(program)
        return self._run(processes, "python3 /exchange/program.py")

    def run_from_parent(self, processes: int, line: str) -> Outcome:
        """As `run`, the ranks started as the broker has them: forked from one parent."""
        return self._run(processes, f"start-rank {line}")

    def begin(self, processes: int, rank: str) -> subprocess.Popen[str]:
        """A job of ranks that are such commands, once it has passed its start barrier; it still runs."""
        job = subprocess.Popen(
            ["docker", "exec", *ENVIRONMENT, self.identity, *f"{MPIRUN} -n {processes} {rank}".split()],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert job.stdout is not None
        assert json.loads(job.stdout.readline())["event"] == "started"
        return job

    def _run(self, processes: int, rank: str) -> Outcome:
        finished = self.inside(f"timeout --kill-after=10 {JOB_TAKES_AT_MOST_HOST_S} {MPIRUN} -n {processes} {rank}")
        events = [json.loads(said) for said in finished.stdout.splitlines()]
        return Outcome(finished.returncode, {event["event"]: event for event in events}, finished.stderr)

    def solution(self, processes: int, line: str) -> tuple[dict[str, Any], npt.NDArray[np.float64]]:
        """The record of a job that must succeed, and the solution that it saved."""
        record = self.run(processes, f"{line} --save /exchange/solution.npy").record
        return record, np.load(self.exchange_directory / "solution.npy")

    def array(self, statements: str, expression: str) -> npt.NDArray[np.float64]:
        """What `expression` is in the node, after `statements`: another numpy has another last bit of a sine."""
        program = f"import numpy; {statements}; numpy.save('/exchange/array.npy', {expression})"
        subprocess.run(["docker", "exec", *ENVIRONMENT, self.identity, "python3", "-c", program], check=True)
        values: npt.NDArray[np.float64] = np.load(self.exchange_directory / "array.npy")
        return values

    def inside(self, command: str) -> subprocess.CompletedProcess[str]:
        """What a shell in the container does with `command`."""
        line = ["docker", "exec", *ENVIRONMENT, self.identity, "bash", "-c", command]
        return subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)

    def ranks_left(self) -> bool:
        """Whether a process of any job is left; one that has been killed is given time to be gone."""
        for _ in range(50):
            if self.inside(f"pgrep --full '{LEFT_OVER}' --ignore-ancestors || true").stdout.strip() == "":
                return False
            time.sleep(0.1)
        return True


@contextmanager
def node_container(exchange_directory: Path) -> Iterator[NodeContainer]:
    """A container that sees `exchange_directory` as /exchange; it is gone afterwards."""
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
