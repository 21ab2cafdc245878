"""A broker over simulated clusters in a process of its own, and clients that submit to it."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.broker_program import TOKEN

HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
SPECIFICATION = {"application": "poisson", "arguments": {"grid": 400}, "components": [8, 8]}


@dataclass(frozen=True)
class RunningBroker:
    """The broker's port and process."""

    port: int
    process: int

    @property
    def url(self) -> str:
        """The address of its API."""
        return f"http://127.0.0.1:{self.port}"

    def cpu_s(self) -> float:
        """Return the CPU time of the process so far."""
        fields = Path(f"/proc/{self.process}/stat").read_text(encoding="utf-8").rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def fill(self, queued: int) -> None:
        """Submit jobs that cannot start until about `queued` wait."""
        fillers = [Submitter(self.port, f"fill{number}") for number in range(min(32, queued))]
        for filler in fillers:
            filler.start()
        while sum(len(filler.taken_s) for filler in fillers) < queued:
            time.sleep(0.05)
        stop(fillers)


@contextmanager
def running_broker() -> Iterator[RunningBroker]:
    """Start a broker on the first core; this process keeps to the others meanwhile."""
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [sys.executable, "-m", "tests.bench.broker_program", folder, str(port), str(cores[0])]
        broker = subprocess.Popen(command)
        try:
            os.sched_setaffinity(0, set(cores[1:]) or set(cores))
            _await(port)
            yield RunningBroker(port, broker.pid)
        finally:
            broker.terminate()
            broker.wait()
            os.sched_setaffinity(0, set(cores))


class Submitter(threading.Thread):
    """Submits one job after another until told to stop, and keeps the time that each took."""

    def __init__(self, port: int, name: str) -> None:
        super().__init__(daemon=True)
        self.name = name
        self.taken_s: list[float] = []
        self.stopped = threading.Event()
        self._connection = http.client.HTTPConnection("127.0.0.1", port)

    def run(self) -> None:
        """Submit until stopped."""
        while not self.stopped.is_set():
            self.submit()

    def submit(self) -> None:
        """Submit one job under a key of its own."""
        body = json.dumps({"specification": SPECIFICATION, "key": f"{self.name}-{len(self.taken_s)}"})
        began_s = time.perf_counter()
        self._connection.request("POST", "/v1/jobs", body, HEADERS)
        answer = self._connection.getresponse()
        said = answer.read()
        if answer.status != 201:
            sys.exit(f"a submission was refused: {said.decode()}")
        self.taken_s.append(time.perf_counter() - began_s)


def stop(submitters: list[Submitter]) -> None:
    """Let each end its last submission."""
    for submitter in submitters:
        submitter.stopped.set()
    for submitter in submitters:
        submitter.join()


def _await(port: int) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.1)
