"""The load generator as a thread, for tests of campaigns that do not ask how jobs are submitted.

The load generator itself is a process of locust, which needs some seconds to start; `test_load_generator.py` tests it.
"""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from emulator.client import BrokerClient
from emulator.model.clock import Dilation, EmulatedClock
from emulator.model.errors import RunFailed, TestbedError
from emulator.model.views import Submission
from workloads.schedule import read_schedule


class SubmittingThread:
    """Submits a schedule at its times, with the interface of the load generator."""

    def __init__(
        self, client: BrokerClient, run: int, schedule_file: Path, jobs: int, page_port: int | None = None
    ) -> None:
        self._client, self._run, self._file = client, run, schedule_file
        self._ended = threading.Event()
        self._refusal: TestbedError | None = None
        self._thread = threading.Thread(target=self._submit_all, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def check(self) -> None:
        if self._refusal is not None:
            raise RunFailed(str(self._refusal))

    def wait(self) -> None:
        self._thread.join()

    def _submit_all(self) -> None:
        try:
            run = self._client.start_run(self._run)
            assert run.host_origin_s is not None
            clock = EmulatedClock(Dilation(run.request.dilation), run.host_origin_s)
            for number, arrival in enumerate(read_schedule(self._file), start=1):
                if self._ended.wait(clock.host_remaining_s(arrival.arrival_s)):
                    return
                self._client.submit_surely(
                    Submission(
                        specification=arrival.specification,
                        run=self._run,
                        intended_arrival_s=arrival.arrival_s,
                        key=f"{self._run}-{number}",
                    )
                )
        except TestbedError as error:
            self._refusal = error


@pytest.fixture
def submitted_by_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have campaigns submit their jobs from a thread of this process."""
    monkeypatch.setattr("emulator.campaigns.live.LoadGenerator", SubmittingThread)
