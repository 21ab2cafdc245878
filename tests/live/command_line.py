"""The `testbed` command, run by the live tests as a user runs it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulator.containers import engine
from emulator.containers.state import remembered

TESTBED = Path(sys.executable).with_name("testbed")
QUICK_FILE = Path(__file__).with_name("quick.yaml")
TWO_SITES_FILE = Path(__file__).with_name("two-sites.yaml")
"""The topologies of nearly all live tests."""

LONGEST_HOST_S = 900.0


@dataclass(frozen=True)
class Outcome:
    """The outcome of a `testbed` command: exit code, output and errors."""

    exit_code: int
    output: str
    errors: str

    @property
    def sentence(self) -> str:
        """The last line on stderr, which is the reason of a failure."""
        return self.errors.strip().splitlines()[-1] if self.errors.strip() else ""

    def as_json(self) -> Any:
        """Parse the output of the command as JSON."""
        return json.loads(self.output)


@dataclass(frozen=True)
class CommandLine:
    """The `testbed` command for the testbed of one name."""

    name: str

    def __call__(self, *arguments: str, timeout_host_s: float = LONGEST_HOST_S) -> Outcome:
        ended = subprocess.run(
            [TESTBED, *arguments],
            capture_output=True, text=True, timeout=timeout_host_s, env=self._environment(), check=False,
        )  # fmt: skip
        return Outcome(ended.returncode, ended.stdout, ended.stderr)

    def interrupted(self, *arguments: str, when: Callable[[], bool]) -> Outcome:
        """Run a command and interrupt it, as a user does with Ctrl-C, when `when` holds."""
        host_deadline_s = time.monotonic() + LONGEST_HOST_S
        with subprocess.Popen(
            [TESTBED, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self._environment()
        ) as running:
            while running.poll() is None and time.monotonic() < host_deadline_s and not when():
                time.sleep(0.1)
            running.send_signal(signal.SIGINT)
            output, errors = running.communicate(timeout=LONGEST_HOST_S)
            return Outcome(running.returncode, output, errors)

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "TESTBED_NAME": self.name, "COLUMNS": "200"}

    def succeed(self, *arguments: str) -> Outcome:
        """Run a command that must succeed."""
        outcome = self(*arguments)
        assert outcome.exit_code == 0, outcome.errors
        return outcome

    def left_over(self) -> list[str]:
        """List the names of the parts of this testbed that the engine and the host still hold."""
        client = engine.connect()
        listings = (engine.containers_of, engine.networks_of, engine.volumes_of)
        parts = [str(part.name) for listed in listings for part in listed(client, self.name)]
        return parts + (["state"] if remembered(self.name) else [])
