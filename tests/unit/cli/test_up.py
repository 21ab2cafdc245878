"""The verb `up` with a topology that is wrong: one sentence that names the fault, before anything is started."""

from __future__ import annotations

import pytest

PAIR = """
name: pair
processor: {name: any, in_cache_ns_per_point: 100, out_of_cache_ns_per_point: 200, cache_bytes: 1000}
clusters:
  - {name: left, nodes: 1, access_link: {up_mbit: 10, down_mbit: 10}}
  - {name: right, nodes: 1, access_link: {up_mbit: 10, down_mbit: 10}}
default_link: {delay_s: 0.001}
"""


@pytest.fixture
def no_engine(monkeypatch):
    """Nothing of this asks Docker."""

    def connect():
        raise AssertionError("Docker was asked")

    monkeypatch.setattr("emulator.containers.engine.connect", connect)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (PAIR.replace("nodes: 1", "nodes: 0", 1), "clusters.0.nodes"),
        (PAIR.replace("delay_s: 0.001", "delay_s: -1"), "default_link.delay_s"),
        (PAIR.replace("name: right", "name: left"), "'left'"),
        (PAIR.replace("name: pair", "name: pair\ncolour: red"), "'colour'"),
        (PAIR + "links: [{from: left, to: nowhere, delay_s: 0}]", "'nowhere'"),
        (PAIR.replace("name: right", "name: wan"), "'wan'"),
        ("- a list", "instead of the keys of a topology"),
    ],
)
def test_a_wrong_topology_is_one_sentence_naming_the_fault(call, no_engine, tmp_path, wrong, named):
    (tmp_path / "wrong.yaml").write_text(wrong)
    code, printed, said = call("up", "--topology", "./wrong.yaml")
    assert (code, printed) == (1, "")
    assert len(said.strip().splitlines()) == 1
    assert named in said
