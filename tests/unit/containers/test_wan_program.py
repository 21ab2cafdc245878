"""What the wide area is programmed with: the commands of `mini`, and what a dilation does to them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from emulator.containers.addresses import MAX_CLUSTERS, AddressPlan
from emulator.containers.wan.commands import edge_script, router_commands, router_script
from emulator.containers.wan.handle import WanHandle
from emulator.containers.wan.program import (
    SMALLEST_FRAME_BYTES,
    edge_program,
    kernel_settings,
    least_dilation,
    router_program,
    wide_area_program,
)
from emulator.containers.wan.router import Backend, Router
from emulator.model.clock import REAL_TIME, Dilation
from emulator.model.documents import parse_document, read_document
from emulator.model.errors import WideAreaUnfaithful
from emulator.model.link_queues import FRAME_BYTES
from emulator.model.project import PROJECT_ROOT
from emulator.model.topology import Topology
from emulator.model.units import rate_bytes_per_s

ADDRESSES = AddressPlan(150)


@pytest.fixture
def mini() -> Topology:
    return read_document(PROJECT_ROOT / "compose" / "mini.yaml", Topology)


def many_clusters(count: int) -> Topology:
    clusters = "\n".join(
        f"  - {{name: c{i}, nodes: 1, access_link: {{up_mbit: 10, down_mbit: 50}}}}" for i in range(count)
    )
    return parse_document(
        f"""
