"""The verbs of ``hosts``, and inventories that are wrong: one sentence, before any engine is asked."""

from __future__ import annotations

import json

import pytest

LAB = """
hosts:
  - {name: one, engine: "unix:///nowhere/one.sock", address: 10.77.0.1}
  - {name: two, engine: "unix:///nowhere/two.sock", address: 10.77.0.2}
"""


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (LAB.replace("name: two", "name: one"), "hosts.1.name: two hosts have the name 'one'"),
        (LAB.replace("10.77.0.2", "ten"), "hosts.1.address"),
        (LAB.replace("unix:///nowhere/two.sock", "two"), "hosts.1.engine"),
        ("hosts: []", "hosts: must have at least 1"),
        ("- one", "instead of the keys of a hosts inventory (hosts)"),
        ("", "is empty, but needs the keys of a hosts inventory (hosts)"),
    ],
)
@pytest.mark.parametrize("words", [("up", "--hosts"), ("hosts", "check")])
def test_a_wrong_inventory_is_one_sentence_naming_the_fault(call, tmp_path, wrong, named, words):
    (tmp_path / "lab.yaml").write_text(wrong)
    code, printed, said = call(*words, "lab.yaml")
    assert (code, printed) == (1, "")
    assert said.startswith("testbed: lab.yaml: ")
    assert named in said
    assert len(said.splitlines()) == 1


def test_hosts_that_do_not_answer_are_named_each_with_a_remedy(call, tmp_path):
    (tmp_path / "lab.yaml").write_text(LAB)
    code, printed, said = call("hosts", "check", "lab.yaml", "--topology", "mini", "--json")
    rows = json.loads(printed)
    assert code == 1
    assert [(row["host"], row["check"], row["ok"]) for row in rows] == [
        ("one", "engine", False),
        ("two", "engine", False),
    ]
    assert all("start Docker on that host" in row["remedy"] for row in rows)
    assert "Host 'one' cannot carry a testbed" in said
    assert "There is one more fault." in said


def test_up_over_hosts_that_do_not_answer_leaves_nothing(call, tmp_path):
    (tmp_path / "lab.yaml").write_text(LAB)
    code, _, said = call("up", "--hosts", "lab.yaml")
    assert code == 1
    assert said.startswith("testbed: The engine of host 'one' at unix:///nowhere/one.sock is not reached")
    assert not list((tmp_path / "state").rglob("testbed.json"))


def test_a_missing_inventory_is_named(call):
    code, _, said = call("hosts", "check", "nowhere.yaml")
    assert (code, said) == (1, "testbed: nowhere.yaml: cannot be read (No such file or directory).\n")


def test_an_inventory_is_validated_as_other_documents_are(call, tmp_path):
    (tmp_path / "lab.yaml").write_text(LAB)
    assert call("validate", "lab.yaml")[:2] == (0, "lab.yaml: a valid hosts inventory.\n")
    (tmp_path / "lab.yaml").write_text(LAB.replace("name: two", "name: one"))
    code, printed, _ = call("validate", "lab.yaml")
    assert (code, "two hosts have the name 'one'" in printed) == (1, True)
