"""Timestamps of a job's timeline: those of the broker's clock, whatever the clock of a rank shows."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from apps.setting import JobSetting
from apps.timeline import broker_now_s, host_wait_s, machine_clock, to_first_clock_ns
from emulator.model.clock import Dilation
from emulator.model.errors import InvalidInput


def setting(*clocks_ahead_s: float) -> JobSetting:
    return JobSetting(Dilation(2), 2, (1, 1), None, clocks_ahead_s=clocks_ahead_s)


@pytest.mark.parametrize(("rank", "ahead_s"), [(0, 0.0), (1, 3600.0)])
def test_a_rank_tells_what_the_broker_s_clock_shows(rank: int, ahead_s: float) -> None:
    job = SimpleNamespace(setting=setting(0.0, 3600.0), communicator=SimpleNamespace(rank=rank))
    assert broker_now_s(job) == pytest.approx(time.time() - ahead_s, abs=5.0)  # type: ignore[arg-type]


def test_clocks_are_stated_for_every_cluster_or_for_none() -> None:
    assert setting().clock_ahead_s(1) == 0.0
    for stated in ((1.0,), (1.0, float("nan")), (0.0, 0.0, 0.0)):
        with pytest.raises(InvalidInput, match="has seconds for each of 2 clusters"):
            setting(*stated)


def test_a_start_is_awaited_no_longer_than_is_stated() -> None:
    assert host_wait_s(None, None, 100.0) == 0.0
    assert host_wait_s(103.0, None, 100.0) == 3.0
    assert host_wait_s(103.0, 2.0, 100.0) == 2.0
    assert host_wait_s(99.0, 2.0, 100.0) == 0.0


def test_ranks_of_one_machine_compare_their_timestamps_as_they_are() -> None:
    own, other = machine_clock(0.0), machine_clock(0.0)
    assert to_first_clock_ns(other, own) == 0


def test_timestamps_of_another_machine_are_taken_to_the_first_rank_s_by_way_of_the_broker_s_clock() -> None:
    """A machine that started an hour later has a monotonic clock that is an hour behind; its wall clock is fast."""
    number, ahead_ns = machine_clock(0.0)
    later = (number + 1.0, ahead_ns + 3600e9)
    assert to_first_clock_ns(later, (number, ahead_ns)) == pytest.approx(3600 * 10**9, abs=1000)
    fast = machine_clock(2.0)
    assert ahead_ns - fast[1] == pytest.approx(2e9, abs=1e9)


def test_machines_whose_number_cannot_be_read_are_taken_for_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("apps.timeline._BOOT", tmp_path / "missing")
    assert machine_clock(0.0)[0] == 0.0
