"""A background load on a running testbed that no campaign owns, held by a process of its own until it is stopped.

``python -m emulator.campaigns.standing_background NAME BACKGROUND SEED`` is that process; BACKGROUND is a
`Background` as JSON. It runs in real time, keeps its status in the testbed's state folder, and ends with all its jobs
when it gets SIGTERM.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from emulator.campaigns.background import check_local_users
from emulator.containers.local_users import holder, lock_file
from emulator.containers.state import state_folder
from emulator.fidelity.background import SETTLING_S
from emulator.model.background import Background
from emulator.model.clock import REAL_TIME, EmulatedClock
from emulator.model.documents import DocumentModel
from emulator.model.errors import RunFailed, TestbedBusy, TestbedError, TestbedNotUp
from emulator.model.process_lock import end_process
from emulator.model.project import PROJECT_ROOT
from emulator.model.records import BackgroundRow
from emulator.model.whole_files import write_whole
from emulator.runs.background_actor import BackgroundActor
from emulator.runs.background_load import BackgroundLoad
from emulator.runs.container_testbed import testbed_named
from emulator.runs.holding import Testbed
from workloads.distributions import stream
from workloads.local_jobs import DUMMY_JOBS, local_jobs

STATUS_FILE: Final = "background.json"
LOG_FILE: Final = "background.log"
HOST_ASK_INTERVAL_S: Final = 2.0
"""Host seconds between lists of jobs, which also tell how many processors the grid's jobs hold."""
HOST_CHECK_INTERVAL_S: Final = 0.5
START_WITHIN_HOST_S: Final = 60.0
STOP_WITHIN_HOST_S: Final = 60.0


class StandingStatus(DocumentModel):
    """The status of a standing background load, as its process last wrote it."""

    pid: int
    background: Background
    seconds: float
    share_in_band: float | None
    clusters: tuple[BackgroundRow, ...]

    @property
    def load(self) -> float:
        """The share of all processors on which its jobs run."""
        held = sum(row.dummy_processors + row.local_processors for row in self.clusters)
        processors = sum(row.processors for row in self.clusters)
        return held / processors if processors else 0.0


def start(name: str, background: Background, seed: int) -> StandingStatus:
    """Start the process that holds `background` on the testbed called `name`, and return its first status.

    Raises:
        TestbedBusy: if a background load runs there already.
        RunFailed: if the process ends at once; the message is its last line.
    """
    if holder(name) is not None:
        raise TestbedBusy(f"A background load runs on the testbed {name!r} already (`testbed background status`).")
    folder = state_folder(name)
    (folder / STATUS_FILE).unlink(missing_ok=True)
    with (folder / LOG_FILE).open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, name, background.model_dump_json(), str(seed)],
            cwd=PROJECT_ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    host_deadline_s = time.monotonic() + START_WITHIN_HOST_S
    while (found := status(name)) is None or found.pid != process.pid:
        if process.poll() is not None or time.monotonic() > host_deadline_s:
            process.terminate()
            said = (folder / LOG_FILE).read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise RunFailed(said[-1] if said else f"The background load did not start (see {folder / LOG_FILE}).")
        time.sleep(HOST_CHECK_INTERVAL_S / 5)
    return found


def status(name: str) -> StandingStatus | None:
    """Return the status of the standing background load on the testbed called `name`; None if there is none."""
    pid = holder(name)
    try:
        found = StandingStatus.model_validate_json((state_folder(name) / STATUS_FILE).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValidationError):
        return None
    return found if found.pid == pid else None


def stop(name: str) -> None:
    """End the standing background load on the testbed called `name`, and wait until its jobs are cancelled.

    Raises:
        TestbedNotUp: if there is none.
        TestbedBusy: if the load is that of a campaign.
        RunFailed: if its process does not end.
    """
    found, pid = status(name), holder(name)
    if found is None:
        if pid is not None:
            raise TestbedBusy("The background load is a campaign's and ends with it (`testbed campaign stop`).")
        raise TestbedNotUp(f"No background load runs on the testbed {name!r}, so there is nothing to stop.")
    if not end_process(lock_file(name)):
        raise TestbedNotUp(
            f"No background load runs on the testbed {name!r}, as far as can be told: process {found.pid} has ended, "
            f"or may be another one (if it is the load's, `kill {found.pid}` ends it; else remove {lock_file(name)})."
        )
    host_deadline_s = time.monotonic() + STOP_WITHIN_HOST_S
    while holder(name) is not None:
        if time.monotonic() > host_deadline_s:
            raise RunFailed(
                f"The background load's process {found.pid} does not end (end it with `kill -9 {found.pid}`; its jobs "
                "end with it)."
            )
        time.sleep(HOST_CHECK_INTERVAL_S / 5)
    (state_folder(name) / STATUS_FILE).unlink(missing_ok=True)


def hold(testbed: Testbed, background: Background, seed: int, stopped: threading.Event, file: Path) -> None:
    """Hold `background` on `testbed` until `stopped` is set; keep the status in `file`.

    Raises:
        TestbedError: if it can no longer be held.
    """
    users = check_local_users(testbed)
    rows: dict[str, BackgroundRow] = {}
    load = BackgroundLoad(
        background,
        testbed.topology,
        local_jobs(background, testbed.topology, seed),
        stream(seed, DUMMY_JOBS),
        users,
        REAL_TIME,
        SETTLING_S,
        lambda row: rows.update({row.cluster: row}),
        grid_from_lists=True,
    )
    actor = BackgroundActor(
        users, load, on_turn=_status_writer(background, load, rows, file), host_ask_interval_s=HOST_ASK_INTERVAL_S
    )
    with actor:
        actor.begin(EmulatedClock.starting_now(REAL_TIME))
        while not stopped.wait(HOST_CHECK_INTERVAL_S):
            actor.check()


def _status_writer(
    background: Background, load: BackgroundLoad, rows: dict[str, BackgroundRow], file: Path
) -> Callable[[float], None]:
    def write(now_s: float) -> None:
        found = StandingStatus(
            pid=os.getpid(),
            background=background,
            seconds=now_s,
            share_in_band=load.measures(now_s).share_in_band,
            clusters=tuple(rows.values()),
        )
        # What is written next is newer; a full disk must not end the load.
        with suppress(OSError):
            write_whole(file, found.model_dump_json(), durable=False)

    return write


def main(name: str, background: str, seed: str) -> None:
    """Hold the load until SIGTERM."""
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: stopped.set())
    try:
        with testbed_named(name) as testbed:
            stated = Background.model_validate_json(background)
            hold(testbed, stated, int(seed), stopped, state_folder(name) / STATUS_FILE)
    except TestbedError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
