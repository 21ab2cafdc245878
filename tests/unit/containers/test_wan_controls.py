"""Control runs: what is left of the wide area in each, and that what is programmed for one is read back as that one."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.containers.addresses import AddressPlan
from emulator.containers.wan.commands import band_of, connections_handle, edge_script, router_script
from emulator.containers.wan.controls import LEAST_SPEEDUP, UNLIMITED_HOST_MBIT, Control, speedup
from emulator.containers.wan.program import wide_area_program
from emulator.containers.wan.readback import dilation_of
from emulator.containers.wan.unshared import CONNECTIONS
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.documents import parse_document
from emulator.model.topology import Topology
from tests.unit.containers.test_wan_readback import reported, reported_rate
from tests.unit.model.test_real_head import HALF_REAL

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
    assert [cluster.access_link for cluster in control.of(MINI, K).clusters] == [
        cluster.access_link for cluster in MINI.clusters
    ]


@given(factor=st.floats(0.1, 10_000))
def test_unlimited_is_what_the_router_carries_and_never_near_what_was_asked(factor):
    fastest_mbit = max(
        cluster.access_link.up_mbit for cluster in Control.LATENCY_ALONE.of(DAS2, Dilation(factor)).clusters
    )
    host_mbit = Dilation(factor).host_rate_mbit(fastest_mbit)
    assert host_mbit >= UNLIMITED_HOST_MBIT * 0.999
    assert fastest_mbit >= LEAST_SPEEDUP * 100 * 0.999
    assert host_mbit == pytest.approx(UNLIMITED_HOST_MBIT) or speedup(DAS2, Dilation(factor)) == LEAST_SPEEDUP


@pytest.mark.parametrize("control", list(Control))
def test_real_clusters_stay_as_they_are_beside_emulated_ones_in_every_control(control):
    topology = parse_document(HALF_REAL, Topology, source="half.yaml")
    left = control.of(topology, K)
    assert left.real_clusters == topology.real_clusters
    assert left.emulated == control.of(topology.emulated, K)


def test_where_all_clusters_are_real_no_link_counts_for_unlimited_rates():
    topology = parse_document(HALF_REAL, Topology, source="half.yaml")
    real = topology.model_copy(update={"clusters": topology.real_clusters, "links": ()})
    assert speedup(real, K) == LEAST_SPEEDUP
    assert Control.LATENCY_ALONE.of(real, K) == real


def queues_for(control: Control) -> tuple[list[list[dict[str, Any]]], list[dict[str, Any]]]:
    """What tc reports where `control` is programmed."""
    program = wide_area_program(control.of(MINI, K), K, ADDRESSES, shared=control.shared)
    edges, router = reported(program)
    if not control.shared:
        edges = [[queue for queue in queues if queue["kind"] == "noqueue"] for queues in edges]
        router += [
            {
                "kind": "netem",
                "dev": f"site{line.target_index}",
                "parent": f"{connections_handle(band_of(line)):x}:{number + 1:x}",
                "options": {"limit": line.queue_packets, **reported_rate(line)},
            }
            for line in program.router.lines
            for number in range(CONNECTIONS)
        ]
    return edges, router


def differences(control: Control, found: tuple[list[list[dict[str, Any]]], list[dict[str, Any]]]) -> list[str]:
    dilation, differing = dilation_of(control.of(MINI, K), *found, ADDRESSES, shared=control.shared)
    if dilation is not None and dilation.factor != pytest.approx(K.factor, rel=1e-3):
        return [f"not at dilation {K.factor}"]
    return differing


@pytest.mark.parametrize("programmed", list(Control))
@pytest.mark.parametrize("control", list(Control))
def test_a_control_is_read_back_as_itself_and_as_no_other(programmed, control):
    assert (differences(control, queues_for(programmed)) == []) == (control is programmed)


@pytest.mark.parametrize("spoil", [list.pop, lambda router: router[-1]["options"]["rate"].update(rate=1)])
def test_a_connection_that_is_missing_or_differs_is_told_by_its_path(spoil):
    edges, router = queues_for(Control.UNSHARED)
    spoil(router)
    assert differences(Control.UNSHARED, (edges, router)) == ["leiden to utrecht: the rate of transmission differs"]


def test_where_connections_have_their_own_lines_the_edges_limit_nothing():
    program = wide_area_program(MINI, K, ADDRESSES, shared=False)
    assert not any("tbf" in edge_script(edge) for edge in program.edges)
    assert not any("redirect" in edge_script(edge) for edge in program.edges)


def test_the_router_gives_connections_lines_by_a_script_that_a_container_can_be_given():
    script = router_script(wide_area_program(MINI, K, ADDRESSES, shared=False).router)
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    assert len(script) < 128 * 1024
    assert "lines_of_connections site3 13:1 23: 2500000bit" in script
