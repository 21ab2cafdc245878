"""A testbed that stands already: found or refused, and its links measured between hosts and programmed again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from emulator.containers import repair
from emulator.containers.hosts import underlay_reader
from emulator.containers.mending import Action, Remedy, RenderedPart
from emulator.containers.names import USER
from emulator.containers.progress import ProgressStep
from emulator.containers.state import (
    HostRecord,
    HostsRecord,
    TestbedRecord,
    TestbedSpec,
    TestbedState,
    remember,
    testbed_state,
)
from emulator.hosts.inventory import Host
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.documents import document_text
from emulator.model.errors import TestbedAlreadyUp
from emulator.model.project import TOPOLOGIES
from emulator.model.underlay import Underlay

RESTING, HELD = Dilation(1), Dilation(8)
TOUCHED = [Action(Remedy.START, RenderedPart("lab-delft", "delft", "cluster", {}), "has ended")]
BEFORE: Any = SimpleNamespace(topology=SimpleNamespace(emulated="links"), name="before", api_url="")
AFTER: Any = SimpleNamespace(topology=SimpleNamespace(emulated="links"), name="after", api_url="")


@dataclass
class Links:
    """The links of a testbed: `sound_for` which of the two states they are as programmed, and who holds them.

    A measurement between hosts leads from the state `BEFORE` to `AFTER`; delays have `changed`, or are as before.
    """

    sound_for: tuple[str, ...] = ("before",)
    changed: bool = True
    unfinished: bool = False
    held: list[Dilation | None] = field(default_factory=lambda: [None, None])
    measurements: int = 0
    programmed: list[tuple[str, Dilation]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def with_underlays(self, client: object, testbed: object, observe: object) -> Any:
        self.measurements += 1
        return AFTER

    def program(self, handle: str, topology: object, dilation: Dilation) -> None:
        self.programmed.append((handle, dilation))


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """Programs the links where that is due, and returns whether they were mended."""

    def run(links: Links, done: list[Action]) -> bool:
        monkeypatch.setattr(repair, "wan_handle", lambda client, testbed: testbed.name)
        monkeypatch.setattr(repair, "_is_at_rest", lambda handle, topology: handle in links.sound_for)
        monkeypatch.setattr(repair, "held_dilation", lambda testbed: links.held.pop(0))
        monkeypatch.setattr(repair, "has_other_delays", lambda client, testbed: links.changed)
        monkeypatch.setattr(repair, "has_unfinished_jobs", lambda api_url: links.unfinished)
        monkeypatch.setattr(repair, "forget_neighbours", lambda handle: None)
        monkeypatch.setattr(repair, "resting_dilation", lambda handle, topology: RESTING)
        monkeypatch.setattr(repair, "with_underlays", links.with_underlays)
        monkeypatch.setattr(repair, "program_wide_area", links.program)
        client: Any = None
        return repair._program_links(client, BEFORE, done, lambda step: links.said.append(step.detail))

    return run


def test_a_network_that_became_slower_is_measured_and_its_links_follow(program: Callable[..., bool]) -> None:
    links = Links()
    assert not program(links, []), "nothing was broken"
    assert links.measurements == 1
    assert links.programmed == [("after", RESTING)]
    assert links.said == ["programming the links for the network between the hosts as it is now"]


def test_links_that_are_right_as_they_are_stay(program: Callable[..., bool]) -> None:
    known, unknown = Links(changed=False), Links(sound_for=("before", "after"))
    assert not program(known, [])
    assert not program(unknown, [])
    assert (known.measurements, unknown.measurements) == (0, 1)
    assert known.programmed == unknown.programmed == []


def test_links_of_jobs_that_run_stay_and_what_is_left_to_do_is_said(program: Callable[..., bool]) -> None:
    links = Links(unfinished=True)
    assert not program(links, [])
    assert (links.measurements, links.programmed) == (0, [])
    assert [detail for detail in links.said if "jobs are unfinished" in detail] == links.said != []


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


NOTED_S = 0.000312
"""The delay between the hosts for which the links of `spread` are programmed."""


def underlay(host_delay_s: float) -> Underlay:
    return Underlay(host_delay_s=host_delay_s, host_jitter_s=0.0, host_clock_ahead_s=0.0, host_clock_bound_s=0.0)


@pytest.fixture
def spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestbedState:
    """The state of `mini` over two hosts."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    mini = topology_named("mini")
    first, *rest = mini.cluster_names
    one = Host(name="one", engine="unix:///run/one.sock", address="10.77.0.1")
    two = Host(name="two", engine="ssh://bob@two", address="10.77.0.2")
    hosts = (
        HostRecord(host=one, memory_bytes=1024**3, clusters=(first,)),
        HostRecord(host=two, memory_bytes=1024**3, clusters=tuple(rest), underlay=underlay(NOTED_S)),
    )
    record = TestbedRecord(
        name="lab",
        second_octet=111,
        api_port=8470,
        router_backend="auto",
        user=USER,
        control_network="10.111.0.0/24",
        all_sites="10.111.128.0/17",
        clusters=(),
        images={"node": "n", "wan": "w", "broker": "b"},
        hosts=HostsRecord(central="one", hosts=hosts),
    )
    return remember(record, document_text(mini))


