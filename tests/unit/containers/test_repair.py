"""A testbed that stands already: found or refused, and its links measured between hosts and programmed again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from emulator.containers import repair
from emulator.containers.mending import Action, Remedy, RenderedPart
from emulator.containers.progress import ignore
from emulator.containers.state import TestbedSpec
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.errors import TestbedAlreadyUp
from emulator.model.project import TOPOLOGIES

RESTING, HELD = Dilation(1), Dilation(8)
TOUCHED = [Action(Remedy.START, RenderedPart("lab-delft", "delft", "cluster", {}), "has ended")]
BEFORE: Any = SimpleNamespace(topology=SimpleNamespace(emulated="links"), name="before")
AFTER: Any = SimpleNamespace(topology=SimpleNamespace(emulated="links"), name="after")


@dataclass
class Links:
    """The links of a testbed: `sound_for` which of the two states they are as programmed, and who holds them.

    A measurement between hosts leads from the state `BEFORE` to `measured`, which is `BEFORE` on one host.
    """

    sound_for: tuple[str, ...] = ("before",)
    measured: Any = field(default_factory=lambda: AFTER)
    held: list[Dilation | None] = field(default_factory=lambda: [None, None])
    measurements: int = 0
    programmed: list[tuple[str, Dilation]] = field(default_factory=list)

    def with_underlays(self, client: object, testbed: object, observe: object) -> Any:
        self.measurements += 1
        return self.measured

    def program(self, handle: str, topology: object, dilation: Dilation) -> None:
        self.programmed.append((handle, dilation))


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """Programs the links where that is due, and returns whether they were mended."""

    def run(links: Links, done: list[Action]) -> bool:
        monkeypatch.setattr(repair, "wan_handle", lambda client, testbed: testbed.name)
        monkeypatch.setattr(repair, "_is_at_rest", lambda handle, topology: handle in links.sound_for)
        monkeypatch.setattr(repair, "held_dilation", lambda testbed: links.held.pop(0))
        monkeypatch.setattr(repair, "forget_neighbours", lambda handle: None)
        monkeypatch.setattr(repair, "resting_dilation", lambda handle, topology: RESTING)
        monkeypatch.setattr(repair, "with_underlays", links.with_underlays)
        monkeypatch.setattr(repair, "program_wide_area", links.program)
        client: Any = None
        return repair._program_links(client, BEFORE, done, ignore)

    return run


def test_a_network_that_became_slower_is_measured_and_its_links_follow(program: Callable[..., bool]) -> None:
    links = Links()
    assert not program(links, []), "nothing was broken"
    assert links.measurements == 1
    assert links.programmed == [("after", RESTING)]


@pytest.mark.parametrize("links", [Links(sound_for=("before", "after")), Links(measured=BEFORE)])
def test_links_that_are_right_as_they_are_stay(program: Callable[..., bool], links: Links) -> None:
    assert not program(links, [])
    assert (links.measurements, links.programmed) == (1, [])


def test_what_a_run_holds_is_neither_measured_nor_programmed(program: Callable[..., bool]) -> None:
    links = Links(held=[HELD])
    assert not program(links, [])
    assert (links.measurements, links.programmed) == (0, [])


def test_a_run_that_begins_during_the_measurement_keeps_its_links(program: Callable[..., bool]) -> None:
    links = Links(held=[None, HELD])
    assert not program(links, [])
    assert links.programmed == []


def test_links_that_somebody_changed_are_mended(program: Callable[..., bool]) -> None:
    links = Links(sound_for=())
    assert program(links, [])
    assert links.programmed == [("after", RESTING)]


def test_links_of_a_part_that_was_mended_are_programmed_for_the_run_that_holds_them(
    program: Callable[..., bool],
) -> None:
    links = Links(held=[HELD])
    assert program(links, TOUCHED)
    assert links.programmed == [("after", HELD)]


@pytest.mark.parametrize("kind", ["containers", "volumes"])
def test_a_name_that_parts_have_whose_state_is_elsewhere_is_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    held = {each: [SimpleNamespace(name="lab-x")] if each == kind else [] for each in ("containers", "volumes")}
    listed = {each: SimpleNamespace(list=lambda each=each, **_: held[each]) for each in held}
    client: Any = SimpleNamespace(**listed)
    spec = TestbedSpec("lab", TOPOLOGIES / "mini.yaml")
    with pytest.raises(TestbedAlreadyUp, match=r"Containers or volumes of a testbed called 'lab' exist"):
        repair.find_existing(client, spec, topology_named("mini"))
    held[kind].clear()
    assert repair.find_existing(client, spec, topology_named("mini")) is None
