"""Taking all testbeds down: one that stays keeps no other."""

from __future__ import annotations

from typing import Any

import docker.errors
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


class StuckNetwork:
    """A network that the engine does not remove; a double."""

    name = "lab-control"

    def remove(self) -> None:
        raise docker.errors.APIError("refused", explanation="network lab-control has active endpoints")


def test_a_part_that_stays_is_said_once_and_named_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    engine: Any = None
    monkeypatch.setattr(down, "_LISTED_BY_KIND", (("networks", lambda client, name: [StuckNetwork()]),))
    monkeypatch.setattr(down, "_REMOVE_WITHIN_HOST_S", 0.1)
    monkeypatch.setattr(down, "_LOOK_EVERY_HOST_S", 0.01)
    with pytest.raises(EngineUnavailable, match=r"lab-control could not be removed: .* active endpoints \(restart"):
        down.remove_parts(engine, "lab", lambda step: said.append(step.detail))
    assert said == ["1 networks of lab"]