@pytest.fixture
def measuring(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, float], list[bool]]:
    """Has measurements find a delay to a host; returns of each whether it measured rates, too."""

    def find(host: str, host_delay_s: float) -> list[bool]:
        with_rates: list[bool] = []

        def measure(client: object, testbed: object, *, rates: bool = True) -> dict[str, Underlay]:
            with_rates.append(rates)
            return {host: underlay(host_delay_s)}

        monkeypatch.setattr(underlay_reader, "measure_underlay", measure)
        return with_rates

    return find


@pytest.mark.parametrize(("more_s", "follows"), [(0.00003, False), (-0.00003, False), (0.001, True)])
def test_links_follow_a_delay_that_a_check_would_call_a_fault_and_no_smaller_one(
    spread: TestbedState,
    measuring: Callable[[str, float], list[bool]],
    monkeypatch: pytest.MonkeyPatch,
    more_s: float,
    follows: bool,
) -> None:
    with_rates = measuring("two", NOTED_S + more_s)
    programmed: list[TestbedState] = []
    said: list[ProgressStep] = []
    monkeypatch.setattr(repair, "wan_handle", lambda client, testbed: testbed)
    monkeypatch.setattr(repair, "_is_at_rest", lambda handle, topology: handle.record == spread.record)
    monkeypatch.setattr(repair, "held_dilation", lambda testbed: None)
    monkeypatch.setattr(repair, "has_unfinished_jobs", lambda api_url: False)
    monkeypatch.setattr(repair, "resting_dilation", lambda handle, topology: RESTING)
    monkeypatch.setattr(repair, "program_wide_area", lambda handle, topology, dilation: programmed.append(handle))
    client: Any = None
    assert not repair._program_links(client, spread, [], said.append), "nothing was broken"
    noted = testbed_state("lab").record
    assert with_rates == ([False, True] if follows else [False])
    assert [handle.record for handle in programmed] == ([noted] if follows else [])
    assert (noted != spread.record) == follows
    assert any("programming the links" in step.detail for step in said) == follows


@pytest.mark.parametrize(
    ("host", "more_s", "is_other"),
    [("two", 0.0, False), ("two", 0.0001, False), ("two", 0.0002, True), ("three", 0.0, True)],
)
def test_a_link_may_cross_the_network_to_a_host_twice_and_one_never_measured_is_unknown(
    spread: TestbedState,
    measuring: Callable[[str, float], list[bool]],
    host: str,
    more_s: float,
    is_other: bool,
) -> None:
    client: Any = None
    measuring(host, NOTED_S + more_s)
    assert underlay_reader.has_other_delays(client, spread) == is_other


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
