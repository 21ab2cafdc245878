"""Which host carries which cluster: as stated, within memory, balanced, and the fastest links beside the router."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.hosts.layout import (
    CENTRAL_MEMORY_BYTES,
    ClusterDemand,
    HostCapacity,
    Layout,
    demands_of,
    lay_out,
)
from emulator.model.catalogue import topology_named
from emulator.model.errors import InvalidInput, UnknownName

GIB = 1024**3
LARGE = 512 * GIB


def hosts(*cores: float, memory_bytes: int = LARGE) -> list[HostCapacity]:
    return [HostCapacity(f"host{index}", each, memory_bytes) for index, each in enumerate(cores)]


def clusters(*processors: int, rates: tuple[float, ...] = ()) -> list[ClusterDemand]:
    found = rates or (20.0,) * len(processors)
    return [
        ClusterDemand(f"c{index}", each, rate) for index, (each, rate) in enumerate(zip(processors, found, strict=True))
    ]


def loads(layout: Layout, demands: list[ClusterDemand], capacities: list[HostCapacity]) -> list[float]:
    """Emulated processors for each core, where router and broker take half a core, or half of all."""
    sizes = {demand.name: demand.processors for demand in demands}
    usable = {host.name: host.cores for host in capacities}
    usable[layout.central] = max(usable[layout.central] - 0.5, usable[layout.central] / 2)
    return [sum(sizes[name] for name in layout.on(host)) / cores for host, cores in usable.items()]


def test_mini_over_three_equal_hosts_leaves_the_router_the_least_clusters():
    layout = lay_out(demands_of(topology_named("mini")), hosts(2, 2, 2), "host0")
    assert sorted(len(layout.on(host.name)) for host in hosts(2, 2, 2)) == [1, 1, 2]
    assert len(layout.on("host0")) == 1


def test_one_host_carries_all():
    layout = lay_out(demands_of(topology_named("mini")), hosts(2), "host0")
    assert set(layout.clusters.values()) == {"host0"}
    assert list(layout.clusters) == topology_named("mini").cluster_names


def test_of_equal_clusters_the_one_with_the_fastest_link_is_beside_the_router():
    demands = clusters(16, 16, 16, rates=(20.0, 20.0, 900.0))
    assert lay_out(demands, hosts(4, 2, 2), "host0").clusters["c2"] == "host0"
    assert lay_out(demands, hosts(2, 2, 4), "host2").clusters["c2"] == "host2"


def test_what_is_stated_is_kept_and_the_rest_goes_elsewhere():
    stated = ClusterDemand("big", 64, 20.0, on="host1")
    layout = lay_out([stated, *clusters(16, 16)], hosts(4, 4), "host0")
    assert layout.clusters == {"big": "host1", "c0": "host0", "c1": "host0"}


def test_a_stated_host_must_exist():
    with pytest.raises(UnknownName, match=r"There is no host 'hots1'.*did you mean 'host1'"):
        lay_out([ClusterDemand("c", 2, 20.0, on="hots1")], hosts(2, 2), "host0")


@pytest.mark.parametrize("on", [None, "host1"])
def test_a_cluster_too_large_is_refused_with_what_it_needs(on):
    demand = ClusterDemand("giant", 1000, 20.0, on=on)
    with pytest.raises(InvalidInput, match=r"'giant'.*20\.7 GiB") as said:
        lay_out([demand], hosts(8, 8, memory_bytes=16 * GIB), "host0")
    assert ("on host 'host1'" if on else "too large for any host") in str(said.value)


@given(
    processors=st.lists(st.integers(1, 200), min_size=1, max_size=6),
    cores=st.lists(st.sampled_from([1.0, 2.0, 4.0, 7.5, 32.0]), min_size=1, max_size=4),
    data=st.data(),
)
def test_every_cluster_is_placed_and_no_layout_is_much_better(processors, cores, data):
    demands, capacities = clusters(*processors), hosts(*cores)
    central = data.draw(st.sampled_from([host.name for host in capacities]))
    layout = lay_out(demands, capacities, central)
    assert list(layout.clusters) == [demand.name for demand in demands]
    every = (
        Layout(central, dict(zip(layout.clusters, chosen, strict=True)))
        for chosen in itertools.product([host.name for host in capacities], repeat=len(demands))
    )
    best = min(max(loads(each, demands, capacities)) for each in every)
    assert max(loads(layout, demands, capacities)) <= 1.5 * best + 1e-9


@given(
    processors=st.lists(st.integers(1, 400), min_size=1, max_size=8),
    gib=st.lists(st.integers(1, 24), min_size=1, max_size=4),
)
def test_no_host_gets_more_than_its_memory(processors, gib):
    demands = clusters(*processors)
    capacities = [HostCapacity(f"host{index}", 4.0, each * GIB) for index, each in enumerate(gib)]
    try:
        layout = lay_out(demands, capacities, "host0")
    except InvalidInput:
        free = [host.memory_bytes - (CENTRAL_MEMORY_BYTES if host.name == "host0" else 0) for host in capacities]
        assert all(sum(demand.memory_bytes for demand in demands) > each for each in free)
        return
    for host in capacities:
        held = sum(demand.memory_bytes for demand in demands if layout.clusters[demand.name] == host.name)
        assert held + (CENTRAL_MEMORY_BYTES if host.name == "host0" else 0) <= host.memory_bytes


def test_the_order_of_hosts_does_not_change_how_well_they_are_used():
    demands = clusters(144, 64, 64, 64, 64)
    found = {
        max(loads(lay_out(demands, list(order), "host0"), demands, list(order)))
        for order in itertools.permutations(hosts(2, 4, 8))
    }
    assert len(found) == 1
