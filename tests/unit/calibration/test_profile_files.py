"""A profile written into a topology or a file of its own: the rest of the file stays as it was, to the byte."""

from __future__ import annotations

import pytest

from emulator.calibration.profile_files import profile_in, profile_name, write_profile
from emulator.model.catalogue import topology_named
from emulator.model.documents import read_document
from emulator.model.errors import InvalidInput
from emulator.model.processor import Processor, processor_named
from emulator.model.project import PROJECT_ROOT
from emulator.model.topology import Topology

TOPOLOGY = """# Mine.
name: mine
processor:                       # the emulated processor
  name: das2-pentium3
  in_cache_ns_per_point: 115     # in cache ...
  out_of_cache_ns_per_point: 264 # ... and out of it
  cache_bytes: 262144
clusters:
  - name: north
    nodes: 16                    # Slurm nodes
    access_link: {up_mbit: 100, down_mbit: 100}
"""
DAS2 = processor_named("das2-pentium3")


@pytest.mark.parametrize("path", sorted((PROJECT_ROOT / "compose").glob("**/*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_document_is_written_back_as_it_was(path, tmp_path):
    copy = tmp_path / path.name
    copy.write_text(path.read_text())
    is_topology = path.parent.name != "processors"
    text = path.read_text()
    present = profile_in(path)
    if is_topology:
        copy.write_text(text.replace(f"processor: {present.name}\n", "processor:\n" + _indented(present)))
        text = copy.read_text()
    write_profile(copy, present)
    assert copy.read_text() == text


def _indented(processor: Processor) -> str:
    costs = processor.costs
    return (
        f"  name: {processor.name}  # in place\n  in_cache_ns_per_point: {costs.in_cache_ns_per_point:g}\n"
        f"  out_of_cache_ns_per_point: {costs.out_of_cache_ns_per_point:g}\n  cache_bytes: {costs.cache_bytes}\n"
        + _memory(processor)
        + "".join(f"  weights: {{{name}: {weight:g}}}\n" for name, weight in processor.weights.items())
    )


def _memory(processor: Processor) -> str:
    if processor.memory is None:
        return ""
    stated = processor.memory.model_dump()
    return f"  memory: {{{', '.join(f'{key}: {value:g}' for key, value in stated.items())}}}\n"


def test_a_cost_in_a_topology_is_changed_and_every_comment_kept(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(TOPOLOGY)
    write_profile(file, profile_in(file).model_copy(update={"in_cache_ns_per_point": 92.5}))
    assert file.read_text() == TOPOLOGY.replace("115     #", "92.5   #").replace("92.5   #", "92.5    #")
    assert read_document(file, Topology).processor.in_cache_ns_per_point == 92.5


def test_a_weight_is_added_to_a_profile_in_a_topology(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(TOPOLOGY)
    write_profile(file, profile_in(file).model_copy(update={"weights": {"heat": 0.7}}))
    assert read_document(file, Topology).processor.weights == {"heat": 0.7}
    assert "# Slurm nodes" in file.read_text()


def test_a_topology_that_names_a_profile_gets_its_own(tmp_path):
    file = tmp_path / "mini.yaml"
    file.write_text((PROJECT_ROOT / "compose" / "mini.yaml").read_text())
    name = profile_name(None, file, profile_in(file))
    assert name == "das2-unweighted-calibrated"
    write_profile(file, profile_in(file).model_copy(update={"name": name, "in_cache_ns_per_point": 110.0}))
    read = read_document(file, Topology)
    assert (read.processor.name, read.processor.in_cache_ns_per_point) == (name, 110)
    assert read.clusters == topology_named("mini").clusters
    assert "\n# Four small clusters" in file.read_text()


def test_comments_around_a_named_profile_stay_where_they_were(tmp_path):
    file = tmp_path / "das2.yaml"
    text = (PROJECT_ROOT / "compose" / "das2.yaml").read_text()
    file.write_text(text)
    write_profile(file, DAS2.model_copy(update={"in_cache_ns_per_point": 95.0}))
    in_place = (
        "processor:\n  name: das2-pentium3\n  in_cache_ns_per_point: 95\n"
        f"  out_of_cache_ns_per_point: {DAS2.out_of_cache_ns_per_point:g}\n  cache_bytes: 262144\n"
        f"  weights: {{ensflow: {DAS2.weight('ensflow'):g}}}\n"
    )
    assert file.read_text() == text.replace("processor: das2-pentium3\n", in_place)


def test_a_comment_beside_the_name_of_a_profile_stays(tmp_path):
    file = tmp_path / "mine.yaml"
    text = (PROJECT_ROOT / "compose" / "mini.yaml").read_text().replace("-unweighted\n", "-unweighted  # why\n")
    file.write_text(text)
    write_profile(file, DAS2)
    assert "# why" in file.read_text().split("clusters:")[0]
    assert read_document(file, Topology).processor == DAS2


def test_a_new_file_is_a_profile_of_its_own_name(tmp_path):
    file = tmp_path / "laptop.yaml"
    named = DAS2.model_copy(update={"name": profile_name(None, file, DAS2)})
    write_profile(file, named)
    assert file.read_text().splitlines()[0] == "name: laptop"
    assert read_document(file, Processor) == named


def test_a_profiles_own_file_keeps_its_name_and_its_comments(tmp_path):
    file = tmp_path / "das2-pentium3.yaml"
    text = (PROJECT_ROOT / "compose" / "processors" / "das2-pentium3.yaml").read_text()
    file.write_text(text)
    assert profile_name(None, file, DAS2) == "das2-pentium3"
    write_profile(file, DAS2.model_copy(update={"out_of_cache_ns_per_point": 270.0}))
    before = f"out_of_cache_ns_per_point: {DAS2.out_of_cache_ns_per_point:g}\n"
    assert file.read_text() == text.replace(before, "out_of_cache_ns_per_point: 270\n")


def test_what_is_neither_or_no_name_is_refused(tmp_path):
    file = tmp_path / "list.yaml"
    file.write_text("- 1\n")
    with pytest.raises(InvalidInput, match="is neither a topology nor a processor profile"):
        write_profile(file, DAS2)
    assert file.read_text() == "- 1\n"
    with pytest.raises(InvalidInput, match="'Mine!' is no name of a profile"):
        profile_name("Mine!", None, DAS2)


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(InvalidInput, match=r"absent/p\.yaml: cannot be written"):
        write_profile(tmp_path / "absent" / "p.yaml", DAS2)
