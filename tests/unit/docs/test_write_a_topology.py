"""The topology that its page shows is one, and so are the profiles beside it."""

import re

import pytest

from emulator.model.documents import parse_document, validate
from emulator.model.processor import Processor, profile_names
from emulator.model.project import PROJECT_ROOT
from emulator.model.topology import Topology

PAGE = (PROJECT_ROOT / "docs" / "write-a-topology.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_topology_is_whole_and_states_what_the_page_explains():
    topology = parse_document(EXAMPLES[0], Topology, source="write-a-topology.md")
    assert topology.cluster_names == ["north", "south"]
    assert topology.processor.name == "das2-pentium3"
    assert (topology.interconnects.of(1).name, topology.interconnects.of(2).name) == ("myrinet", "ethernet")


def test_the_profile_in_place_is_one():
    topology = EXAMPLES[0].replace("processor: das2-pentium3", EXAMPLES[1] + "#")
    assert parse_document(topology, Topology, source="page").processor.weights == {"laplace": 1.2}
    assert validate({"name": "mine", "unpaced": True}, Processor, source="page").costs is None


@pytest.mark.parametrize("name", profile_names())
def test_every_shipped_profile_is_listed(name):
    assert f"| `{name}` |" in PAGE
