"""A running testbed as a user and a local administrator see it: jobs, processes and allocations."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import httpx
from docker.models.containers import Container

from emulator.client import BrokerClient
from emulator.containers import engine
from emulator.model.errors import TestbedError
from emulator.model.job import JobSpecification, JobState
from emulator.model.views import JobView, Submission
from tests.live.command_line import CommandLine
from tests.live.container_shell import output_in

ENDLESS = {"grid": 100, "iterations": 10_000_000}
SHORT = {"grid": 100, "iterations": 20}
PATIENCE_HOST_S = 300.0
"""Longer than a job may take to be claimed and to begin, so that a job that does not has failed and says why."""
KILL = """
import os, pathlib, signal
for process in pathlib.Path("/proc").glob("[0-9]*"):
    words = (process / "cmdline").read_bytes().split(b"\\0")
    if words[:1] != [b""] and b"emulator.broker" in words and int(process.name) != 1:
        os.kill(int(process.name), signal.SIGKILL)
"""
ENDED = tuple(state for state in JobState if state.final)

Found = TypeVar("Found")


def until(condition: Callable[[], Found], host_within_s: float = PATIENCE_HOST_S) -> Found:
    """Wait until `condition` holds; return its result."""
    host_deadline_s = time.monotonic() + host_within_s
    while not (found := condition()):
        assert time.monotonic() < host_deadline_s, f"it did not come to that in {host_within_s:g} s"
        time.sleep(0.1)
    return found


class Grid:
    """A testbed as seen by a program that submits jobs, and by the administrators of its clusters."""

    def __init__(self, testbed: CommandLine, client: BrokerClient) -> None:
        self.testbed = testbed
        self.client = client
        self.submitted: list[int] = []

    def submit(self, *components: int, run: int = 0, **more: object) -> int:
        """Submit a job, by default endless Poisson, to the named clusters or to any; return its number."""
        fixed = {"request": "fixed"} if "clusters" in more else {}
        stated = {"application": "poisson", "arguments": ENDLESS, "components": components, **fixed, **more}
        specification = JobSpecification.model_validate(stated)
        job = self.client.submit(Submission(specification=specification, run=run)).id
        self.submitted.append(job)
        return job

    def job(self, number: int) -> JobView:
        """Get the current state of a job."""
        return self.client.job(number)

    def await_state(self, number: int, *states: JobState) -> JobView:
        """Wait until the job is in one of the states; fail at once if it has ended in another."""
        host_deadline_s = time.monotonic() + PATIENCE_HOST_S
        while (job := self.job(number)).state not in states:
            assert job.state not in ENDED, f"job {number} {job.state}: {job.reason}"
            assert time.monotonic() < host_deadline_s, f"job {number} is {job.state}: {job.reason}"
            time.sleep(0.1)
        return job

    def finished(self, number: int) -> JobView:
        """Wait until the job has finished."""
        return self.await_state(number, JobState.FINISHED)

    def cancel(self, *numbers: int) -> None:
        """Cancel jobs and wait until they are cancelled."""
        for number in numbers:
            self.client.cancel(number)
        for number in numbers:
            self.await_state(number, JobState.CANCELLED)

    def at(self, cluster: str, command: str, user: str = "") -> str:
        """Run a command in a shell in the cluster's container, as root or as `user`; return its output."""
        container = engine.connect().containers.get(f"{self.testbed.name}-{cluster}")
        return output_in(container, command, user)

    def ranks_at(self, cluster: str) -> int:
        """Count the ranks of applications that run in a cluster."""
        return int(self.at(cluster, "pgrep -fc '^python3 -m apps' || true"))

    def nothing_held_at(self, *clusters: str) -> None:
        """Wait until no allocation and no rank is left in the clusters."""
        host_deadline_s = time.monotonic() + 20
        held = {}
        while time.monotonic() < host_deadline_s:
            held = {cluster: (self.at(cluster, "squeue -h"), self.ranks_at(cluster)) for cluster in clusters}
            if all(value == ("", 0) for value in held.values()):
                return
            time.sleep(0.3)
        raise AssertionError(f"still held: {held}")

    @contextlib.contextmanager
    def taken_by_others(self, cluster: str) -> Iterator[None]:
        """Reserve all processors of `cluster` for another user; its manager still reports them as idle."""
        made = self.at(
            cluster,
            "scontrol create reservation reservationname=theirs user=root starttime=now duration=60 nodes=ALL "
            "flags=ignore_jobs",
        )
        assert "theirs" in made, made
        try:
            yield
        finally:
            self.at(cluster, "scontrol delete reservation=theirs")

    @property
    def broker_container(self) -> Container:
        """Return the broker's container."""
        return engine.connect().containers.get(f"{self.testbed.name}-broker")

    def is_well(self) -> bool:
        """Return whether the broker answers, and all clusters answer the broker."""
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{self.client.api_url}/v1/health", trust_env=False).status_code == httpx.codes.OK
        return False

    def kill_broker(self) -> None:
        """Kill the broker's process and wait until Docker has started it again."""
        began = self.broker_container.attrs["State"]["StartedAt"]
        self.broker_container.exec_run(["python3", "-c", KILL])
        until(lambda: self.broker_container.attrs["State"]["StartedAt"] != began and self.is_well())

    def end_all(self) -> None:
        """Cancel all jobs submitted here that have not ended, and wait until they have."""
        for number in self.submitted:
            with contextlib.suppress(TestbedError):
                self.client.cancel(number)
        for number in self.submitted:
            self.await_state(number, *ENDED)
