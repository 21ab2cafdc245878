"""The load generator as a subprocess: locust, submitting a schedule through the broker, with its page on request.

It is a process of its own because locust replaces Python's sockets. It starts the run's clock when it is ready and ends
when all jobs are submitted. If a run ends before that, this module ends it by its process id. Its output and statistics
are in the run's directory. It gets the token through its environment, never through its arguments.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from emulator.client import BrokerClient
from emulator.model.errors import InvalidInput, RunFailed
from emulator.model.project import PROJECT_ROOT

MOST_USERS: Final = 8
"""Submissions that may be under way at once; each takes a broker some milliseconds."""

OUTPUT_FILE: Final = "locust.log"
REPORT_FILE: Final = "locust.html"
LOOPBACK: Final = "127.0.0.1"
_LOCUST_FILE: Final = PROJECT_ROOT / "workloads" / "locustfile.py"
_HOST_END_S: Final = 5.0


def check_page_port(port: int) -> None:
    """Raise `InvalidInput` if another program listens where the load generator's page is to be."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise InvalidInput(
                f"--locust-page: port {port} of {LOOPBACK} cannot be used ({error.strerror}); choose another."
            ) from error


class LoadGenerator:
    """The load generator that submits `schedule_file` to `run`; a context manager that always ends the process.

    With a `page_port`, locust shows its own page there on the loopback, and leaves `REPORT_FILE` beside the schedule.
    """

    def __init__(
        self, client: BrokerClient, run: int, schedule_file: Path, jobs: int, page_port: int | None = None
    ) -> None:
        self._directory = schedule_file.parent
        self._users = min(jobs, MOST_USERS)
        self._page_port = page_port
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("LOCUST_")},
            "PYTHONPATH": os.pathsep.join(filter(None, [str(PROJECT_ROOT), os.environ.get("PYTHONPATH")])),
            "TESTBED_API_URL": client.api_url,
            "TESTBED_TOKEN": client.token,
            "TESTBED_RUN": str(run),
            "TESTBED_SCHEDULE": str(schedule_file.resolve()),
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None

    def __enter__(self) -> Self:
        self._output = (self._directory / OUTPUT_FILE).open("wb")
        users = str(self._users)
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "locust", "-f", str(_LOCUST_FILE), "--only-summary", *self._page_arguments()),
                *("--users", users, "--spawn-rate", users, "--csv", "locust", "--loglevel", "WARNING"),
            ],
            cwd=self._directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self.wait()
            self._process.kill()
            self._process.wait()
        if self._output is not None:
            self._output.close()

    def _page_arguments(self) -> list[str]:
        if self._page_port is None:
            return ["--headless"]
        port = str(self._page_port)
        return ["--autostart", "--web-host", LOOPBACK, "--web-port", port, "--html", REPORT_FILE]

    def has_ended(self) -> bool:
        """Return whether the load generator has ended."""
        return self._process is not None and self._process.poll() is not None

    def check(self) -> None:
        """Raise `RunFailed` if the load generator has ended with an error."""
        if self._process is not None and self._process.poll():
            raise RunFailed(f"The load generator ended without submitting every job: {self._last_words()}")

    def wait(self) -> None:
        """Wait for the load generator to end by itself, so that its statistics are complete."""
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_HOST_END_S)

    def _last_words(self) -> str:
        text = (self._directory / OUTPUT_FILE).read_text(encoding="utf-8", errors="replace")
        ours = [line.removeprefix("testbed: ") for line in text.splitlines() if line.startswith("testbed: ")]
        return ours[0] if ours else f"see {self._directory / OUTPUT_FILE}."
