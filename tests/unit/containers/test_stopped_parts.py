"""Containers that do not run, told from an engine that does not answer for a while."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import docker.errors
import pytest
import requests.exceptions

from emulator.containers import stopped_parts
from emulator.containers.stopped_parts import StoppedParts
from emulator.model.errors import EngineUnavailable


class Engine:
    """An engine whose containers have a status each; None: it does not answer when asked for that one."""

    def __init__(self, **statuses: str | None) -> None:
        self.statuses = statuses

    @property
    def containers(self) -> Any:
        return self

    def get(self, name: str) -> Any:
        if name not in self.statuses:
            raise docker.errors.NotFound(name)
        status = self.statuses[name]
        if status is None:
            raise requests.exceptions.ConnectionError("connection refused")
        return SimpleNamespace(status=status)


def test_a_container_that_is_gone_or_has_ended_does_not_run() -> None:
    engine = Engine(east="running", west="exited", wan="restarting")
    assert StoppedParts(engine, ["east", "west", "wan", "broker"], 0.0).found() == ["west", "broker"]


@pytest.fixture
def now_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of a clock that stands unless the test sets it."""
    moment_s = [100.0]
    monkeypatch.setattr(stopped_parts, "time", SimpleNamespace(monotonic=lambda: moment_s[0]))
    return moment_s


def test_an_engine_is_waited_for_from_when_it_last_answered(now_s: list[float]) -> None:
    engine = Engine(east=None, west="running")
    parts = StoppedParts(engine, ["east", "west"], 90.0)
    silent = [(float(time_s), None) for time_s in range(200, 291, 10)]
    for time_s, status in ((100.0, None), (120.0, None), (150.0, None), (175.0, "running"), *silent):
        now_s[0], engine.statuses["east"] = time_s, status
        assert parts.found() == []
    now_s[0] = 291.0
    with pytest.raises(EngineUnavailable, match="has not answered for 91 s when asked for east"):
        parts.found()


def test_two_outages_between_which_nobody_looked_are_not_one(now_s: list[float]) -> None:
    parts = StoppedParts(Engine(east=None), ["east"], 90.0)
    for time_s in (0.0, 200.0, 220.0):
        now_s[0] = time_s
        assert parts.found() == []


def test_an_engine_that_is_silent_at_every_look_is_given_up(now_s: list[float]) -> None:
    parts = StoppedParts(Engine(east=None), ["east"], 90.0)
    for time_s in range(0, 91, 10):
        now_s[0] = float(time_s)
        assert parts.found() == []
    now_s[0] = 100.0
    with pytest.raises(EngineUnavailable, match="has not answered for 100 s"):
        parts.found()


def test_looks_that_themselves_take_long_follow_one_another(now_s: list[float]) -> None:
    class Slow(Engine):
        def get(self, name: str) -> Any:
            now_s[0] += 60.0
            return super().get(name)

    parts = StoppedParts(Slow(east=None), ["east"], 90.0)
    assert [parts.found(), parts.found()] == [[], []]
    with pytest.raises(EngineUnavailable, match="has not answered for 120 s"):
        parts.found()


def test_a_container_that_stopped_is_found_while_another_engine_is_silent() -> None:
    assert StoppedParts(Engine(east=None, west="exited"), ["east", "west"], 90.0).found() == ["west"]
