"""A topology as a SimGrid platform: every host, every rate and delay as stated, and a way between any two clusters."""

from xml.etree import ElementTree as ET

import pytest

from emulator.model.catalogue import topology_named
from emulator.model.documents import parse_document
from emulator.model.errors import InvalidInput
from emulator.model.interconnects import Interconnect
from emulator.model.topology import Topology
from emulator.reports.exports.simgrid_platform import UNLIMITED, render_platform

ETHERNET = Interconnect(name="ethernet", latency_s=0.00009, rate_mbit=40, message_s=0.000025)
TOPOLOGY = parse_document(
    """
    name: lopsided
    processor: {name: slow, in_cache_ns_per_point: 100, out_of_cache_ns_per_point: 250, cache_bytes: 262144}
    clusters:
      - {name: north, nodes: 3, access_link: {up_mbit: 10, down_mbit: 20}}
      - {name: south, nodes: 2, processors_per_node: 1, access_link: {up_mbit: 30, down_mbit: 40}}
      - {name: west, nodes: 1, access_link: {up_mbit: 50, down_mbit: 60}}
    default_link: {delay_s: 0.004}
    links:
      - {from: north, to: south, delay_s: 0.001, one_way: true}
      - {from: south, to: north, delay_s: 0.002, one_way: true}
    """,
    Topology,
    source="lopsided",
)


def platform(topology: Topology = TOPOLOGY, interconnect: Interconnect | None = ETHERNET) -> ET.Element:
    return ET.fromstring(render_platform(topology, interconnect))


def links(root: ET.Element) -> dict[str, dict[str, str]]:
    return {link.attrib["id"]: link.attrib for link in root.iter("link")}


def crossed(route: ET.Element) -> list[tuple[str, str | None]]:
    return [(link.attrib["id"], link.attrib.get("direction")) for link in route.iter("link_ctn")]


def test_a_platform_of_the_format_that_simgrid_reads():
    text = render_platform(TOPOLOGY, ETHERNET)
    assert '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">' in text.splitlines()[1]
    assert platform().attrib == {"version": "4.1"}


def test_a_host_for_each_processor_at_the_profiles_speed():
    hosts = [host.attrib for host in platform().iter("host")]
    assert [host["id"] for host in hosts if host["id"].startswith("north")] == [
        "north.0.0", "north.0.1", "north.1.0", "north.1.1", "north.2.0", "north.2.1",
    ]  # fmt: skip
    assert [host["id"] for host in hosts if host["id"].startswith("south")] == ["south.0.0", "south.1.0"]
    assert {host["speed"] for host in hosts} == {"10000000.0f"}


@pytest.mark.parametrize("name", ["das2", "das2-2006", "mini", "four-by-32"])
def test_every_shipped_topology_has_all_its_processors_and_paths(name):
    topology = topology_named(name)
    root = platform(topology, topology.interconnects.coallocated)
    assert len(list(root.iter("host"))) == topology.processors
    assert len(list(root.iter("zoneRoute"))) == len(topology.ordered_pairs)


def test_each_ordered_pair_crosses_one_access_link_up_its_own_delay_and_the_others_link_down():
    routes = {(route.attrib["src"], route.attrib["dst"]): route for route in platform().iter("zoneRoute")}
    assert routes.keys() == {(f"{a}.cluster", f"{b}.cluster") for a, b in TOPOLOGY.ordered_pairs}
    for source, target in TOPOLOGY.ordered_pairs:
        route = routes[f"{source}.cluster", f"{target}.cluster"]
        assert crossed(route) == [(f"{source}.up", None), (f"{source}.to.{target}", None), (f"{target}.down", None)]
        assert (route.attrib["gw_src"], route.attrib["gw_dst"]) == (f"{source}.gateway", f"{target}.gateway")
        assert route.attrib["symmetrical"] == "NO"


def test_rates_and_delays_are_those_of_the_topology():
    found = links(platform())
    rates = {name: found[name]["bandwidth"] for name in found if name.endswith((".up", ".down"))}
    assert rates == {
        "north.up": "10.0Mbps", "north.down": "20.0Mbps", "south.up": "30.0Mbps", "south.down": "40.0Mbps",
        "west.up": "50.0Mbps", "west.down": "60.0Mbps",
    }  # fmt: skip
    assert all(found[name]["sharing_policy"] == "SHARED" for name in rates)
    assert all(float(found[name]["latency"].removesuffix("s")) == 0 for name in rates)
    delays = {name: found[name]["latency"] for name in found if ".to." in name}
    assert (delays["north.to.south"], delays["south.to.north"]) == ("0.001s", "0.002s")
    assert delays["west.to.north"] == delays["north.to.west"] == "0.004s"
    assert all(found[name]["sharing_policy"] == "FATPIPE" for name in delays)


def test_inside_a_cluster_a_message_meets_the_interconnects_latency_once_and_its_rate_both_ways():
    root, found = platform(), links(platform())
    port = found["north.0.0.port"]
    assert (port["bandwidth"], port["sharing_policy"]) == ("40.0Mbps", "SPLITDUPLEX")
    assert 2 * float(port["latency"].removesuffix("s")) == ETHERNET.latency_s
    routes = {(route.attrib["src"], route.attrib["dst"]): crossed(route) for route in root.iter("route")}
    assert routes["north.0.0", "north.switch"] == [("north.0.0.port", "UP")]
    assert routes["north.switch", "north.2.1"] == [("north.2.1.port", "DOWN")]


def test_what_leaves_a_cluster_meets_no_interconnect_and_no_message_inside_takes_that_way():
    root = platform()
    routes = {(route.attrib["src"], route.attrib["dst"]): crossed(route) for route in root.iter("route")}
    for host in (host.attrib["id"] for host in root.iter("host")):
        cluster = host.split(".")[0]
        outwards, inwards = routes[host, f"{cluster}.gateway"], routes[f"{cluster}.gateway", host]
        assert {name for name, _ in outwards + inwards} == {f"{cluster}.outwards"}
        over_gateway = len(outwards) + len(inwards)
        over_switch = len(routes[host, f"{cluster}.switch"]) + len(routes[f"{cluster}.switch", host])
        assert over_switch < over_gateway
    outwards = links(root)["north.outwards"]
    assert (outwards["bandwidth"], outwards["latency"], outwards["sharing_policy"]) == (UNLIMITED, "0s", "FATPIPE")


def test_routes_cross_links_that_exist_and_no_name_stands_for_two_things():
    root = platform()
    named = [element.attrib["id"] for kind in ("zone", "host", "router", "link") for element in root.iter(kind)]
    assert len(named) == len(set(named))
    assert {link.attrib["id"] for link in root.iter("link_ctn")} <= set(links(root))
    # A link both ways is named with its direction, as the format asks; others have none.
    for link in root.iter("link_ctn"):
        assert ("direction" in link.attrib) == link.attrib["id"].endswith(".port")


def test_where_no_interconnect_is_stated_messages_are_free():
    port = links(platform(interconnect=None))["west.0.1.port"]
    assert (port["bandwidth"], port["latency"]) == (UNLIMITED, "0s")


def test_an_unpaced_processor_has_no_speed_to_tell():
    unpaced = TOPOLOGY.model_copy(update={"processor": topology_named("mini").processor.model_validate(
        {"name": "native", "unpaced": True})})  # fmt: skip
    with pytest.raises(InvalidInput, match="'native' is unpaced"):
        render_platform(unpaced, None)
