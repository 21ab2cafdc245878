"""What the network between hosts asks of a plan: links longer than it, and no more traffic than it carries."""

from __future__ import annotations

import math
from dataclasses import replace
from unittest.mock import Mock

import pytest

from emulator.containers.state import HostRecord, HostsRecord
from emulator.hosts.inventory import HostInventory
from emulator.hosts.layout import Layout
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.model.errors import Hopeless
from emulator.model.underlay import Underlay
from emulator.planning import planned_hosts
from emulator.planning.plan import PlannedRun, Resources, floor_dilation, likely_dilation, plan
from emulator.planning.planned_hosts import as_recorded, between_hosts, resources_of
from emulator.planning.planned_jobs import PlannedJob
from emulator.planning.planned_runs import check_possible
from emulator.runs.holding import Testbed

DAS2 = topology_named("das2")
ELSEWHERE = DAS2.cluster_names[2:4]
BETWEEN_THEM_S = DAS2.path(*ELSEWHERE).delay_s
LAYOUT = Layout("left", {name: "right" if name in ELSEWHERE else "left" for name in DAS2.cluster_names})


def inventory(**stated: dict[str, float]) -> HostInventory:
    engines = {"left": "unix:///var/run/docker.sock", "right": "ssh://alice@right"}
    hosts = [
        {"name": name, "engine": engine, "address": f"192.168.1.{number}", **stated.get(name, {})}
        for number, (name, engine) in enumerate(engines.items(), start=10)
    ]
    return HostInventory.model_validate({"hosts": hosts})


def test_an_inventory_that_says_nothing_of_the_network_limits_nothing():
    assert between_hosts(DAS2, inventory(), LAYOUT) == {}


def test_the_way_between_hosts_must_be_shorter_than_each_link():
    """Two clusters of one other host cross the network twice: there and back."""
    found = between_hosts(DAS2, inventory(right={"delay_s": BETWEEN_THEM_S}), LAYOUT)
    assert found == {"delay between hosts": pytest.approx(2.0)}


def test_the_network_must_carry_what_the_links_of_other_hosts_carry_together():
    sent_mbit = sum(DAS2.cluster(name).access_link.up_mbit for name in ELSEWHERE)
    stated = {"left": {"rate_mbit": sent_mbit / 3}, "right": {"rate_mbit": sent_mbit / 5}}
    assert between_hosts(DAS2, inventory(**stated), LAYOUT) == {
        "network of left": pytest.approx(3.0),
        "network of right": pytest.approx(5.0),
    }


def test_nothing_crosses_where_one_host_carries_all():
    alone = Layout("left", dict.fromkeys(DAS2.cluster_names, "left"))
    assert between_hosts(DAS2, inventory(left={"rate_mbit": 1}, right={"delay_s": 1, "rate_mbit": 1}), alone) == {}


def test_what_the_network_allows_binds_a_plan_as_it_is():
    run = PlannedRun((PlannedJob("job", 16, 2, 100, 1.0, 160_000.0, 10.0, real=True, grid_bytes=10**6),), 5)
    room = Resources(2, 8 * 10**9, 10**11, guest_router=False, between_hosts={"network of right": 5.0})
    assert (floor_dilation(run, room), likely_dilation(run, room)) == (8.0, 8.0)  # powers of two
    assert plan(run, Dilation(4), room).binding.name == "network of right"
    assert plan(run, Dilation(4), room).binding.share == pytest.approx(1.25)


ROOM = Resources(2, 10**9, 10**11, guest_router=False)
PARTS = ((DAS2.cluster_names[0], 8), (ELSEWHERE[0], 8))
RUN = PlannedRun((PlannedJob("job", 16, 2, 100, 1.0, 160_000.0, 10.0, real=True, grid_bytes=10**6, parts=PARTS),), 5)


def record(**underlay: float) -> HostsRecord:
    """Return the record of a testbed over a host with a gigabyte and one with ten, said to be a second apart."""
    left, right = inventory(right={"delay_s": 1.0}).hosts
    measured = dict.fromkeys(("host_delay_s", "host_jitter_s", "host_clock_ahead_s", "host_clock_bound_s"), 0.0)
    here = tuple(name for name in DAS2.cluster_names if name not in ELSEWHERE)
    elsewhere = HostRecord(
        host=right, memory_bytes=10**10, cores=4.0, clusters=tuple(ELSEWHERE), underlay=Underlay(**measured | underlay)
    )
    return HostsRecord(central="left", hosts=(HostRecord(host=left, memory_bytes=10**9, clusters=here), elsewhere))


def test_a_run_fits_a_testbed_whose_central_host_alone_is_too_small(monkeypatch):
    monkeypatch.setattr(planned_hosts, "available_resources", lambda guest_router: ROOM)
    spread = Testbed("spread", Mock(), DAS2, Mock(), list, hosts=record())
    check_possible(RUN, resources_of(spread))
    with pytest.raises(Hopeless, match=r"^This host cannot hold the run"):
        check_possible(RUN, resources_of(replace(spread, hosts=None)))


def test_the_host_that_cannot_hold_its_part_of_a_run_is_named():
    found = as_recorded(record(), DAS2, ROOM)
    small = replace(found, hosts=(replace(found.hosts[0], memory_bytes=10**8), found.hosts[1]))
    with pytest.raises(Hopeless, match=r"^The hosts of this testbed cannot hold the run: .* the memory of left that"):
        check_possible(RUN, small)


def test_pilots_begin_at_what_was_measured_between_the_hosts_whatever_their_user_stated():
    found = as_recorded(record(host_delay_s=4 * BETWEEN_THEM_S), DAS2, ROOM)
    assert found.between_hosts == {"delay between hosts": pytest.approx(8.0)}
    assert floor_dilation(RUN, found) == 8.0
    assert floor_dilation(RUN, ROOM) < 8.0


def test_of_the_two_ways_to_a_host_the_slower_one_counts():
    sent_mbit = sum(DAS2.cluster(name).access_link.up_mbit for name in ELSEWHERE)
    rates = {"host_rate_to_central_mbit": sent_mbit / 3, "host_rate_from_central_mbit": sent_mbit / 5}
    assert as_recorded(record(**rates), DAS2, ROOM).between_hosts["network of right"] == pytest.approx(5.0)


def test_the_cores_of_a_host_that_an_older_version_recorded_limit_nothing():
    left, right = as_recorded(record(), DAS2, ROOM).hosts
    assert (left.cores, right.cores) == (math.inf, 4.0)
