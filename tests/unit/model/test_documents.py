"""Documents in YAML: what is none is refused in a sentence, whichever error the parser raises."""

from __future__ import annotations

import pytest

from emulator.model.documents import read_document
from emulator.model.errors import InvalidInput
from emulator.model.topology import Topology


@pytest.mark.parametrize(
    "text", ["{{ name }}: x", "[a, b]: 1", "name: 2024-02-30", "name: [", "name: a\nname: b", "[" * 100_000]
)
def test_what_is_no_yaml_is_refused_in_a_sentence(tmp_path, text):
    (tmp_path / "document.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"document\.yaml: not valid YAML: ") as refused:
        read_document(tmp_path / "document.yaml", Topology)
    assert "\n" not in str(refused.value)


def test_a_profile_that_has_changed_is_read_again_with_the_topology_that_names_it(tmp_path, monkeypatch):
    monkeypatch.setattr("emulator.model.processor.PROCESSORS", tmp_path)
    topology = tmp_path / "site.topology"
    topology.write_text(
        "name: site\nprocessor: own\nclusters: [{name: a, nodes: 1, access_link: {up_mbit: 1, down_mbit: 1}}]\n",
        encoding="utf-8",
    )
    found = []
    for in_cache_ns in (100, 50):
        (tmp_path / "own.yaml").write_text(
            f"{{name: own, in_cache_ns_per_point: {in_cache_ns}, out_of_cache_ns_per_point: 200, cache_bytes: 1000}}",
            encoding="utf-8",
        )
        found.append(read_document(topology, Topology).processor.in_cache_ns_per_point)
    assert found == [100, 50]
