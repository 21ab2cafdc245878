"""Topologies: what is shipped is whole, and a malformed one is refused in one sentence naming file, key and value."""

import pytest

from emulator.model.catalogue import equal_clusters, topology_named
from emulator.model.documents import parse_document
from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.project import PROJECT_ROOT
from emulator.model.topology import Topology

WHOLE = """
name: two
processor: {name: p, in_cache_ns_per_point: 100, out_of_cache_ns_per_point: 200, cache_bytes: 1000}
clusters:
  - {name: east, nodes: 2, access_link: {up_mbit: 10, down_mbit: 10}}
  - {name: west, nodes: 3, access_link: {up_mbit: 10, down_mbit: 20}}
links:
  - {from: east, to: west, delay_s: 0.001}
"""


def parsed(text: str) -> Topology:
    return parse_document(text, Topology, source="two.yaml")


def test_mini_has_four_clusters_of_eight_dual_nodes():
    mini = topology_named("mini")
    assert [(cluster.nodes, cluster.processors) for cluster in mini.clusters] == [(8, 16)] * 4
    assert {cluster.access_link.up_mbit for cluster in mini.clusters} == {20}


@pytest.mark.parametrize(
    ("name", "sizes"), [("four-by-32", [32, 32, 32, 32]), ("das2", [144, 64, 64, 64, 64]), ("mini", [16] * 4)]
)
def test_shipped_topologies_have_the_published_sizes(name, sizes):
    assert [cluster.processors for cluster in topology_named(name).clusters] == sizes


def test_every_shipped_topology_has_a_path_for_each_ordered_pair():
    for file in sorted((PROJECT_ROOT / "compose").glob("*.yaml")):
        topology = topology_named(str(file))
        assert all(topology.path(*pair).delay_s >= 0 for pair in topology.ordered_pairs)


def test_a_link_holds_in_both_directions_unless_it_is_one_way():
    topology = parsed(WHOLE)
    assert topology.path("west", "east").delay_s == topology.path("east", "west").delay_s == 0.001
    one_way = WHOLE.replace("delay_s: 0.001", "delay_s: 0.001, one_way: true")
    with pytest.raises(InvalidInput, match="no path from 'west' to 'east'"):
        parsed(one_way)
    asymmetric = parsed(one_way + "  - {from: west, to: east, delay_s: 0.004, one_way: true}\n")
    assert (asymmetric.path("east", "west").delay_s, asymmetric.path("west", "east").delay_s) == (0.001, 0.004)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("nodes: 2", "nods: 2", "clusters.0.nodes: this key is missing"),
        ("nodes: 2", "nodes: 2, colour: red", "unknown key 'clusters.0.colour' (value 'red')"),
        (
            "delay_s: 0.001",
            "delay_s: -0.001",
            "links.0.delay_s: must be greater than or equal to 0, not -0.001",
        ),
        ("name: west", "name: east", "two clusters are named 'east'"),
        ("to: west", "to: mars", "links.0.to: there is no cluster 'mars' (known: east, west)"),
        ("to: west", "to: east", "both ends are 'east'"),
        ("nodes: 3", "nodes: 0", "clusters.1.nodes: must be greater than 0, not 0"),
        ("up_mbit: 10, down_mbit: 20", "up_mbit: .nan, down_mbit: 20", "clusters.1.access_link.up_mbit"),
        ("name: two", "name: two\nname: three", "key 'name' stands twice (line 3)"),
        ("name: east", "name: ../east", "clusters.0.name"),
        ("{name: p, in", "{name: p, speed: 2, in", "unknown key 'processor.speed' (value 2)"),
        ("cache_bytes: 1000", "weights: {}", "processor: cache_bytes: this key is missing (or say unpaced: true"),
        (
            "cache_bytes: 1000",
            "cache_bytes: 1000, weights: {heat: 0}",
            "processor.weights.heat: must be greater",
        ),
        ("links:", "links: [", "not valid YAML"),
    ],
)
def test_a_malformed_topology_is_refused_in_one_sentence_with_file_key_and_value(old, new, said):
    with pytest.raises(InvalidInput) as refusal:
        parsed(WHOLE.replace(old, new, 1))
    sentence = str(refusal.value)
    assert sentence.startswith("two.yaml: ")
    assert said in sentence
    assert "\n" not in sentence


def test_an_empty_document_is_no_topology():
    with pytest.raises(InvalidInput, match=r"two\.yaml: is empty, but needs the keys of a topology"):
        parsed("")


def test_an_unknown_topology_is_answered_with_the_known_ones():
    with pytest.raises(UnknownName, match=r"no topology 'minni' \(known: .*mini"):
        topology_named("minni")
    with pytest.raises(UnknownName, match=r"no topology file './mine.yaml'"):
        topology_named("./mine.yaml")


def test_generated_clusters_have_the_sizes_that_are_stated():
    sizes = [cluster.processors for cluster in equal_clusters("72, 2x33,3X4").clusters]
    assert sizes == [72, 33, 33, 4, 4, 4]
    large = equal_clusters("1024x32")
    assert (large.name, len(large.clusters), large.processors) == ("clusters-1024x32", 1024, 32768)
    assert large.path("c1", "c1024") == large.default_link


@pytest.mark.parametrize("text", ["", "x", "4x", "x4", "4x4x4", "-4x8", "4x-8", "1e3x4", "4.5", "4;4", "4x8,"])
def test_what_states_no_clusters_is_refused_in_a_sentence(text):
    with pytest.raises(InvalidInput, match=r"^--clusters: must be such as 1024x32, or 72,4x32, not "):
        equal_clusters(text)
