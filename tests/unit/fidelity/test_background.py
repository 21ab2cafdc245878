"""How well a background load kept to its band, from its changes."""

from __future__ import annotations

import pytest

from emulator.fidelity.background import BackgroundMeasures, BandWatch
from emulator.model.background import ProcessorBand

BAND = ProcessorBand(10, 20)


def test_the_first_minute_does_not_count():
    watch = BandWatch(BAND)
    watch.note(60, 15, dummies_left=True)
    watch.note(100, 5, dummies_left=True)
    assert watch.measures(110).share_in_band == pytest.approx(40 / 50)


def test_a_load_at_either_end_is_in_its_band():
    watch = BandWatch(BAND)
    watch.note(0, 10, dummies_left=True)
    watch.note(90, 20, dummies_left=True)
    assert watch.measures(160).share_in_band == 1.0


def test_there_is_no_share_of_a_run_that_ended_in_its_first_minute():
    watch = BandWatch(BAND)
    watch.note(0, 15, dummies_left=True)
    assert watch.measures(60).share_in_band is None


def test_only_the_time_above_the_band_without_a_dummy_job_makes_a_run_void():
    watch = BandWatch(BAND, void_after_s=60)
    watch.note(0, 30, dummies_left=True)
    assert watch.measures(100) == BackgroundMeasures(0.0, 0.0, 60)
    watch.note(100, 30, dummies_left=False)
    assert not watch.measures(160).is_void
    assert watch.measures(161).is_void


def test_the_longest_time_above_the_band_counts_not_their_sum():
    watch = BandWatch(BAND, void_after_s=60)
    for began_s in (0, 100):
        watch.note(began_s, 21, dummies_left=False)
        watch.note(began_s + 40, 20, dummies_left=False)
    assert watch.measures(200).longest_above_s == 40
    assert not watch.measures(200).is_void


def test_a_change_of_load_above_the_band_does_not_begin_the_count_anew():
    watch = BandWatch(BAND, void_after_s=60)
    watch.note(0, 30, dummies_left=False)
    watch.note(50, 25, dummies_left=False)
    assert watch.measures(70).is_void


def test_a_report_that_comes_late_moves_no_time_back():
    watch = BandWatch(BAND, settling_s=0)
    watch.note(10, 15, dummies_left=True)
    watch.note(8, 16, dummies_left=True)
    assert watch.measures(20).share_in_band == pytest.approx(10 / 20)
