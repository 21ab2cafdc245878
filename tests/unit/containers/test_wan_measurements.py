"""How a wide area is judged: tolerances, and the rounds in which streams do not disturb each other."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from unittest.mock import Mock

import pytest

from emulator.containers.addresses import AddressPlan
from emulator.containers.progress import ignore
from emulator.containers.state import HostRecord, HostsRecord
from emulator.containers.wan.controls import Control
from emulator.containers.wan.handle import WanHandle
from emulator.containers.wan.measurements import (
    LinkMeasurement,
    Quantity,
    WideAreaReport,
    delay_measurement,
    loss_measurement,
    power_of_two_not_below,
    rate_measurement,
)
from emulator.containers.wan.rounds import (
    DilatedTopology,
    circle,
    in_turns,
    triples_into_each,
    turns_of_disjoint_pairs,
    two_into_one,
)
from emulator.containers.wan.router import Backend
from emulator.containers.wan.schedule import Arrival, Stream, carry_out, host_rate_together_mbit, probe_plans
from emulator.containers.wan.verification import CARRYING_ATTEMPTS, Verification
from emulator.containers.wan.verify import check_wide_area
from emulator.containers.wan.wide_area import Programmed
from emulator.hosts.inventory import Host
from emulator.model.clock import Dilation
from emulator.model.documents import read_document, validate
from emulator.model.errors import InvalidInput, TestbedNotUp
from emulator.model.link_queues import FRAME_BYTES
from emulator.model.project import PROJECT_ROOT
from emulator.model.topology import Path, Topology
from emulator.model.underlay import Underlay
from emulator.runs import container_testbed
from emulator.runs.container_testbed import ContainerWideArea

MINI = read_document(PROJECT_ROOT / "compose" / "mini.yaml", Topology)


def topology_of(*rates_mbit: float, **link: float) -> Topology:
    """Return a topology of clusters whose access links have those rates in both directions."""
    clusters = [
        {"name": f"c{at}", "nodes": 2, "access_link": {"up_mbit": mbit, "down_mbit": mbit}}
        for at, mbit in enumerate(rates_mbit)
    ]
    processor = {"name": "p", "in_cache_ns_per_point": 100, "out_of_cache_ns_per_point": 200, "cache_bytes": 1000}
    default_link = {"delay_s": 0.001, **link}
    stated = {"name": "stated", "processor": processor, "clusters": clusters, "default_link": default_link}
    return validate(stated, Topology, source="test")


@pytest.mark.parametrize(("factor", "host_delay_s", "within"), [
    (1, 0.01028, True),  # 3% of 10 ms above the path's own 0.1 ms, less a little
    (1, 0.01045, False),
    (8, 0.0823, True),  # the same share of eight times as much
    (8, 0.0827, False),
])  # fmt: skip
def test_a_delay_is_right_to_three_percent(factor: float, host_delay_s: float, within: bool) -> None:
    measured = delay_measurement("a", "b", Path(delay_s=0.01), host_delay_s, 0.0001, Dilation(factor))
    assert measured.within is within


def test_a_short_delay_is_right_to_a_quarter_of_a_millisecond_of_the_host() -> None:
    def error_within(host_error_s: float, factor: float) -> bool:
        host_delay_s = 0.001 * factor + host_error_s
        return delay_measurement("a", "b", Path(delay_s=0.001), host_delay_s, 0.0, Dilation(factor)).within

    assert error_within(0.00024, 1)
    assert not error_within(0.00026, 1)
    assert error_within(0.00023, 8)
    assert not error_within(0.00026, 8)


def test_what_could_not_be_measured_is_not_within() -> None:
    measured = delay_measurement("a", "b", Path(delay_s=0.01), None, 0.0001, Dilation(1))
    assert math.isnan(measured.measured)
    assert not measured.within


def test_a_rate_is_emulated_and_right_to_three_percent() -> None:
    assert rate_measurement("a", "b", Quantity.RATE, 20, 2.45, Dilation(8)).measured == pytest.approx(19.6)
    assert rate_measurement("a", "b", Quantity.RATE, 20, 2.45, Dilation(8)).within
    assert not rate_measurement("a", "b", Quantity.RATE, 20, 2.40, Dilation(8)).within
    assert not rate_measurement("a", "b", Quantity.RATE, 20, 20.0, Dilation(8)).within


def test_a_single_lost_packet_that_nobody_asked_for_is_a_failure() -> None:
    assert loss_measurement("a", "b", Path(delay_s=0), Arrival(1000, 1000, None, None, 0.0)).within
    assert not loss_measurement("a", "b", Path(delay_s=0), Arrival(1000, 999, None, None, 0.0)).within


def test_loss_that_was_asked_for_is_judged_by_chance() -> None:
    path = Path(delay_s=0, loss=0.02)
    assert loss_measurement("a", "b", path, Arrival(1000, 985, None, None, 0.0)).within
    assert not loss_measurement("a", "b", path, Arrival(1000, 1000, None, None, 0.0)).within


@pytest.mark.parametrize(("factor", "expected"), [(0.5, 0.5), (1, 1), (3, 4), (8, 8), (0.3, 0.5), (8.01, 16)])
def test_rates_are_measured_at_a_power_of_two(factor: float, expected: float) -> None:
    assert power_of_two_not_below(Dilation(factor)).factor == expected


def test_a_report_is_ok_only_without_failures_and_without_differences() -> None:
    def report(measured: float, differences: tuple[str, ...] = ()) -> WideAreaReport:
        measurement = LinkMeasurement("a", "b", Quantity.RATE, 20.0, measured, 0.6)
        return WideAreaReport(Dilation(1), Dilation(2), Backend.GUEST, (measurement,), differences, 0, 1.0)

    assert report(20.1).ok
    assert not report(19.0).ok
    assert not report(20.1, ("delft up: 10 Mbit/s on the host instead of 20 Mbit/s",)).ok


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 15])
@pytest.mark.parametrize("at_once", [1, 2])
def test_every_pair_meets_once_both_ways_and_no_cluster_meets_two_at_a_time(count: int, at_once: int) -> None:
    names = [f"c{i}" for i in range(count)]
    turns = turns_of_disjoint_pairs(names, at_once)
    assert sorted(pair for turn in turns for pair in turn) == sorted(permutations(names, 2))
    for turn in turns:
        sources = [source for source, _ in turn]
        assert len(turn) <= 2 * at_once
        assert len(sources) == len(set(sources))
        assert {(target, source) for source, target in turn} == set(turn)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_the_short_form_fills_every_access_link_in_both_directions_at_once(count: int) -> None:
    names = [f"c{i}" for i in range(count)]
    pairs = circle(names)
    assert sorted(source for source, _ in pairs) == sorted(target for _, target in pairs) == names
    assert all(source != target for source, target in pairs)


def test_one_cluster_alone_has_no_link_to_fill() -> None:
    assert circle(["c0"]) == []


def test_turns_begin_when_the_queues_of_the_turn_before_have_drained() -> None:
    dilated = DilatedTopology.at(MINI, Dilation(8), AddressPlan(150))
    turns = turns_of_disjoint_pairs(MINI.cluster_names, 1)
    streams = in_turns(dilated, turns, flood=True)
    for before, after in zip(streams[::2], streams[2::2], strict=False):
        queue_s = 96896 * 8 / 2.5e6
        assert after.host_begin_s >= before.host_end_s + 2 * queue_s


@pytest.mark.parametrize("loss", [0.0, 0.2])
def test_a_fast_cluster_floods_a_slow_one_at_little_more_than_the_path_takes(loss: float) -> None:
    topology = topology_of(100, 10, 10, loss=loss)
    dilated = DilatedTopology.at(topology, Dilation(2), AddressPlan(150))
    into_slow, into_fast = in_turns(dilated, [[("c0", "c1"), ("c1", "c0")]], flood=True)
    assert into_slow.frames_per_host_s * into_slow.frame_bytes * 8 == pytest.approx(1.2 * 5e6 / (1 - loss))
    assert into_fast.frames_per_host_s * into_fast.frame_bytes * 8 == pytest.approx(1.2 * 5e6)
    flood, lesser = two_into_one(dilated, [("c0", "c2", "c1")])
    assert flood.frames_per_host_s * flood.frame_bytes * 8 == pytest.approx(1.2 * 5e6 / (1 - loss))
    assert lesser.frames_per_host_s * lesser.frame_bytes * 8 == pytest.approx(0.5 * 5e6)


def test_a_turn_waits_for_what_a_fast_uplink_let_through_to_a_slow_cluster() -> None:
    dilated = DilatedTopology.at(topology_of(100, 10, 10), Dilation(1), AddressPlan(150))
    first, second = in_turns(dilated, [[("c0", "c1")], [("c0", "c2")]], flood=True)
    held_s = 0.2 * (first.host_end_s - first.host_begin_s)
    assert second.host_begin_s == pytest.approx(first.host_end_s + dilated.host_drain_s(["c0", "c1"]) + held_s)
    even = DilatedTopology.at(MINI, Dilation(1), AddressPlan(150))
    flood = in_turns(even, [[("amsterdam", "delft")]], flood=True)
    assert even.host_drain_s(MINI.cluster_names, flood) == even.host_drain_s(MINI.cluster_names)


def test_the_rate_of_two_streams_together_is_that_of_the_link_though_one_is_dropped_for_half_of_the_time() -> None:
    flood = Arrival(150, 150, None, None, 15, frame_bytes=1000, settled_bytes=150_000, host_settled_ns=(0, 80_000_000))
    lesser = Arrival(50, 50, None, None, 10.0, frame_bytes=1000, settled_bytes=50_000, host_settled_ns=(0, 40_000_000))
    assert host_rate_together_mbit([flood, lesser]) == pytest.approx(20, rel=0.01)
    assert host_rate_together_mbit([flood, Arrival(50, 0, None, None, 0.0)]) == pytest.approx(15, rel=0.01)
    assert host_rate_together_mbit([Arrival(50, 0, None, None, 0.0)]) == 0


def test_two_sources_are_more_than_their_shared_link_carries_and_the_lesser_fills_no_queue_of_its_own() -> None:
    dilated = DilatedTopology.at(MINI, Dilation(1), AddressPlan(150))
    streams = two_into_one(dilated, triples_into_each(MINI.cluster_names))
    for flood, lesser in zip(streams[::2], streams[1::2], strict=True):
        assert flood.target_index == lesser.target_index
        assert flood.frames_per_host_s * flood.frame_bytes * 8 > 20e6
        assert lesser.frames_per_host_s * lesser.frame_bytes * 8 == pytest.approx(10e6)


HOST_AHEAD_S = 0.5
BOTH_WAYS = [Stream(0, 1, 0.0, 1.0, 100, 10.0), Stream(1, 0, 0.0, 1.0, 100, 10.0)]


class TwoClocks(WanHandle):
    """A handle of two clusters with 1 ms between them; the clock of the second one's host is `HOST_AHEAD_S` ahead."""

    def execute(self, container: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
        delay_s = 0.001 + (HOST_AHEAD_S if container == self.cluster_containers[1] else -HOST_AHEAD_S)
        arrived = {"received": 1, "delay_s": delay_s, "window_delay_s": delay_s, "rate_mbit": 0.0}
        arrived |= {"window_bytes": 0, "window_ns": []}
        outcome: dict[str, object] = {"late": False, "sent": {}, "received": {}}
        for stream in json.loads(command[-1])["streams"]:
            role, found = ("sent", {"sent": 1, "refused": 0}) if stream["role"] == "send" else ("received", arrived)
            outcome[role] = {stream["id"]: found}
        return json.dumps(outcome)


def two_clocks(**host_clocks_ahead_s: float) -> WanHandle:
    handle = TwoClocks(Mock(), "scripted", ("one", "two"), "router", AddressPlan(150))
    return handle.with_clocks(("one", "two"), host_clocks_ahead_s)


def test_probes_start_at_one_moment_which_each_has_by_the_clock_of_its_host() -> None:
    def starts_s(handle: WanHandle) -> list[float]:
        return [plan["start_s"] for plan in probe_plans(handle, BOTH_WAYS, 1000.0, 0.1)]

    assert starts_s(two_clocks(two=HOST_AHEAD_S)) == [1000.0, 1000.0 + HOST_AHEAD_S]
    assert starts_s(two_clocks()) == starts_s(scripted(topology_of(10, 10), 1).handle) == [1000.0, 1000.0]


def test_delays_leave_out_what_the_receiver_s_clock_is_ahead_of_the_sender_s() -> None:
    for arrival in carry_out(two_clocks(two=HOST_AHEAD_S), BOTH_WAYS, 0.1):
        assert arrival.host_delay_s == arrival.host_settled_delay_s == pytest.approx(0.001)


@dataclass
class Scripted(Verification):
    """A verification of links as asked, whose router forwards no more than `host_most_mbit` in all.

    `filled_at` are the dilations at which links were filled.
    """

    host_most_mbit: float = math.inf
    filled_at: list[float] = field(default_factory=list)

    def program(self, dilation: Dilation, *, with_delays: bool = True) -> DilatedTopology:
        self.backend, self.programmed = Backend.GUEST, (dilation, with_delays)
        return DilatedTopology.at(self.topology, dilation, self.handle.addresses)

    def _carry_out(self, dilated: DilatedTopology, streams: Sequence[Stream]) -> list[Arrival]:
        names, delayed = self.topology.cluster_names, self.programmed == (dilated.dilation, True)
        pairs = [(names[stream.source_index], names[stream.target_index]) for stream in streams]
        filled = [pair for pair, stream in zip(pairs, streams, strict=True) if stream.frame_bytes == FRAME_BYTES]
        forwarded = min(1.0, self.host_most_mbit / dilated.host_load_mbit(filled)) if filled else 1.0
        self.filled_at += [dilated.dilation.factor] if filled else []
        return [
            Arrival(
                100, 100, dilated.host_delay_s(*pair) if delayed else 0.0, None,
                forwarded * dilated.dilation.host_rate_mbit(dilated.link_mbit(*pair)),
            )
            for pair in pairs
        ]  # fmt: skip


def scripted(topology: Topology, factor: float, host_most_mbit: float = math.inf) -> Scripted:
    names = tuple(topology.cluster_names)
    handle = WanHandle(Mock(), "scripted", names, "router", AddressPlan(150))
    return Scripted(handle, topology, Dilation(factor), ignore, host_most_mbit=host_most_mbit)


def checked(check: Scripted, *, carrying: bool) -> WideAreaReport:
    report = check_wide_area(check.handle, check.topology, check.dilation, carrying=carrying, begun=check)
    assert report.ok
    return report


@pytest.mark.parametrize("factor", [1, 2, 3, 8, 30])
@pytest.mark.parametrize("topology", [MINI, topology_of(10, 10, 10)], ids=["mini", "three"])
def test_all_links_full_at_once_show_that_the_router_carries_a_pair_without_more_traffic(
    topology: Topology, factor: float
) -> None:
    check = scripted(topology, factor)
    assert checked(check, carrying=True).carries_asked
    assert check.filled_at == [check.light_dilation().factor]


@pytest.mark.parametrize(("rates_mbit", "factor"), [((20, 20), 3), ((20, 20), 0.25), ((100, 100, 100, 100, 100), 2)])
def test_where_all_links_were_a_smaller_load_than_a_pair_that_pair_is_filled_at_the_dilation_asked(
    rates_mbit: tuple[float, ...], factor: float
) -> None:
    check = scripted(topology_of(*rates_mbit), factor)
    assert checked(check, carrying=True).carries_asked
    assert check.filled_at == [check.light_dilation().factor, factor]


def test_links_are_as_asked_though_the_router_does_not_carry_a_full_pair_at_the_dilation_asked() -> None:
    check = scripted(topology_of(100, 100), 1, host_most_mbit=60)
    assert not checked(check, carrying=True).carries_asked
    assert check.filled_at == [4.0, *[1.0] * CARRYING_ATTEMPTS]
    unasked = scripted(topology_of(100, 100), 1, host_most_mbit=60)
    assert checked(unasked, carrying=False).carries_asked
    assert unasked.filled_at == [4.0]


@pytest.mark.parametrize(
    ("moment", "control", "carried"),
    [("before", Control.AS_ASKED, False), ("after", Control.AS_ASKED, True), ("before", Control.LATENCY_ALONE, True)],
)
def test_before_a_run_on_links_as_asked_its_check_finds_whether_the_router_carries_them(
    monkeypatch: pytest.MonkeyPatch, moment: str, control: Control, carried: bool
) -> None:
    def check(
        handle: WanHandle, topology: Topology, dilation: Dilation, *, carrying: bool = False, shared: bool = True
    ) -> WideAreaReport:
        return WideAreaReport(dilation, dilation, Backend.GUEST, (), (), 0, 1.0, carries_asked=not carrying)

    monkeypatch.setattr(container_testbed, "check_wide_area", check)
    monkeypatch.setattr(container_testbed, "programmed_wide_area", lambda *_, shared: Programmed(Dilation(8), ()))
    wide_area = ContainerWideArea(scripted(MINI, 8).handle, MINI, control=control)
    found, _ = wide_area.check(Dilation(8), moment)
    assert (found.carried, found.faults) == (carried, ())


@pytest.mark.parametrize("control", Control)
def test_no_control_without_delays_is_made_over_hosts_that_are_farther_apart(control: Control) -> None:
    here = scripted(MINI, 8).handle
    assert ContainerWideArea(here, MINI).under(control).control is control
    apart = ContainerWideArea(replace(here, host_underlay_s=(0.0, 0.001, 0.0, 0.0)), MINI)
    if control.delayed:
        assert apart.under(control).control is control
        return
    with pytest.raises(InvalidInput, match=f"take 1 ms, so that no links can be {control.value}"):
        apart.under(control)


def two_hosts() -> HostsRecord:
    """Return two hosts, the second with all clusters of `MINI` but the first."""
    here, *elsewhere = MINI.cluster_names
    left = Host(name="left", engine="unix:///run/left.sock", address="10.77.0.1")
    right = Host(name="right", engine="ssh://bob@right", address="10.77.0.2")
    return HostsRecord(
        central="left",
        hosts=(
            HostRecord(host=left, memory_bytes=10**9, clusters=(here,)),
            HostRecord(host=right, memory_bytes=10**9, clusters=tuple(elsewhere)),
        ),
    )


def test_over_several_hosts_a_check_measures_by_the_clocks_as_they_are_then(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[tuple[float, ...]] = []

    def check(handle: WanHandle, topology: Topology, dilation: Dilation, **_: bool) -> WideAreaReport:
        used.append(handle.host_clocks_ahead_s)
        return WideAreaReport(dilation, dilation, Backend.GUEST, (), (), 0, 1.0)

    monkeypatch.setattr(container_testbed, "check_wide_area", check)
    monkeypatch.setattr(container_testbed, "programmed_wide_area", lambda *_, shared: Programmed(Dilation(8), ()))
    now = Underlay(host_delay_s=0.0, host_jitter_s=0.0, host_clock_ahead_s=HOST_AHEAD_S, host_clock_bound_s=0.0)
    ContainerWideArea(scripted(MINI, 8).handle, MINI, two_hosts(), lambda: {"right": now}).check(Dilation(8), "after")
    assert used == [(0.0, *[HOST_AHEAD_S] * (len(MINI.cluster_names) - 1))]


@pytest.mark.parametrize(("jitters_s", "measured", "is_fault"), [((1.0, 0.0, 1.0), 2, False), ((1.0,) * 9, 3, True)])
def test_jitter_between_hosts_that_passes_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, jitters_s: tuple[float, ...], measured: int, is_fault: bool
) -> None:
    report = WideAreaReport(Dilation(8), Dilation(8), Backend.GUEST, (), (), 0, 1.0)
    monkeypatch.setattr(container_testbed, "check_wide_area", lambda *_, **__: report)
    monkeypatch.setattr(container_testbed, "programmed_wide_area", lambda *_, shared: Programmed(Dilation(8), ()))
    left_over = list(jitters_s)

    def measure() -> dict[str, Underlay]:
        jitter_s = left_over.pop(0)
        found = Underlay(host_delay_s=0.0, host_jitter_s=jitter_s, host_clock_ahead_s=0.0, host_clock_bound_s=0.0)
        return {"right": found}

    found, _ = ContainerWideArea(scripted(MINI, 8).handle, MINI, two_hosts(), measure).check(Dilation(8), "before")
    assert len(jitters_s) - len(left_over) == measured
    assert bool(found.faults) is is_fault


def test_a_part_that_cannot_be_asked_ends_a_run_before_its_jobs_and_is_a_fault_of_the_check_after_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lost(*_: object, shared: bool) -> Programmed:
        raise TestbedNotUp("The container double-delft does not run.")

    monkeypatch.setattr(container_testbed, "programmed_wide_area", lost)
    wide_area = ContainerWideArea(scripted(MINI, 8).handle, MINI)
    with pytest.raises(TestbedNotUp):
        wide_area.check(Dilation(8), "before")
    found, rows = wide_area.check(Dilation(8), "after")
    assert ([fault.what for fault in found.faults], rows) == (
        ["the check itself (The container double-delft does not run)"], [],
    )  # fmt: skip


@pytest.mark.parametrize("rates_mbit", [(100,), (100, 100)])
def test_a_check_leaves_the_wide_area_at_the_dilation_asked_also_without_a_pair(rates_mbit: tuple[float, ...]) -> None:
    check = scripted(topology_of(*rates_mbit), 1)
    check.program(check.light_dilation(), with_delays=False)
    checked(check, carrying=False)
    assert check.programmed == (Dilation(1), True)
