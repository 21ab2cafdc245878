"""Processor profiles: by name or in place, with costs or unpaced, with a weight for each application."""

import pytest

from emulator.model.catalogue import topology_named
from emulator.model.documents import document_text, parse_document
from emulator.model.errors import InvalidInput, UnknownName
from emulator.model.point_costs import WorkingSet
from emulator.model.processor import Processor, processor_named, profile_names
from emulator.model.project import PROJECT_ROOT
from emulator.model.topology import Topology

WHOLE = """
name: one
processor: das2-pentium3
clusters: [{name: east, nodes: 2, access_link: {up_mbit: 10, down_mbit: 10}}]
"""


def parsed(text: str) -> Topology:
    return parse_document(text, Topology, source="one.yaml")


def processor(text: str) -> Processor:
    return parse_document(text, Processor, source="p.yaml")


def test_every_shipped_profile_is_whole_and_carries_the_name_of_its_file():
    assert {"das2-pentium3", "native"} <= set(profile_names())
    for name in profile_names():
        assert processor_named(name).name == name


def test_mini_is_made_of_the_processors_and_the_myrinet_of_das2():
    das2, mini = topology_named("das2"), topology_named("mini")
    assert mini.processor == das2.processor.model_copy(update={"name": mini.processor.name, "weights": {}})
    assert mini.interconnects.single_cluster == mini.interconnects.coallocated == das2.interconnects.single_cluster


def test_a_topology_names_a_profile_or_states_one_in_place():
    named = parsed(WHOLE)
    assert named.processor == processor_named("das2-pentium3")
    in_place = "{name: p, in_cache_ns_per_point: 100, out_of_cache_ns_per_point: 200, cache_bytes: 1000}"
    stated = parsed(WHOLE.replace("das2-pentium3", in_place)).processor
    assert (stated.name, stated.in_cache_ns_per_point, stated.weight("heat")) == ("p", 100, 1)


def test_a_topology_that_names_a_profile_can_be_written_out_whole():
    topology = parsed(WHOLE)
    text = document_text(topology)
    assert "out_of_cache_ns_per_point" in text
    assert parsed(text) == topology


def test_an_unknown_profile_is_answered_with_the_known_ones():
    with pytest.raises(InvalidInput) as refusal:
        parsed(WHOLE.replace("das2-pentium3", "das2-pentium4"))
    assert str(refusal.value).startswith(
        "one.yaml: processor: there is no processor profile 'das2-pentium4' (known: cisne-pentium4, das"
    )
    with pytest.raises(UnknownName, match=r"no processor profile '\.\./mini'"):
        processor_named("../mini")


def test_a_profile_in_a_file_of_another_name_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("emulator.model.processor.PROCESSORS", tmp_path)
    (tmp_path / "mine.yaml").write_text("name: yours\nunpaced: true\n")
    with pytest.raises(InvalidInput, match="the profile in this file is called 'mine', not 'yours'"):
        processor_named("mine")


def test_the_native_processor_has_no_costs():
    native = processor_named("native")
    assert native.unpaced
    assert native.costs is None
    assert "the host's own speed" in native.described


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: p\n", "in_cache_ns_per_point: this key is missing (or say unpaced: true"),
        ("name: p\nunpaced: true\ncache_bytes: 100\n", "cache_bytes: an unpaced processor has no costs"),
        ("name: p\nunpaced: true\nweights: {heat: 2}\n", "weights: an unpaced processor has none"),
        (
            "{name: p, in_cache_ns_per_point: -1, out_of_cache_ns_per_point: 2, cache_bytes: 1}",
            "in_cache_ns_per_point: must be greater than 0, not -1",
        ),
        (
            "{name: p, in_cache_ns_per_point: 1, out_of_cache_ns_per_point: 2, cache_bytes: 1, weights: {poisson: 2}}",
            "weights.poisson: is 1 by definition",
        ),
    ],
)
def test_what_is_no_profile_is_refused_in_one_sentence(text, said):
    with pytest.raises(InvalidInput) as refusal:
        processor(text)
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_working_set_as_large_as_the_cache_is_in_cache():
    costs = processor("{name: p, in_cache_ns_per_point: 100, out_of_cache_ns_per_point: 200, cache_bytes: 800}").costs
    assert costs.duration_s(WorkingSet(100)) == pytest.approx(10e-6)
    assert costs.duration_s(WorkingSet(101)) == pytest.approx(20.2e-6)


def test_the_profiles_with_and_without_communication_stand_for_the_same_published_iteration():
    """Grid 400 on 4 x 4 processes, Table 3 (PBS): 1.298 ms, part of it the interconnect's."""
    shared, alone = (processor_named(name).costs for name in ("das2-shared-memory", "das2-pentium3"))
    assert alone.duration_s(WorkingSet(10_000)) < shared.duration_s(WorkingSet(10_000)) < 1.298e-3


def test_profiles_are_no_topologies():
    assert not list((PROJECT_ROOT / "compose").glob("processors.yaml"))
    with pytest.raises(UnknownName, match="no topology 'native'"):
        topology_named("native")