name: many
processor: {{name: p, in_cache_ns_per_point: 1, out_of_cache_ns_per_point: 1, cache_bytes: 1}}
clusters:
{clusters}
default_link: {{delay_s: 0, jitter_s: 0.001, loss: 0.02}}
links: [{{from: c0, to: c1, delay_s: 0.4, one_way: true}}]
""",
        Topology,
        source="many",
    )


def test_the_router_of_mini_delays_each_source_on_the_way_to_a_site_and_transmits_at_the_links_rate(
    mini: Topology,
) -> None:
    commands = router_commands(router_program(mini, REAL_TIME, ADDRESSES))
    assert [command for command in commands if "site0" in command] == [
        "qdisc add dev site0 root handle 1: prio bands 4 priomap 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3",
        "qdisc add dev site0 parent 1:1 handle 11: netem limit 1167 delay 2000.000us rate 20000000bit",
        "filter add dev site0 parent 1: protocol ip prio 1 u32 match ip src 10.150.129.0/24 flowid 1:1",
        "qdisc add dev site0 parent 1:2 handle 12: netem limit 1125 delay 1500.000us rate 20000000bit",
        "filter add dev site0 parent 1: protocol ip prio 1 u32 match ip src 10.150.130.0/24 flowid 1:2",
        "qdisc add dev site0 parent 1:3 handle 13: netem limit 1084 delay 1000.000us rate 20000000bit",
        "filter add dev site0 parent 1: protocol ip prio 1 u32 match ip src 10.150.131.0/24 flowid 1:3",
    ]


def test_the_edge_of_a_cluster_shapes_both_directions_of_its_access_link(mini: Topology) -> None:
    script = edge_script(edge_program(mini, "delft", REAL_TIME, ADDRESSES))
    assert "ip -o -4 addr show to 10.150.129.10 " in script
    assert 'tc qdisc add dev "$link" root handle 1: tbf rate 20000000bit burst 2764b limit 96896b' in script
    assert "tc qdisc add dev ifb0 root handle 1: tbf rate 20000000bit burst 2764b limit 96896b" in script
    assert 'ip link set dev "$link" gso_max_segs 1' in script
    assert "ip route del default" in script
    assert 'ip route replace 10.150.128.0/17 via 10.150.129.2 dev "$link" rto_min 0.200s' in script


def test_the_least_timeout_of_tcp_dilates(mini: Topology) -> None:
    assert "rto_min 1.600s" in edge_script(edge_program(mini, "delft", Dilation(8), ADDRESSES))


def test_a_dilation_lengthens_delays_lowers_rates_and_leaves_queues_in_bytes_alone(mini: Topology) -> None:
    once, eightfold = (wide_area_program(mini, Dilation(factor), ADDRESSES) for factor in (1, 8))
    for before, after in zip(once.router.lines, eightfold.router.lines, strict=True):
        assert after.host_delay_s == pytest.approx(8 * before.host_delay_s)
        assert after.host_rate_mbit == pytest.approx(before.host_rate_mbit / 8)
        assert after.queue_packets == before.queue_packets
    for edge, slow_edge in zip(once.edges, eightfold.edges, strict=True):
        assert slow_edge.up.host_rate_mbit == pytest.approx(edge.up.host_rate_mbit / 8)
        assert slow_edge.down.queue_bytes == edge.down.queue_bytes


@pytest.mark.parametrize("factor", [0.5, 1, 8, 64])
def test_queues_hold_twice_the_bandwidth_delay_product(factor: float) -> None:
    topology = many_clusters(3)
    program = wide_area_program(topology, Dilation(factor), ADDRESSES)
    for line in program.router.lines:
        rate = rate_bytes_per_s(program.edges[line.source_index].up.host_rate_mbit)
        assert line.queue_packets * SMALLEST_FRAME_BYTES >= 2 * rate * (line.host_delay_s + line.host_jitter_s)
    first = program.edges[0]
    round_trip_s = factor * (0.4 + 0.001)
    assert first.up.queue_bytes >= 2 * rate_bytes_per_s(first.up.host_rate_mbit) * round_trip_s * 0.999
    assert first.down.queue_bytes >= 2 * rate_bytes_per_s(first.down.host_rate_mbit) * round_trip_s * 0.999
    assert all(edge.up.burst_bytes > FRAME_BYTES for edge in program.edges)


def test_a_path_transmits_at_the_rate_of_its_slower_access_link() -> None:
    asymmetric = many_clusters(3)
    assert {line.host_rate_mbit for line in router_program(asymmetric, Dilation(2), ADDRESSES).lines} == {5.0}


def test_delays_are_one_way_and_zero_jitter_and_loss_are_said_as_asked() -> None:
    commands = router_commands(router_program(many_clusters(3), Dilation(2), ADDRESSES))
    netems = [command for command in commands if "netem" in command]
    assert netems[0].endswith(" delay 0.000us 2000.000us loss random 2.000000% rate 5000000bit")  # c1 to c0
    assert " delay 800000.000us" in netems[2]  # c0 to c1
    assert sum("delay 800000" in command for command in netems) == 1


def test_without_delays_the_router_only_forwards(mini: Topology) -> None:
    commands = router_commands(router_program(mini, REAL_TIME, ADDRESSES, with_delays=False))
    assert [c.split("netem")[1].split()[0] for c in commands if "netem" in c] == ["limit"] * 12
    assert not any("delay" in command or "loss" in command for command in commands)


def test_as_many_clusters_as_a_topology_may_have_fit_the_bands_of_a_prio() -> None:
    commands = router_commands(router_program(many_clusters(MAX_CLUSTERS), REAL_TIME, ADDRESSES))
    roots = [command for command in commands if "prio bands" in command]
    assert len(roots) == MAX_CLUSTERS
    assert all(int(command.split("bands ")[1].split()[0]) <= 16 for command in roots)
    assert "flowid 1:e" in "\n".join(commands)


def test_a_topology_of_one_cluster_needs_no_delay_line() -> None:
    one = parse_document(
        "{name: one, clusters: [{name: a, nodes: 1, access_link: {up_mbit: 1, down_mbit: 1}}], processor: "
        "{name: p, in_cache_ns_per_point: 1, out_of_cache_ns_per_point: 1, cache_bytes: 1}}",
        Topology,
        source="one",
    )
    assert router_commands(wide_area_program(one, REAL_TIME, ADDRESSES).router) == []


def test_every_backend_is_given_the_same_program(mini: Topology) -> None:
    given = {backend: [] for backend in Backend}

    class Recording(WanHandle):
        def execute(self, container, command, environment=None):  # type: ignore[no-untyped-def]
            if "/run/wan/backend" in command[-1]:
                return self.testbed
            given[Backend(self.testbed)].append((tuple(command), environment["SCRIPT"]))
            return ""

    for backend in Backend:
        handle = Recording(None, backend.value, ("a", "b", "c", "d"), "router", ADDRESSES)  # type: ignore[arg-type]
        router = Router(handle)
        assert router.backend() is backend
        router.apply(router_program(mini, Dilation(8), ADDRESSES))
    assert given[Backend.KERNEL] == given[Backend.GUEST]
    assert given[Backend.GUEST][-1][1] == router_script(router_program(mini, Dilation(8), ADDRESSES))


def test_tcp_is_pinned_with_buffers_for_the_longest_path() -> None:
    settings = kernel_settings(many_clusters(3))
    assert settings["net.ipv4.tcp_congestion_control"] == "reno"
    product_bytes = rate_bytes_per_s(10) * 0.4
    assert int(settings["net.ipv4.tcp_rmem"].split()[2]) >= 2 * product_bytes
    assert int(settings["net.ipv4.tcp_wmem"].split()[2]) >= 2 * product_bytes


def test_the_scripts_are_shell(mini: Topology) -> None:
    program = wide_area_program(mini, Dilation(0.3), ADDRESSES)
    assert "deletions\nset -e\ntc -batch" in router_script(program.router), "a refused command ends the program"
    for script in (edge_script(program.edges[0]), router_script(program.router)):
        subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    for file in sorted(Path(PROJECT_ROOT / "images" / "wan").glob("*.sh")):
        subprocess.run(["sh", "-n", str(file)], check=True)


def delays_s(
    topology: Topology, dilation: Dilation, host_underlay_s: tuple[float, ...]
) -> dict[tuple[int, int], float]:
    program = router_program(topology, dilation, ADDRESSES, host_underlay_s=host_underlay_s)
    return {(line.source_index, line.target_index): line.host_delay_s for line in program.lines}


def test_over_several_hosts_a_delay_line_adds_what_the_way_between_them_leaves(mini: Topology) -> None:
    asked_s, left_s = delays_s(mini, Dilation(2), ()), delays_s(mini, Dilation(2), (0.0, 0.0003, 0.0, 0.0005))
    taken_s = {pair: asked_s[pair] - left_s[pair] for pair in asked_s}
    assert taken_s[0, 2] == 0.0
    assert taken_s[0, 1] == taken_s[2, 1] == taken_s[1, 0] == pytest.approx(0.0003)
    assert taken_s[1, 3] == taken_s[3, 1] == pytest.approx(0.0008)


def test_without_delays_nothing_is_taken_away(mini: Topology) -> None:
    program = router_program(mini, REAL_TIME, ADDRESSES, host_underlay_s=(9.0,) * 4, with_delays=False)
    assert {line.host_delay_s for line in program.lines} == {0.0}


def test_a_link_that_is_shorter_than_the_way_between_its_hosts_is_refused_with_the_dilation_that_helps(
    mini: Topology,
) -> None:
    shortest_s = min(mini.path(*pair).delay_s for pair in mini.ordered_pairs if mini.cluster_names[1] in pair)
    slow = (0.0, 3 * shortest_s, 0.0, 0.0)
    assert least_dilation(mini, slow) == pytest.approx(3.0)
    with pytest.raises(WideAreaUnfaithful, match=r"dilate by 3 or more, or put both on one host by `on:`"):
        delays_s(mini, REAL_TIME, slow)
    assert min(delays_s(mini, Dilation(3), slow).values()) == pytest.approx(0.0)
    assert least_dilation(mini, ()) == 0.0


def test_no_dilation_helps_a_link_without_a_delay() -> None:
    topology = many_clusters(3)
    assert min(delays_s(topology, REAL_TIME, (0.0, 0.0, 0.0002)).values()) == 0.0
    with pytest.raises(WideAreaUnfaithful, match=r"\(put both on one host"):
        delays_s(topology, Dilation(100), (0.0, 0.0, 0.002))
