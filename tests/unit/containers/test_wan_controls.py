"""Control runs: what is left of the wide area in each, and that what is programmed for one is read back as that one."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.containers.addresses import AddressPlan
from emulator.containers.wan.controls import LEAST_SPEEDUP, UNLIMITED_HOST_MBIT, Control, speedup
from emulator.containers.wan.program import edge_script, wide_area_program
from emulator.containers.wan.readback import dilation_of
from emulator.containers.wan.unshared import CLASSES, common_rate_bytes_per_s
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.units import rate_bytes_per_s
from tests.unit.containers.test_wan_readback import reported

ADDRESSES = AddressPlan(150)
MINI, DAS2 = topology_named("mini"), topology_named("das2")
K = Dilation(8)


def test_as_asked_leaves_everything():
    assert Control.AS_ASKED.of(MINI, K) == MINI
    assert Control.AS_ASKED.shared


@pytest.mark.parametrize("control", [Control.WITHOUT_WIDE_AREA, Control.RATE_ALONE])
@pytest.mark.parametrize("topology", [MINI, DAS2], ids=["mini", "das2"])
def test_without_latency_no_path_has_a_delay_and_none_has_been_lost(control, topology):
    left = control.of(topology, K)
    assert left.ordered_pairs == topology.ordered_pairs
    assert {(path.delay_s, path.jitter_s, path.loss) for path in (left.path(*pair) for pair in left.ordered_pairs)} == {
        (0.0, 0.0, 0.0)
    }


@pytest.mark.parametrize("control", [Control.LATENCY_ALONE, Control.UNSHARED])
def test_with_latency_every_path_is_as_asked(control):
    left = control.of(MINI, K)
    assert [left.path(*pair) for pair in left.ordered_pairs] == [MINI.path(*pair) for pair in MINI.ordered_pairs]


@pytest.mark.parametrize("control", [Control.RATE_ALONE, Control.UNSHARED])
def test_where_connections_do_not_share_every_link_keeps_its_rate(control):
    assert not control.shared
    assert [it.access_link for it in control.of(MINI, K).clusters] == [it.access_link for it in MINI.clusters]


@given(factor=st.floats(0.1, 10_000))
def test_unlimited_is_what_the_router_carries_and_never_near_what_was_asked(factor):
    fastest_mbit = max(it.access_link.up_mbit for it in Control.LATENCY_ALONE.of(DAS2, Dilation(factor)).clusters)
    host_mbit = Dilation(factor).host_rate_mbit(fastest_mbit)
    assert host_mbit >= UNLIMITED_HOST_MBIT * 0.999
    assert fastest_mbit >= LEAST_SPEEDUP * 100 * 0.999
    assert host_mbit == pytest.approx(UNLIMITED_HOST_MBIT) or speedup(DAS2, Dilation(factor)) == LEAST_SPEEDUP


def queues_for(control: Control) -> tuple[list[list[dict[str, Any]]], list[dict[str, Any]]]:
    """What tc reports where `control` is programmed, the rates of classes found."""
    edges, router = reported(wide_area_program(control.of(MINI, K), K, ADDRESSES, shared=control.shared))
    if not control.shared:
        for queue in (queue for queues in edges for queue in queues if queue["kind"] == "tbf"):
            queue["kind"] = "htb"
    return edges, router


def differences(control: Control, found: tuple[list[list[dict[str, Any]]], list[dict[str, Any]]]) -> list[str]:
    dilation, differing = dilation_of(control.of(MINI, K), *found, ADDRESSES, shared=control.shared)
    if dilation is not None and dilation.factor != pytest.approx(K.factor, rel=1e-3):
        return [f"not at dilation {K.factor}"]
    return differing


@pytest.mark.parametrize("programmed", list(Control))
@pytest.mark.parametrize("asked", list(Control))
def test_a_control_is_read_back_as_itself_and_as_no_other(programmed, asked):
    assert (differences(asked, queues_for(programmed)) == []) == (asked is programmed)


def test_a_class_that_is_missing_or_differs_shows_as_no_rate():
    assert common_rate_bytes_per_s(f"   {CLASSES}  rate 2500Kbit\n") == rate_bytes_per_s(2.5)
    assert common_rate_bytes_per_s(f"   {CLASSES}  rate 1Gbit\n") == rate_bytes_per_s(1000)
    assert common_rate_bytes_per_s(f"   {CLASSES}  rate 1234567bit\n") == rate_bytes_per_s(1.234567)
    assert common_rate_bytes_per_s(f"   {CLASSES - 1}  rate 2500Kbit\n      1  rate 1Mbit\n") == 0.0
    assert common_rate_bytes_per_s(f"   {CLASSES - 1}  rate 2500Kbit\n") == 0.0


def test_unshared_links_are_programmed_by_a_script_that_a_container_can_be_given():
    script = edge_script(wide_area_program(MINI, K, ADDRESSES, shared=False).edges[0])
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    assert len(script) < 128 * 1024
    assert "rate 2500000bit ceil 2500000bit burst 3028b" in script
    assert "tbf" not in script
