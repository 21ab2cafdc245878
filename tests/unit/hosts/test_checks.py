"""What is said of hosts that together shall carry a testbed: a finding for each fault, with its remedy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emulator.hosts.checks import HostFinding, central_host, judge, require_fit
from emulator.hosts.facts import HostFacts, Known, NetworkFacts, SwarmFacts, Unreachable
from emulator.hosts.inventory import Host, HostInventory
from emulator.model.errors import EngineUnavailable

SUBNETS = tuple(f"10.{octet}.0.0/16" for octet in range(100, 251))
INVENTORY = HostInventory(
    hosts=(
        Host(name="one", engine="unix:///run/one.sock", address="10.77.0.1"),
        Host(name="two", engine="ssh://bob@two", address="10.77.0.2"),
        Host(name="three", engine="ssh://bob@three", address="10.77.0.3", share=0.5),
    )
)
MEMBERS = {"n-one": "ready", "n-two": "ready", "n-three": "ready"}


def fit(name: str, address: str) -> HostFacts:
    manages = name == "one"
    return HostFacts(
        engine="20.10.24+dfsg1",
        architecture="x86_64",
        cores=4,
        memory_bytes=16 * 1024**3,
        swarm=SwarmFacts("active", f"n-{name}", manages, managers=1, members=MEMBERS if manages else {}),
        subnets=("172.17.0.0/16",),
        has_node_image=True,
        clock_bound_s=0.01,
        network=NetworkFacts({address: 1600}, routes=("10.77.0.0/24",)),
    )


def lab(**changed: Known) -> dict[str, Known]:
    return {host.name: changed.get(host.name, fit(host.name, host.address)) for host in INVENTORY.hosts}


def two(**changed: object) -> Known:
    return replace(fit("two", "10.77.0.2"), **changed)


def faults(known: dict[str, Known]) -> list[HostFinding]:
    return [each for each in judge(INVENTORY, known, SUBNETS) if not each.finding.ok]


def test_fit_hosts_have_no_fault_and_the_manager_is_central():
    assert faults(lab()) == []
    require_fit(judge(INVENTORY, lab(), SUBNETS))
    assert central_host(INVENTORY, lab()) is INVENTORY.hosts[0]
    assert any("10.100.0.0/16 is free" in each.finding.found for each in judge(INVENTORY, lab(), SUBNETS))


def test_the_halves_of_a_default_route_take_no_subnet():
    halves = NetworkFacts({"10.77.0.2": 1600}, routes=("0.0.0.0/1", "128.0.0.0/1", "10.77.0.0/24"))
    assert faults(lab(two=two(network=halves))) == []


def test_of_a_route_to_all_of_the_range_a_part_is_taken_with_a_warning():
    wide = NetworkFacts({"10.77.0.2": 1600}, routes=("10.0.0.0/8",))
    (fault,) = faults(lab(two=two(network=wide)))
    assert (fault.finding.check, fault.finding.needed) == ("subnets", False)
    assert fault.finding.found.startswith("10.100.0.0/16 is a part of the route to 10.0.0.0/8: ")


def test_an_interface_with_all_of_the_range_leaves_nothing():
    whole = NetworkFacts({"10.77.0.2": 1600}, routes=("10.0.0.0/8",), interfaces=("10.77.0.2/8",))
    (fault,) = faults(lab(two=two(network=whole)))
    assert (fault.finding.check, fault.finding.needed) == ("subnets", True)
    assert fault.finding.found.endswith("the widest in the way is 10.0.0.0/8")


@pytest.mark.parametrize(("engine", "ok", "needed"),
                         [("20.10.9+dfsg1", False, False), ("20.10.10", True, False), ("20.10", False, False),
                          ("19.03.15", False, True), ("28.1", True, False), ("dev", True, True)])  # fmt: skip
def test_an_engine_that_a_distribution_may_have_mended_is_a_warning(engine, ok, needed):
    judged = judge(INVENTORY, lab(two=two(engine=engine)), SUBNETS)
    found = [each.finding for each in judged if (each.host, each.finding.check) == ("two", "engine")]
    assert [(each.ok, each.needed) for each in found] == [(ok, needed)]


@pytest.mark.parametrize(
    ("changed", "check", "said"),
    [
        (Unreachable("The engine of host 'two' is gone"), "engine", "The engine of host 'two' is gone"),
        (two(engine="19.03.1"), "engine", "install Docker Engine 20.10.10"),
        (two(swarm=SwarmFacts("inactive")), "swarm", "docker swarm join"),
        (two(swarm=SwarmFacts("active", "stranger")), "swarm", "`docker swarm leave` there"),
        (two(swarm=SwarmFacts("active", "n-two", address="192.168.1.2")), "Swarm's address", "it uses 192.168.1.2"),
        (two(security_options=("name=seccomp", "name=userns")), "user namespaces", "leave out userns-remap"),
        (two(security_options=("name=seccomp", "name=rootless")), "rootless", "run Docker as root there"),
        (two(architecture="aarch64"), "architecture", "images are made once, here for x86_64"),
        (two(memory_bytes=500 * 1024**2), "memory", "raise its share"),
        (two(network=NetworkFacts({"10.77.0.2": 1500})), "mtu", "mtu 1550"),
        (two(network=NetworkFacts({"192.168.1.2": 1600})), "address", "it has 192.168.1.2"),
        (two(network=NetworkFacts({"10.77.0.2": 1600}, closed=("10.77.0.3:7946",))), "ports", "open 2377/tcp"),
        (two(clock_ahead_s=-3.0), "clock", "NTP"),
    ],
)
def test_a_fault_is_found_with_its_remedy(changed, check, said):
    (fault,) = faults(lab(two=changed))
    assert (fault.host, fault.finding.check) == ("two", check)
    assert said in f"{fault.finding.found} {fault.finding.remedy}"
    if fault.finding.needed:
        with pytest.raises(EngineUnavailable, match=f"Host 'two' cannot carry a testbed: {check}"):
            require_fit([fault])


def test_a_clock_that_is_not_known_better_than_it_is_off_is_no_fault():
    assert faults(lab(two=two(clock_ahead_s=0.3, clock_bound_s=0.28))) == []


def test_a_host_that_is_down_in_the_swarm_is_not_ready():
    one = fit("one", "10.77.0.1")
    swarm = replace(one.swarm, members=MEMBERS | {"n-two": "down"})
    (fault,) = faults(lab(one=replace(one, swarm=swarm)))
    assert (fault.host, fault.finding.found) == ("two", "worker, down")


def test_two_managers_are_advised_against_and_three_are_well():
    one = fit("one", "10.77.0.1")
    found = {
        count: [each.finding.check for each in faults(lab(one=replace(one, swarm=replace(one.swarm, managers=count))))]
        for count in (1, 2, 3, 5)
    }
    assert found == {1: [], 2: ["managers"], 3: [], 5: []}


def test_the_manager_must_be_where_the_command_runs():
    workers = {name: replace(facts, swarm=replace(facts.swarm, is_manager=False)) for name, facts in lab().items()}
    manager = replace(fit("two", "10.77.0.2"), swarm=SwarmFacts("active", "n-two", True, 1, MEMBERS))
    (fault,) = faults(workers | {"two": manager})
    assert (fault.host, fault.finding.check) == ("two", "central")
    assert "unix:///var/run/docker.sock" in fault.finding.remedy


def test_of_two_managers_the_one_where_the_command_runs_is_central():
    first, second, _ = INVENTORY.hosts
    ssh_first = HostInventory(hosts=(second, first))
    managing = replace(fit("two", "10.77.0.2"), swarm=SwarmFacts("active", "n-two", True, 2, MEMBERS))
    assert central_host(ssh_first, lab(two=managing)) is first
    assert central_host(HostInventory(hosts=(second,)), lab(two=managing)) is second


def test_without_a_manager_every_host_says_so():
    workers = {name: replace(facts, swarm=replace(facts.swarm, is_manager=False)) for name, facts in lab().items()}
    assert {fault.finding.check for fault in faults(workers)} == {"swarm"}
    assert central_host(INVENTORY, workers) is None


def test_networks_that_leave_no_subnet_free_on_all_are_a_fault():
    half, other = SUBNETS[:80], SUBNETS[80:]
    (fault,) = faults(lab(two=two(subnets=half), three=replace(fit("three", "10.77.0.3"), subnets=other)))
    assert fault.finding.check == "subnets"
    more = replace(fit("three", "10.77.0.3"), subnets=("10.180.1.0/24", "10.181.7.9"))
    found = judge(INVENTORY, lab(two=two(subnets=half), three=more), SUBNETS)
    assert [each.finding.found for each in found if each.finding.check == "subnets"] == [
        "10.182.0.0/16 is free on every host"
    ]


def test_a_host_without_images_is_not_examined_further_and_says_so():
    found = judge(INVENTORY, lab(two=two(has_node_image=False, network=None)), SUBNETS)
    said = {each.finding.check: each.finding.found for each in found if each.host == "two"}
    assert "not examined" in said["mtu"]
    assert "sent" in said["images"]
