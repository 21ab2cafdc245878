"""Taking all testbeds down: one that stays keeps no other."""

from __future__ import annotations

import pytest

from emulator.containers import down
from emulator.model.errors import EngineUnavailable


def test_a_testbed_that_cannot_be_taken_down_keeps_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def take_down(name: str, observe: object) -> None:
        tried.append(name)
        if name != "last":
            raise EngineUnavailable(f"{name} could not be removed.")

    monkeypatch.setattr(down, "sweep", lambda observe: [])
    monkeypatch.setattr(down.engine, "connect", lambda: None)
    monkeypatch.setattr(down, "testbeds", lambda client: ["first", "second", "last"])
    monkeypatch.setattr(down, "take_down", take_down)
    with pytest.raises(EngineUnavailable, match=r"first could not be removed\."):
        down.take_all_down()
    assert tried == ["first", "second", "last"]
