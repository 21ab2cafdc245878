"""Bursts of local users beside jobs: recorded by the run's clock, from when it starts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation, EmulatedClock
from emulator.model.errors import RunFailed
from emulator.model.records import LocalBurstRow
from emulator.runs.local_bursts import bursts_recorded
from emulator.runs.recording import Recorder
from tests.unit.runs.test_recording import Rows

SHARED = topology_named("cisne-shared")


class Told:
    """Arbiters of which the test says what they tell."""

    def __init__(self) -> None:
        self.clusters: list[str] = []
        self.on_burst: Any = None

    @contextmanager
    def __call__(self, clusters: Sequence[str], on_burst: Any) -> Iterator[None]:
        self.clusters, self.on_burst = list(clusters), on_burst
        yield


def recording(topology: Any) -> tuple[Told, Rows, Recorder, Any]:
    told, directory = Told(), Rows()
    recorder = Recorder(directory, topology, Dilation(4.0))  # type: ignore[arg-type]
    return told, directory, recorder, SimpleNamespace(topology=topology, local_bursts=told)


def test_a_burst_is_recorded_at_the_emulated_time_of_its_end_unless_the_run_had_not_begun():
    told, directory, recorder, testbed = recording(SHARED)
    with bursts_recorded(testbed, recorder, {}) as check:
        assert told.clusters == ["cisne"]
        told.on_burst("cisne", f"{time.time()} n2 1 0.15 0.0")
        began_s = time.time()
        recorder.bursts.begin(EmulatedClock.resumed(Dilation(4.0), began_s))
        told.on_burst("cisne", f"{began_s + 40.0} n2 3 0.15 0.02")
        check()
    (row,) = [row for row in directory.rows if isinstance(row, LocalBurstRow)]
    assert row.time_s == pytest.approx(10.0, abs=0.01)
    assert (row.cluster, row.node, row.beside, row.processor_s, row.delay_s) == ("cisne", "n2", 3, 0.15, 0.02)
    assert recorder.bursts is None


def test_a_burst_is_recorded_by_the_run_s_clock_if_that_of_its_cluster_s_host_is_ahead():
    told, directory, recorder, testbed = recording(SHARED)
    with bursts_recorded(testbed, recorder, {"cisne": 8.0, "elsewhere": 40.0}):
        began_s = time.time()
        recorder.bursts.begin(EmulatedClock.resumed(Dilation(4.0), began_s))
        told.on_burst("cisne", f"{began_s + 48.0} n2 3 0.15 0.02")
    (row,) = [row for row in directory.rows if isinstance(row, LocalBurstRow)]
    assert row.time_s == pytest.approx(10.0, abs=0.01)


def test_a_run_whose_local_users_are_not_followed_any_more_fails():
    told, _, recorder, testbed = recording(SHARED)
    with bursts_recorded(testbed, recorder, {}) as check:
        told.on_burst("cisne", None)
        with pytest.raises(RunFailed, match="local users of cluster 'cisne' are not followed any more"):
            check()


def test_where_nobody_works_nobody_is_asked():
    told, _, recorder, testbed = recording(topology_named("mini"))
    with bursts_recorded(testbed, recorder, {}) as check:
        check()
    assert told.on_burst is None
