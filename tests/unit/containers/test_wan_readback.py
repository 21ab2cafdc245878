"""Reading back what is programmed: the dilation follows from it, and tampering shows."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.containers.addresses import AddressPlan
from emulator.containers.wan.program import DelayLine, WideAreaProgram, wide_area_program
from emulator.containers.wan.readback import dilation_of
from emulator.containers.wan.wide_area import Programmed
from emulator.model.clock import Dilation
from emulator.model.documents import read_document
from emulator.model.project import PROJECT_ROOT
from emulator.model.topology import AccessLink, Topology
from emulator.model.units import rate_bytes_per_s

ADDRESSES = AddressPlan(150)
MINI = read_document(PROJECT_ROOT / "compose" / "mini.yaml", Topology)


def reported(program: WideAreaProgram) -> tuple[list[list[dict[str, Any]]], list[dict[str, Any]]]:
    """What ``tc -j qdisc show`` prints (bookworm's iproute2) in each cluster, and in the router, for `program`."""
    edges = [
        [
            {"kind": "noqueue", "dev": "lo", "options": {}},
            {"kind": "tbf", "dev": "eth1", "options": {"rate": round(rate_bytes_per_s(edge.up.host_rate_mbit))}},
            {"kind": "ingress", "dev": "eth1", "parent": "ffff:fff1", "options": {}},
            {"kind": "tbf", "dev": "ifb0", "options": {"rate": round(rate_bytes_per_s(edge.down.host_rate_mbit))}},
        ]
        for edge in program.edges
    ]
    lines = [
        {
            "kind": "netem",
            "dev": f"site{line.target_index}",
            "parent": f"1:{line.source_index + (line.source_index < line.target_index):x}",
            "options": {
                "limit": line.queue_packets,
                **({"delay": {"delay": round(line.host_delay_s, 5), "jitter": 0}} if line.host_delay_s else {}),
                **(reported_rate(line) if program.router.shared else {}),
            },
        }
        for line in program.router.lines
    ]
    return edges, lines


def reported_rate(line: DelayLine) -> dict[str, Any]:
    """What tc reports of the rate of a delay line."""
    return {"rate": {"rate": round(rate_bytes_per_s(line.host_rate_mbit)), "packetoverhead": 0}}


@pytest.mark.parametrize("factor", [0.3, 0.5, 1, 8, 100])
def test_the_dilation_is_read_back(factor: float) -> None:
    edges, router = reported(wide_area_program(MINI, Dilation(factor), ADDRESSES))
    dilation, differences = dilation_of(MINI, edges, router, ADDRESSES)
    assert differences == []
    assert dilation is not None
    assert dilation.factor == pytest.approx(factor, rel=1e-3)


def test_slow_links_are_read_back_at_their_dilation_though_tc_prints_whole_bytes_per_second() -> None:
    """At dilation 32 a link of 0.1 Mbit/s has 390.6 bytes per second, of which tc keeps 390."""
    link = AccessLink(up_mbit=0.1, down_mbit=0.1)
    clusters = tuple(cluster.model_copy(update={"stated_access_link": link}) for cluster in MINI.clusters)
    slow = MINI.model_copy(update={"clusters": clusters})
    edges, router = reported(wide_area_program(slow, Dilation(32), ADDRESSES))
    for queue in (queue for queues in edges for queue in queues if queue["kind"] == "tbf"):
        queue["options"]["rate"] = 390
    dilation, differences = dilation_of(slow, edges, router, ADDRESSES)
    found = Programmed(dilation, tuple(differences))
    assert found.is_for(Dilation(32))
    assert not found.is_for(Dilation(33))


def test_a_changed_delay_is_told_by_its_path() -> None:
    edges, router = reported(wide_area_program(MINI, Dilation(1), ADDRESSES))
    router[0]["options"]["delay"]["delay"] = 0.005
    _, differences = dilation_of(MINI, edges, router, ADDRESSES)
    assert differences == ["delft to amsterdam: delay 0.005s on the host instead of 0.002s"]


def test_a_changed_rate_and_an_unshaped_downlink_are_told_by_their_cluster() -> None:
    edges, router = reported(wide_area_program(MINI, Dilation(1), ADDRESSES))
    edges[1][1]["options"]["rate"] = 1_250_000
    del edges[2][2]
    _, differences = dilation_of(MINI, edges, router, ADDRESSES)
    assert differences == [
        "delft up: 10 Mbit/s on the host instead of 20 Mbit/s",
        "leiden down: no rate on the host instead of 20 Mbit/s",
    ]


def test_a_path_that_no_longer_transmits_at_the_links_rate_is_told() -> None:
    edges, router = reported(wide_area_program(MINI, Dilation(1), ADDRESSES))
    del router[0]["options"]["rate"]
    _, differences = dilation_of(MINI, edges, router, ADDRESSES)
    assert differences == ["delft to amsterdam: the rate of transmission differs"]


def test_a_missing_delay_line_is_told() -> None:
    edges, router = reported(wide_area_program(MINI, Dilation(1), ADDRESSES))
    _, differences = dilation_of(MINI, edges, router[1:], ADDRESSES)
    assert differences == ["delft to amsterdam: no delay line"]


def test_what_was_never_programmed_has_no_dilation() -> None:
    bare = [[{"kind": "noqueue", "dev": "eth1", "options": {}}] for _ in MINI.clusters]
    assert dilation_of(MINI, bare, [], ADDRESSES)[0] is None
