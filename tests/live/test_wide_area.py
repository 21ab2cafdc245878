"""The wide area of a running testbed: measured as requested at several dilations, and changes are detected.

Needs Docker. The router uses the host's kernel or the guest's, as the host permits.
"""

import pytest

from emulator.containers import engine
from emulator.containers.state import testbed_state
from emulator.containers.wan.handle import WanHandle
from emulator.containers.wan.measurements import Quantity
from emulator.containers.wan.program import CONGESTION_CONTROL
from emulator.containers.wan.router import Router
from emulator.containers.wan.schedule import Stream, carry_out
from emulator.containers.wan.verify import check_wide_area, verify_wide_area
from emulator.containers.wan.wide_area import program_wide_area, programmed_wide_area
from emulator.model.clock import REAL_TIME, Dilation
from emulator.model.topology import Topology
from emulator.model.units import rate_bytes_per_s
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


@pytest.mark.timed
def test_a_short_frame_takes_its_time_on_its_link(handle: WanHandle, topology: Topology) -> None:
    dilation = Dilation(8)
    program_wide_area(handle, topology, dilation)

    def host_delay_s(frame_bytes: int) -> float:
        stream = Stream(0, 1, host_begin_s=0.0, host_end_s=2.0, frame_bytes=frame_bytes, frames_per_host_s=20.0)
        (arrival,) = carry_out(handle, [stream], host_drain_s=0.5)
        assert arrival.host_delay_s is not None
        return arrival.host_delay_s

    host_rate_mbit = dilation.host_rate_mbit(topology.path_rate_mbit(*topology.cluster_names[:2]))
    transmission_s = (1400 - 100) / rate_bytes_per_s(host_rate_mbit)
    assert host_delay_s(1400) - host_delay_s(100) == pytest.approx(transmission_s, rel=0.1)


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


@pytest.mark.timed
def test_the_command_verifies_every_link(testbed: CommandLine, handle: WanHandle, topology: Topology) -> None:
    program_wide_area(handle, topology, REAL_TIME)
    rows = testbed.succeed("verify", "--dilation", "1", "--json").as_json()
    pairs = set(topology.ordered_pairs)
    for quantity in (Quantity.DELAY, Quantity.RATE, Quantity.LOSS):
        assert {(row["from"], row["to"]) for row in rows if row["quantity"] == quantity.value} == pairs
    # What a job may reach is the same as before: the edges that were programmed again have no way out.
    for container in handle.cluster_containers:
        assert "default" not in handle.execute(container, ["ip", "route"])


@pytest.mark.long
@pytest.mark.timed
def test_the_command_fails_when_the_program_was_changed(
    testbed: CommandLine, handle: WanHandle, topology: Topology
) -> None:
    Router(handle).run("tc qdisc change dev site1 parent 1:1 netem delay 9ms")
    outcome = testbed("verify", "--dilation", "2")
    assert outcome.exit_code != 0
    assert "amsterdam to delft" in outcome.sentence
    program_wide_area(handle, topology, REAL_TIME)


def test_tcp_is_pinned_in_every_cluster(handle: WanHandle) -> None:
    for container in handle.cluster_containers:
        assert handle.execute(container, ["cat", "/proc/sys/net/ipv4/tcp_congestion_control"]).strip() == (
            CONGESTION_CONTROL
        )


def test_no_helper_is_left_behind(testbed: CommandLine, handle: WanHandle, topology: Topology) -> None:
    before = sorted(testbed.left_over())
    program_wide_area(handle, topology, REAL_TIME)
    assert sorted(testbed.left_over()) == before
