"""The topologies that come with the testbed, by name.

A topology is given as a name (of a file in ``compose/``) or as the path of a YAML file.
"""

from __future__ import annotations

from emulator.model.documents import read_document
from emulator.model.project import TOPOLOGIES, locate
from emulator.model.topology import Topology


def topology_named(name_or_path: str) -> Topology:
    """Read the topology of that name from ``compose/``, or from the YAML file at that path.

    Raises:
        UnknownName: if neither exists.
        InvalidInput: if the file is not a valid topology.
    """
    return read_document(locate("topology", name_or_path, TOPOLOGIES), Topology)
