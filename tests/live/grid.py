"""What a user and a local administrator see of a standing testbed: jobs, processes and allocations."""

import time
from pathlib import Path

import yaml

from emulator.containers import engine
from tests.live.command_line import CommandLine

ENDLESS = {"grid": 100, "iterations": 10_000_000}
ENDED = ("finished", "failed", "cancelled")


class Grid:
    """What a user and a local administrator see of the testbed."""

    def __init__(self, testbed: CommandLine, folder: Path) -> None:
        self.testbed = testbed
        self.folder = folder
        self.submitted: list[int] = []

    def submit(self, **job) -> int:
        file = self.folder / "job.yaml"
        file.write_text(yaml.safe_dump({"application": "poisson", "arguments": ENDLESS, **job}))
        (job,) = self.testbed.succeed("submit", str(file), "--json").as_json()
        self.submitted.append(job["id"])
        return job["id"]

    def job(self, number: int) -> dict:
        return self.testbed.succeed("jobs", str(number), "--json").as_json()

    def await_state(self, number: int, *states: str) -> dict:
        deadline_host_s = time.monotonic() + 90
        while (job := self.job(number))["state"] not in states:
            assert time.monotonic() < deadline_host_s, f"job {number} is {job['state']}: {job['reason']}"
            time.sleep(0.3)
        return job

    def at(self, cluster: str, command: str) -> str:
        container = engine.connect().containers.get(f"{self.testbed.name}-{cluster}")
        return container.exec_run(["bash", "-c", command]).output.decode().strip()

    def ranks_at(self, cluster: str) -> int:
        return int(self.at(cluster, "pgrep -fc '^python3 -m apps' || true"))

    def nothing_held_at(self, *clusters: str) -> None:
        deadline_host_s = time.monotonic() + 20
        held = {}
        while time.monotonic() < deadline_host_s:
            held = {cluster: (self.at(cluster, "squeue -h"), self.ranks_at(cluster)) for cluster in clusters}
            if all(value == ("", 0) for value in held.values()):
                return
            time.sleep(0.3)
        raise AssertionError(f"still held: {held}")

    def end_all(self) -> None:
        """Cancel what was submitted here and has not ended, and wait until it has."""
        for number in self.submitted:
            if self.job(number)["state"] not in ENDED:
                self.testbed("cancel", str(number))
            self.await_state(number, *ENDED)
