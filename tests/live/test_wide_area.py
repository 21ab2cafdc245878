"""The wide area of a running testbed: measured as requested at several dilations, and changes are detected.

Needs Docker. The router uses the host's kernel or the guest's, as the host permits.
"""

import re

import pytest

from emulator.containers import engine
from emulator.containers.state import testbed_state
from emulator.containers.wan.handle import WanHandle
from emulator.containers.wan.measurements import Quantity
from emulator.containers.wan.program import CONGESTION_CONTROL
from emulator.containers.wan.router import Backend, Router
from emulator.containers.wan.verify import check_wide_area, verify_wide_area
from emulator.containers.wan.wide_area import program_wide_area, programmed_wide_area
from emulator.model.clock import REAL_TIME, Dilation
from emulator.model.topology import Topology
from tests.live.command_line import CommandLine


@pytest.fixture
def handle(testbed: CommandLine) -> WanHandle:
    """Return the handle of the running testbed's wide area."""
    state = testbed_state(testbed.name)
    return WanHandle.of(engine.connect(), state.names, state.topology.cluster_names, state.addresses)


@pytest.fixture
def topology(testbed: CommandLine) -> Topology:
    """Return the topology of the running testbed."""
    return testbed_state(testbed.name).topology


@pytest.mark.long
@pytest.mark.timed
@pytest.mark.parametrize("factor", [0.5, 1, 8])
def test_every_ordered_pair_is_as_asked(handle: WanHandle, topology: Topology, factor: float) -> None:
    report = verify_wide_area(handle, topology, Dilation(factor))
    assert [str(failure) for failure in report.failures] == []
    assert report.ok
    pairs = set(topology.ordered_pairs)
    for quantity in (Quantity.DELAY, Quantity.RATE, Quantity.LOSS):
        assert {(found.source, found.target) for found in report.of(quantity)} == pairs
    for quantity in (Quantity.SHARED_RATE, Quantity.SHARED_WAIT):
        assert {found.target for found in report.of(quantity)} == set(topology.cluster_names)


def test_verification_leaves_the_dilation_it_found(handle: WanHandle, topology: Topology) -> None:
    program_wide_area(handle, topology, REAL_TIME)
    check_wide_area(handle, topology, Dilation(4))
    assert programmed_wide_area(handle, topology).is_for(Dilation(4))
    program_wide_area(handle, topology, REAL_TIME)
    assert programmed_wide_area(handle, topology).is_for(REAL_TIME)


def test_a_delay_changed_behind_its_back_is_noticed(handle: WanHandle, topology: Topology) -> None:
    program_wide_area(handle, topology, REAL_TIME)
    Router(handle).run("tc qdisc change dev site1 parent 1:1 netem delay 9ms")
    found = programmed_wide_area(handle, topology)
    assert not found.whole
    assert [difference for difference in found.differences if "delay" in difference] == [
        "amsterdam to delft: delay 0.009s on the host instead of 0.002s"
    ]
    program_wide_area(handle, topology, REAL_TIME)
    assert programmed_wide_area(handle, topology).whole


def test_tcp_is_pinned_in_every_cluster(handle: WanHandle) -> None:
    for container in handle.cluster_containers:
        assert handle.execute(container, ["cat", "/proc/sys/net/ipv4/tcp_congestion_control"]).strip() == (
            CONGESTION_CONTROL
        )


def test_a_guest_that_reads_late_loses_no_frames(handle: WanHandle, topology: Topology) -> None:
    """Its sockets hold frames for about a second; the kernel's default of ninety was too few on a busy host."""
    if Router(handle).backend() is not Backend.GUEST:
        return
    shown = handle.read(handle.router_container, ["ss", "-0", "-m", "-n"])
    buffers = [int(size) for size in re.findall(r"^p_raw .* \*:\S+ .*skmem:\(r\d+,rb(\d+)", shown, re.MULTILINE)]
    assert len(buffers) == len(topology.clusters)
    assert min(buffers) >= 2 << 20


def test_no_helper_is_left_behind(testbed: CommandLine, handle: WanHandle, topology: Topology) -> None:
    before = sorted(testbed.left_over())
    program_wide_area(handle, topology, REAL_TIME)
    assert sorted(testbed.left_over()) == before
