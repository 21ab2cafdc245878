"""The address plan: derived from one octet, disjoint, and inside the range that MPI is pinned to."""

import ipaddress
from collections.abc import Iterator
from ipaddress import IPv4Network
from pathlib import Path
from types import SimpleNamespace

import pytest

from emulator.containers import free_addresses
from emulator.containers.addresses import MAX_CLUSTERS, AddressPlan
from emulator.hosts.subnets import UsedSubnets
from emulator.model.errors import InvalidInput, TestbedAlreadyUp

PLAN = AddressPlan(123)
ALL_OF_TEN = ("0000000A", "000000FF")
"""The route 10.0.0.0/8, as the kernel shows it."""


def test_control_and_sites_are_disjoint_parts_of_one_subnet() -> None:
    whole = ipaddress.ip_network(PLAN.whole)
    networks = [ipaddress.ip_network(PLAN.control_network)]
    networks += [ipaddress.ip_network(PLAN.site_network(index)) for index in range(MAX_CLUSTERS)]
    assert all(network.subnet_of(whole) for network in networks)
    assert not any(one.overlaps(other) for index, one in enumerate(networks) for other in networks[index + 1 :])


def test_every_site_and_no_control_address_is_in_the_range_of_the_wide_area() -> None:
    all_sites = ipaddress.ip_network(PLAN.all_sites)
    assert all(ipaddress.ip_network(PLAN.site_network(index)).subnet_of(all_sites) for index in range(MAX_CLUSTERS))
    assert not ipaddress.ip_network(PLAN.control_network).overlaps(all_sites)


def test_parts_stand_where_everyone_expects_them() -> None:
    assert (PLAN.broker, PLAN.head(0), PLAN.head(3)) == ("10.123.0.2", "10.123.0.10", "10.123.0.13")
    assert (PLAN.site_address(2), PLAN.router(2)) == ("10.123.130.10", "10.123.130.2")


@pytest.mark.parametrize("octet", [99, 251, 0])
def test_an_octet_outside_the_range_is_refused(octet: int) -> None:
    with pytest.raises(InvalidInput, match=f"10.{octet}.0.0/16"):
        AddressPlan(octet)


def test_there_is_no_site_beyond_the_last() -> None:
    with pytest.raises(InvalidInput):
        PLAN.site_network(MAX_CLUSTERS)


def write_routes(table: Path, *routes: tuple[str, str]) -> None:
    """Write destinations and masks as the kernel shows them."""
    lines = [f"tun0\t{to}\t00000000\t0001\t0\t0\t0\t{mask}\t0\t0\t0" for to, mask in routes]
    table.write_text("\n".join(["Iface\tDestination\t...", *lines]) + "\n")


def test_a_route_that_leads_everywhere_takes_no_subnet(tmp_path) -> None:
    table = tmp_path / "route"
    # The default route, its lower half as a VPN adds it, and 10.8.0.0/16.
    write_routes(table, ("00000000", "00000000"), ("00000000", "00000080"), ("0000080A", "0000FFFF"))
    assert [str(network) for network in free_addresses._routes(table)] == ["10.8.0.0/16"]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A host without testbeds, whose Docker networks, interfaces and routes a test states."""
    stated = SimpleNamespace(docker=[], interfaces=[], table=tmp_path / "route", resolver=tmp_path / "resolv.conf")

    def networks(kind: str) -> Iterator[IPv4Network]:
        yield from map(IPv4Network, getattr(stated, kind))

    monkeypatch.setattr(free_addresses, "_docker_subnets", lambda client: networks("docker"))
    monkeypatch.setattr(free_addresses, "_interface_subnets", lambda: networks("interfaces"))
    monkeypatch.setattr(free_addresses, "_remembered_subnets", lambda: iter(()))
    monkeypatch.setattr(free_addresses, "_ROUTES", stated.table)
    monkeypatch.setattr(free_addresses, "_RESOLVER", stated.resolver)
    return stated


def found(elsewhere: UsedSubnets = free_addresses.UNUSED) -> tuple[str, list[str]]:
    """The subnet that is chosen, and what is said of it."""
    said: list[str] = []
    plan = free_addresses.free_addresses(None, elsewhere, lambda step: said.append(step.detail))
    return plan.whole, said


def test_what_is_in_use_is_avoided(host) -> None:
    host.docker, host.interfaces = ["10.100.3.0/24"], ["10.101.0.0/16"]
    write_routes(host.table, ("0000660A", "0000FFFF"))  # 10.102.0.0/16
    elsewhere = UsedSubnets((IPv4Network("10.103.0.1"),), (IPv4Network("10.104.0.0/14"),))
    assert found(elsewhere) == ("10.108.0.0/16", [])


def test_of_a_route_to_all_of_the_range_a_part_is_taken_and_that_is_said(host) -> None:
    write_routes(host.table, ALL_OF_TEN)
    host.docker = ["10.100.3.0/24"]
    subnet, (said,) = found()
    assert subnet == "10.101.0.0/16"
    assert said.startswith("10.101.0.0/16 is a part of the route to 10.0.0.0/8: that part is not reached")


def test_the_part_of_a_wide_route_with_the_name_servers_is_not_taken(host) -> None:
    write_routes(host.table, ALL_OF_TEN)
    host.resolver.write_text("search far.example\nnameserver 10.100.0.53\nnameserver fe80::1%eth0\nnameserver\n")
    assert found()[0] == "10.101.0.0/16"


def test_of_several_wide_routes_the_fewest_are_cut(host) -> None:
    write_routes(host.table, ALL_OF_TEN, ("0000600A", "0000E0FF"))  # 10.96.0.0/11
    assert found()[0] == "10.128.0.0/16"


@pytest.mark.parametrize("kind", ["docker", "interfaces"])
def test_a_network_or_an_interface_with_all_of_the_range_is_named_and_leaves_nothing(host, kind: str) -> None:
    write_routes(host.table, ALL_OF_TEN)
    setattr(host, kind, ["10.0.0.0/8", "127.0.0.0/8"])
    with pytest.raises(TestbedAlreadyUp, match=r"to 10\.250\.0\.0/16 .* in the way is 10\.0\.0\.0/8 \(remove unused"):
        found()
