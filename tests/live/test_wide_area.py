"""The wide area of a standing `mini`: as asked at several dilations, measured; and tampering does not stay unnoticed.

Needs Docker; the router's kernel is the one that this host can have.
"""

import pytest

from emulator.containers import engine
from emulator.containers.state import standing
from emulator.containers.wan.measurements import Quantity
from emulator.containers.wan.program import CONGESTION_CONTROL
from emulator.containers.wan.router import Router
from emulator.containers.wan.schedule import Stream, carry_out
from emulator.containers.wan.stand import Stand
from emulator.containers.wan.verify import check_wide_area, verify_wide_area
from emulator.containers.wan.wide_area import program_wide_area, programmed_wide_area
from emulator.model.clock import REAL_TIME, Dilation
from emulator.model.topology import Topology
from emulator.model.units import rate_bytes_per_s
from tests.live.command_line import CommandLine


@pytest.fixture
def stand(standing_testbed: CommandLine) -> Stand:
    """The handle of the standing testbed's wide area."""
    state = standing(standing_testbed.name)
    return Stand.of(engine.connect(), state.names, state.topology.cluster_names, state.addresses)


@pytest.fixture
def topology(standing_testbed: CommandLine) -> Topology:
    """The topology that stands."""
    return standing(standing_testbed.name).topology


@pytest.mark.parametrize("factor", [0.5, 1, 8])
def test_every_ordered_pair_is_as_asked(stand: Stand, topology: Topology, factor: float) -> None:
    report = verify_wide_area(stand, topology, Dilation(factor))
    assert [str(failure) for failure in report.failures] == []
    assert report.ok
    pairs = set(topology.ordered_pairs)
    for quantity in (Quantity.DELAY, Quantity.RATE, Quantity.LOSS):
        assert {(it.source, it.target) for it in report.of(quantity)} == pairs
    for quantity in (Quantity.SHARED_RATE, Quantity.SHARED_WAIT):
        assert {it.target for it in report.of(quantity)} == set(topology.cluster_names)


def test_a_short_frame_takes_its_time_on_its_link(stand: Stand, topology: Topology) -> None:
    dilation = Dilation(8)
    program_wide_area(stand, topology, dilation)

    def host_delay_s(frame_bytes: int) -> float:
        stream = Stream(0, 1, host_begin_s=0.0, host_end_s=2.0, frame_bytes=frame_bytes, frames_per_host_s=20.0)
        (arrival,) = carry_out(stand, [stream], host_drain_s=0.5)
        assert arrival.host_delay_s is not None
        return arrival.host_delay_s

    host_rate_mbit = dilation.host_rate_mbit(topology.path_rate_mbit(*topology.cluster_names[:2]))
    transmission_s = (1400 - 100) / rate_bytes_per_s(host_rate_mbit)
    assert host_delay_s(1400) - host_delay_s(100) == pytest.approx(transmission_s, rel=0.1)


def test_verification_leaves_the_dilation_it_found(stand: Stand, topology: Topology) -> None:
    program_wide_area(stand, topology, REAL_TIME)
    check_wide_area(stand, topology, Dilation(4))
    assert programmed_wide_area(stand, topology).is_for(Dilation(4))
    program_wide_area(stand, topology, REAL_TIME)
    assert programmed_wide_area(stand, topology).is_for(REAL_TIME)


def test_a_delay_changed_behind_its_back_is_noticed(stand: Stand, topology: Topology) -> None:
    program_wide_area(stand, topology, REAL_TIME)
    Router(stand).run("tc qdisc change dev site1 parent 1:1 netem delay 9ms")
    found = programmed_wide_area(stand, topology)
    assert not found.whole
    assert [difference for difference in found.differences if "delay" in difference] == [
        "amsterdam to delft: delay 0.009s on the host instead of 0.002s"
    ]
    program_wide_area(stand, topology, REAL_TIME)
    assert programmed_wide_area(stand, topology).whole


def test_the_command_verifies_and_fails_when_the_program_was_changed(
    standing_testbed: CommandLine, stand: Stand
) -> None:
    Router(stand).run("tc qdisc change dev site1 parent 1:1 netem delay 9ms")
    outcome = standing_testbed("verify", "--dilation", "2")
    assert outcome.exit_code != 0
    assert "amsterdam to delft" in outcome.sentence
    standing_testbed.succeed("verify", "--dilation", "1")


def test_tcp_is_pinned_in_every_cluster(stand: Stand) -> None:
    for container in stand.cluster_containers:
        assert stand.execute(container, ["cat", "/proc/sys/net/ipv4/tcp_congestion_control"]).strip() == (
            CONGESTION_CONTROL
        )


def test_no_helper_is_left_behind(standing_testbed: CommandLine, stand: Stand, topology: Topology) -> None:
    before = sorted(standing_testbed.left_over())
    program_wide_area(stand, topology, REAL_TIME)
    assert sorted(standing_testbed.left_over()) == before
