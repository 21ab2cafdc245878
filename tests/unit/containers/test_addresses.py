"""The address plan: derived from one octet, disjoint, and inside the range that MPI is pinned to."""

import ipaddress

import pytest

from emulator.containers import free_addresses
from emulator.containers.addresses import MAX_CLUSTERS, AddressPlan
from emulator.model.errors import InvalidInput

PLAN = AddressPlan(123)


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


def test_a_route_that_leads_everywhere_takes_no_subnet(tmp_path) -> None:
    table = tmp_path / "route"
    # The default route, its lower half as a VPN adds it, and 10.8.0.0/16, as the kernel shows them.
    routes = [("00000000", "00000000"), ("00000000", "00000080"), ("0000080A", "0000FFFF")]
    lines = [f"tun0\t{to}\t00000000\t0001\t0\t0\t0\t{mask}\t0\t0\t0" for to, mask in routes]
    table.write_text("\n".join(["Iface\tDestination\t...", *lines]) + "\n")
    assert [str(network) for network in free_addresses._routes(table)] == ["10.8.0.0/16"]
