"""Names as people type them: capital letters do not count, and the nearest name is suggested."""

from __future__ import annotations

import pytest

from emulator.model.catalogue import topology_named
from emulator.model.errors import UnknownName
from emulator.model.job import JobSpecification
from emulator.model.names import named_among, spelled
from emulator.model.processor import processor_named
from emulator.model.project import CAMPAIGNS, locate, names_in


def test_a_name_is_found_whatever_its_case_and_letter_by_letter_first():
    assert spelled("w1", ["W1", "w1"]) == "w1"
    assert spelled("w1", ["W1", "W2"]) == "W1"
    assert spelled("w3", ["W1", "W2"]) is None


def test_an_unknown_name_is_answered_with_the_nearest_whatever_its_case():
    with pytest.raises(UnknownName) as refused:
        named_among("policy", "WF-DISTINT", ["cf", "wf", "wf-distinct"])
    sentence = "There is no policy 'WF-DISTINT' (known: cf, wf, wf-distinct; did you mean 'wf-distinct'?)."
    assert str(refused.value) == sentence
    with pytest.raises(UnknownName, match=r"no policy 'zzz' \(known: cf, wf\)\."):
        named_among("policy", "zzz", ["cf", "wf"])


def test_what_comes_with_the_testbed_is_found_whatever_its_case():
    assert topology_named("DAS2-2006").name == "das2-2006"
    assert processor_named("Native").name == "native"
    assert locate("campaign", "w1", CAMPAIGNS) == CAMPAIGNS / "W1.yaml"
    assert names_in(CAMPAIGNS) == ["DIT", "SIT", "W1", "W2", "W30", "W50", "first"]


def test_names_in_a_document_are_read_in_small_letters():
    job = JobSpecification(application="Poisson", components=(8,), request="fixed", clusters=("Delft",))
    assert (job.application, job.clusters) == ("poisson", ("delft",))
    assert topology_named("mini").index("Delft") == 1


def test_a_file_that_is_not_there_is_answered_with_the_nearest_beside_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ours.yaml").touch()
    (tmp_path / "folder").mkdir()
    for typed, sentence in (
        ("our.yaml", "There is no topology file 'our.yaml' (did you mean 'ours.yaml'?)."),
        ("./else.yaml", "There is no topology file './else.yaml'."),
        ("./folder/", "'./folder/' is a folder, not a topology file (name a file in it)."),
        ("./" + "x" * 300, "File name too long"),
    ):
        with pytest.raises(UnknownName) as refused:
            locate("topology", typed, tmp_path)
        assert sentence in str(refused.value)
