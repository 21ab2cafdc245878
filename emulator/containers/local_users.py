"""The local users of a testbed's clusters: one program per container submits their jobs and reports on them.

The program is ``local-users.sh`` of the node image. It cancels all jobs when its input ends, which happens when this
process ends, however it ends. A lock in the testbed's state folder admits one background load at a time, and names its
holder.
"""

from __future__ import annotations

import contextlib
import os
from functools import partial
from pathlib import Path
from typing import Final

import docker

from emulator.containers.engine import ENGINE_ERRORS
from emulator.containers.programs import OnLine, Program
from emulator.containers.state import TestbedState, state_folder
from emulator.model.errors import TestbedBusy
from emulator.model.process_lock import ProcessLock, is_locked, process_number, process_text

PROGRAM: Final = ("bash", "/usr/local/lib/testbed/local-users.sh")
LOCK_FILE: Final = "background.lock"


class ContainerLocalUsers:
    """The local users of the clusters of `testbed` that are containers."""

    def __init__(self, client: docker.DockerClient, testbed: TestbedState) -> None:
        self._client = client
        self._name = testbed.record.name
        self._containers = {cluster.name: cluster.container for cluster in testbed.record.clusters}
        self._programs: dict[str, Program] = {}
        self._lock: ProcessLock | None = None

    def open(self, on_line: OnLine) -> None:
        """Begin without a job, and report starts and ends of jobs to `on_line`, from other threads.

        Raises:
            TestbedBusy: if another background load runs on the testbed.
            TestbedNotUp: if a cluster's container does not run.
        """
        self._lock = _locked(self._name)
        if self._lock is None:
            raise TestbedBusy(
                f"A background load runs on the testbed {self._name!r} already (`testbed background stop` ends it, "
                "unless it is a campaign's)."
            )
        try:
            for cluster, container in self._containers.items():
                self._programs[cluster] = Program(self._client, container, PROGRAM, partial(on_line, cluster))
        except BaseException:
            self.close()
            raise

    def submit(self, cluster: str, job: str, account: str, processors: int, host_length_s: float) -> None:
        """Submit a job that sleeps for `host_length_s`."""
        self._programs[cluster].tell(f"submit {job} {account} {processors} {host_length_s:.3f}")

    def prolong(self, cluster: str, job: str, host_length_s: float) -> None:
        """Have a job that runs sleep for `host_length_s` more before it ends."""
        self._programs[cluster].tell(f"prolong {job} {host_length_s:.3f}")

    def cancel(self, cluster: str, job: str) -> None:
        """Cancel a job, whether it waits or runs."""
        self._programs[cluster].tell(f"cancel {job}")

    def list_jobs(self, cluster: str, number: int) -> None:
        """Ask for a report of all jobs, which will carry `number`."""
        self._programs[cluster].tell(f"list {number}")

    def close(self) -> None:
        """Cancel all jobs, and wait until that is done."""
        for program in self._programs.values():
            program.end()
        for cluster, program in self._programs.items():
            if not program.close():
                self._clear(self._containers[cluster])
        self._programs.clear()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def clear(self) -> None:
        """Cancel all jobs of a background load whose command was killed; leave those of one that runs."""
        lock = _locked(self._name)
        if lock is None:
            return
        try:
            for container in self._containers.values():
                self._clear(container)
        finally:
            lock.release()

    def _clear(self, container: str) -> None:
        # A container that does not run has no jobs, and Slurm forgets them when it starts again.
        with contextlib.suppress(*ENGINE_ERRORS):
            self._client.containers.get(container).exec_run([*PROGRAM, "clear"])


def lock_file(name: str) -> Path:
    """Return the file that the holder of the background load of `name` locks; its process id is inside."""
    return state_folder(name) / LOCK_FILE


def holder(name: str) -> int | None:
    """Return the process id of the holder of the background load of the testbed `name`; None if there is none."""
    file = lock_file(name)
    return int(process_number(file) or 0) if is_locked(file) else None


def _locked(name: str) -> ProcessLock | None:
    """Return the lock of this process; None if another process holds it."""
    try:
        return ProcessLock(lock_file(name), process_text(os.getpid()), waits=False)
    except BlockingIOError:
        return None
