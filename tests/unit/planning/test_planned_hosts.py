"""What the network between hosts asks of a plan: links longer than it, and no more traffic than it carries."""

from __future__ import annotations

import pytest

from emulator.hosts.inventory import HostInventory
from emulator.hosts.layout import Layout
from emulator.model.catalogue import topology_named
from emulator.model.clock import Dilation
from emulator.planning.plan import PlannedRun, Resources, floor_dilation, likely_dilation, plan
from emulator.planning.planned_hosts import between_hosts
from emulator.planning.planned_jobs import PlannedJob

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
