"""The links of a running testbed of two sites, measured by frames and by `testbed verify`."""

import pytest

from emulator.containers import engine
from emulator.containers.state import testbed_state
from emulator.containers.wan.handle import WanHandle
from emulator.containers.wan.measurements import Quantity
from emulator.containers.wan.router import Router
from emulator.containers.wan.schedule import Stream, carry_out
from emulator.containers.wan.wide_area import program_wide_area
from emulator.model.clock import REAL_TIME, Dilation
from emulator.model.topology import Topology
from emulator.model.units import rate_bytes_per_s
from tests.live.command_line import CommandLine


@pytest.fixture
def handle(two_sites: CommandLine) -> WanHandle:
    """Return the handle of the running testbed's wide area."""
    state = testbed_state(two_sites.name)
    return WanHandle.of(engine.connect(), state.names, state.topology.cluster_names, state.addresses)


@pytest.fixture
def topology(two_sites: CommandLine) -> Topology:
    """Return the topology of the running testbed."""
    return testbed_state(two_sites.name).topology


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


@pytest.mark.timed
def test_the_command_verifies_every_link(two_sites: CommandLine, handle: WanHandle, topology: Topology) -> None:
    program_wide_area(handle, topology, REAL_TIME)
    rows = two_sites.succeed("verify", "--dilation", "1", "--json").as_json()
    pairs = set(topology.ordered_pairs)
    for quantity in (Quantity.DELAY, Quantity.RATE, Quantity.LOSS):
        assert {(row["from"], row["to"]) for row in rows if row["quantity"] == quantity.value} == pairs
    # What a job may reach is the same as before: the edges that were programmed again have no way out.
    for container in handle.cluster_containers:
        assert "default" not in handle.execute(container, ["ip", "route"])


@pytest.mark.long
@pytest.mark.timed
def test_the_command_fails_when_the_program_was_changed(
    two_sites: CommandLine, handle: WanHandle, topology: Topology
) -> None:
    Router(handle).run("tc qdisc change dev site1 parent 1:1 netem delay 9ms")
    outcome = two_sites("verify", "--dilation", "2")
    assert outcome.exit_code != 0
    assert "east to west" in outcome.sentence
    program_wide_area(handle, topology, REAL_TIME)
