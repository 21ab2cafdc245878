"""The topology that the page on real clusters shows is one, and says what the page explains."""

import re

from emulator.model.documents import parse_document
from emulator.model.project import PROJECT_ROOT
from emulator.model.topology import Topology

PAGE = (PROJECT_ROOT / "docs" / "real-clusters.md").read_text(encoding="utf-8")


def test_the_topology_has_one_emulated_cluster_and_one_real_one():
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    topology = parse_document(example, Topology, source="real-clusters.md")
    assert [cluster.is_real for cluster in topology.clusters] == [False, True]
    head = topology.cluster("das").ssh
    assert head is not None
    assert (head.ssh_command, head.partition) == ("ssh -p 22 alice@fs0.das.example", "defq")
