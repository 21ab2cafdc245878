"""How long a container stood still, from the engine's events."""

from __future__ import annotations

import time

import pytest

from emulator.containers.telemetry.standstills import Standstills


def event(action: str, timestamp_s: float, name: str = "delft") -> dict[str, object]:
    return {"Action": action, "timeNano": round(timestamp_s * 1e9), "Actor": {"Attributes": {"name": name}}}


@pytest.mark.parametrize(("stops", "goes_on"), [("pause", "unpause"), ("die", "start")])
def test_a_container_stands_still_from_when_it_stops_until_it_goes_on(stops: str, goes_on: str) -> None:
    standstills = Standstills()
    for happened in (event(stops, 10.0), event(goes_on, 10.4), event(stops, 20.0), event(goes_on, 21.0)):
        standstills.record(happened)
    assert standstills.host_stopped_s("delft") == pytest.approx(1.4)
    assert standstills.host_stopped_s("leiden") == 0.0


def test_what_stands_still_now_counts_until_now() -> None:
    standstills = Standstills()
    standstills.record(event("pause", time.time() - 5_000.0))
    assert standstills.host_stopped_s("delft") == pytest.approx(5_000.0, abs=60.0)


def test_a_container_that_is_paused_and_then_ends_has_stood_still_from_the_first_of_both() -> None:
    standstills = Standstills()
    for happened in (event("pause", 10.0), event("die", 11.0), event("start", 13.0)):
        standstills.record(happened)
    assert standstills.host_stopped_s("delft") == pytest.approx(3.0)


def test_going_on_alone_says_nothing() -> None:
    standstills = Standstills()
    standstills.record(event("start", 10.0))
    assert standstills.host_stopped_s("delft") == 0.0
